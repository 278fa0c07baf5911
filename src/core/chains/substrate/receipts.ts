/** Delivery receipts of this chain. */
import type { Message } from "../../ismp/message.ts";
import { requestReceiptCodec, responseReceiptCodec } from "../../ismp/host_state.ts";
import { childTrieKeys } from "../../ismp/storage_keys.ts";
import { calls, type TypedCall } from "../../rpc/substrate_calls.ts";
import type { SubstrateNode } from "./node.ts";
import { decodeValue } from "./storage_values.ts";

/** Reads of the messages' receipts, to be joined with others in one round trip. */
export function receiptCalls(
  childTrie: Uint8Array,
  messages: readonly Message[],
): readonly TypedCall<Uint8Array | undefined>[] {
  return messages.map((message) => calls.childStorage(childTrie, receiptKey(message)));
}

/** Relayer per message, from the answers to {@link receiptCalls}. @throws {RpcFault} `malformed`. */
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
