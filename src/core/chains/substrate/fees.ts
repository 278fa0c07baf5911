/** Fees of requests of this chain, as its metadata of the requests has them. */
import { decodeValue, type SubstrateNode } from "./node.ts";
import type { Hash256 } from "../../encoding/bytes.ts";
import {
  type RequestMetadata,
  requestMetadataCodec,
  requestReceiptCodec,
  responseReceiptCodec,
} from "../../ismp/host_state.ts";
import { childTrieKeys } from "../../ismp/storage_keys.ts";
import type { ChainFees, PaidFees } from "../fees.ts";
import type { Message } from "../../ismp/message.ts";
import type { ChildSet } from "../../rpc/substrate_client.ts";

/**
 * Fetches this chain's metadata of requests that it dispatched or routed, by commitment, at its best block unless one
 * is named; one round trip.
 */
export async function fetchRequestMetadata(
  node: SubstrateNode,
  { commitments, block }: { readonly commitments: readonly Hash256[]; readonly block?: Hash256 | undefined },
  signal: AbortSignal,
): Promise<readonly (RequestMetadata | undefined)[]> {
  if (commitments.length === 0) return [];
  const trie = await node.childTrie.key(signal);
  const keys = commitments.map((each) => childTrieKeys.requestCommitment(each));
  const stored = await node.client.readChild({ trie, keys, block }, signal);
  return stored.map((value) => decodeValue(node, value, requestMetadataCodec, "RequestCommitments"));
}

/** Fees of the chain's requests. */
export class SubstrateFees implements ChainFees {
  /** @param decimals of the fee token: chains do not report them */
  constructor(readonly node: SubstrateNode, readonly decimals: number) {}

  /** Fetches the fee paid here per commitment; one round trip. */
  async fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<PaidFees> {
    const found = await fetchRequestMetadata(this.node, { commitments }, signal);
    return { units: found.map((metadata) => metadata?.fee.fee), decimals: this.decimals };
  }
}

/** Keys of the messages' receipts in the chain's child trie. */
export async function receiptSet(
  node: SubstrateNode,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<ChildSet> {
  return { trie: await node.childTrie.key(signal), keys: messages.map(receiptKey) };
}

/** Relayer per message, at the best block unless one is named; one round trip. */
export async function fetchReceiptsAt(
  node: SubstrateNode,
  { messages, block }: { readonly messages: readonly Message[]; readonly block?: Hash256 | undefined },
  signal: AbortSignal,
): Promise<readonly (Uint8Array | undefined)[]> {
  if (messages.length === 0) return [];
  const set = await receiptSet(node, messages, signal);
  return readReceipts(node, messages, await node.client.readChild({ ...set, block }, signal));
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
