/**
 * Reads that may settle a message. A Substrate chain has one node, so its progress is checked: its head and clock are
 * read first, over the same connection, and everything after them is of that block or a later one.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { u64 } from "../../encoding/scale.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import { type Certain, type ReadSince, UNSURE } from "../port.ts";
import { fetchFees } from "./fee_proofs.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchReceipts } from "./receipts.ts";
import { decodeValue } from "./views.ts";

/** Relayers of messages; all unsure while the node is not far enough. */
export async function fetchCertainReceipts(
  node: SubstrateNode,
  messages: readonly Message[],
  since: ReadSince,
  signal: AbortSignal,
): Promise<readonly Certain<Uint8Array | undefined>[]> {
  if (!await isFarEnough(node, since, signal)) return messages.map(() => UNSURE);
  return (await fetchReceipts(node, messages, signal)).map((value) => ({ kind: "certain", value }));
}

/** Fees of requests; all unsure while the node is not far enough. */
export async function fetchCertainFees(
  node: SubstrateNode,
  commitments: readonly Hash256[],
  since: ReadSince,
  signal: AbortSignal,
): Promise<readonly Certain<bigint | undefined>[]> {
  if (!await isFarEnough(node, since, signal)) return commitments.map(() => UNSURE);
  return (await fetchFees(node, commitments, signal)).map((value) => ({ kind: "certain", value }));
}

async function isFarEnough(
  node: SubstrateNode,
  { height = 0n, timeSec = 0n }: ReadSince,
  signal: AbortSignal,
): Promise<boolean> {
  const [header, stored] = await node.client.callAll(
    [calls.header(), calls.storage(otherKeys.timestampNow())],
    signal,
  );
  const nowSec = (decodeValue(node, stored, u64, "Timestamp.Now") ?? 0n) / 1000n;
  return header !== undefined && header.height >= height && nowSec >= timeSec;
}
