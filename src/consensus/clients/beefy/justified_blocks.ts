/**
 * Finds blocks of the relay chain that can be proved to a BEEFY client: justified, and signed by the set that the client
 * expects. Source: docs/protocol/hub-consensus.md sections 5.3 and 5.4.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import {
  BEEFY_ENGINE,
  BeefyError,
  type BeefyJustification,
  decodeBeefyJustification,
  decoded,
} from "../../../core/beefy/commitment.ts";
import { relayBeefyKeys } from "./spec/relay_storage.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";
import { decodeStrict, u64 } from "../../../core/encoding/scale.ts";
import type { RelayBlock, RelayChain } from "../../relay_chain/relay_chain.ts";

/** Reads of the relay chain that the search needs. Functions of this file may throw an `RpcFault`. */
export type JustifiedRelay = Pick<
  RelayChain,
  "fetchBlock" | "fetchHash" | "fetchJustification" | "fetchStorage"
>;

/** A justified block with its decoded justification. */
export interface JustifiedBlock {
  readonly block: RelayBlock;
  readonly justification: BeefyJustification;
}

/**
 * Finds the justification of the session after the client's: that of its first block, which nodes always keep. @throws
 * {BeefyError} for invalid data of nodes
 */
export async function findSession(
  relay: JustifiedRelay,
  { trusted, head }: { readonly trusted: BeefyClientState; readonly head: RelayBlock },
  signal: AbortSignal,
): Promise<JustifiedBlock | undefined> {
  const { next, latestHeight } = trusted;
  const range = { from: Number(latestHeight) + 1, to: head.header.number };
  const first = await findFirst(relay, range, next.id, signal);
  const block = await relay.fetchBlock(await relay.fetchHash(first, signal), signal);
  const found = await readJustified(relay, block, signal);
  return found !== undefined && setOf(found) === next.id ? found : undefined;
}

/** Finds the first block of a range whose set has at least that id; the last one has it. Binary search. */
async function findFirst(
  relay: JustifiedRelay,
  { from, to }: { readonly from: number; readonly to: number },
  setId: bigint,
  signal: AbortSignal,
): Promise<number> {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const hash = await relay.fetchHash(middle, signal);
    if (await fetchSetId(relay, hash, signal) >= setId) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Reads the justification of a block; `undefined`: the node keeps none. @throws {BeefyError} for invalid data of nodes */
export async function readJustified(
  relay: Pick<JustifiedRelay, "fetchJustification">,
  block: RelayBlock,
  signal: AbortSignal,
): Promise<JustifiedBlock | undefined> {
  const encoded = await relay.fetchJustification(block.hash, BEEFY_ENGINE, signal);
  const justification = encoded && decodeBeefyJustification(encoded);
  return justification?.commitment.blockNumber === block.header.number ? { block, justification } : undefined;
}

/** Id of the set that signed. */
export function setOf({ justification }: JustifiedBlock): bigint {
  return justification.commitment.validatorSetId;
}

/** Fetches the id of the set whose session a block belongs to. @throws {BeefyError} `undecodable_data` */
export async function fetchSetId(
  relay: Pick<JustifiedRelay, "fetchStorage">,
  block: Hash256,
  signal: AbortSignal,
): Promise<bigint> {
  const [stored] = await relay.fetchStorage([relayBeefyKeys.validatorSetId], block, signal);
  if (stored === undefined) throw new BeefyError("undecodable_data");
  return decoded(() => decodeStrict(u64, stored, "ValidatorSetId"));
}
