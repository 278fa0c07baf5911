/**
 * Delivery receipts of the host.
 */
import { fromHex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { hostReads } from "../../evm/host_reads.ts";
import type { Message } from "../../ismp/message.ts";
import type { EvmContext } from "./evm_context.ts";
import { type BlockTag, contractReadAt, type Query } from "./queries.ts";
import type { RpcBatch } from "./rpc_batch.ts";

/** Query of the relayer that delivered a message: posts by their own commitment, responses by that of the get request. */
export function relayerQuery(host: Address, message: Message, tag: BlockTag): Query<Uint8Array | undefined> {
  const { call, read } = receiptQuery(host, message, tag);
  return {
    call,
    read: (result) => {
      const relayer = read(result);
      return relayer === undefined ? undefined : fromHex(relayer);
    },
  };
}

function receiptQuery(host: Address, message: Message, tag: BlockTag): Query<Address | undefined> {
  if (message.kind === "post") {
    return contractReadAt(tag, host, hostReads.requestReceipts, message.commitment);
  }
  const commitment = message.kind === "get" ? message.commitment : message.requestCommitment;
  const { call, read } = contractReadAt(tag, host, hostReads.responseReceipts, commitment);
  return { call, read: (result) => read(result)?.relayer };
}

/** Adds the receipts of all messages to a batch; the result is available after it was sent. */
export function addReceipts(
  context: EvmContext,
  batch: RpcBatch,
  messages: readonly Message[],
  tag: BlockTag = "latest",
): () => readonly (Uint8Array | undefined)[] {
  const slots = messages.map((message) => batch.add(relayerQuery(context.at.host, message, tag)));
  return () => slots.map((slot) => slot());
}
