/** Delivery receipts of this chain. */
import type { Message } from "../../ismp/message.ts";
import { requestReceiptCodec, responseReceiptCodec } from "../../ismp/host_state.ts";
import { childTrieKeys } from "../../ismp/storage_keys.ts";
import type { ChildSet } from "../../rpc/substrate_client.ts";
import type { SubstrateNode } from "./node.ts";
import { decodeValue } from "./storage_values.ts";

/** Keys of the messages' receipts in the chain's child trie. */
export async function receiptSet(
  node: SubstrateNode,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<ChildSet> {
  return { trie: await node.childTrie.key(signal), keys: messages.map(receiptKey) };
}

/** Relayer per message, from the values under {@link receiptSet}. @throws {RpcFault} `malformed`. */
export function readReceipts(
  node: SubstrateNode,
  messages: readonly Message[],
  stored: readonly (Uint8Array | undefined)[],
): readonly (Uint8Array | undefined)[] {
  return messages.map((message, index) =>
    message.kind === "post"
      ? decodeValue(node, stored[index], requestReceiptCodec, "RequestReceipts")
      : decodeValue(node, stored[index], responseReceiptCodec, "ResponseReceipts")?.relayer
  );
}

/**
 * Receipt key of a message: a get is settled by its response, whose receipt is stored by the commitment of the
 * request.
 */
function receiptKey(message: Message): Uint8Array {
  switch (message.kind) {
    case "post":
      return childTrieKeys.requestReceipt(message.commitment);
    case "get":
      return childTrieKeys.responseReceipt(message.commitment);
    case "getResponse":
      return childTrieKeys.responseReceipt(message.requestCommitment);
  }
}
