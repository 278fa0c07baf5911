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
  "fetchBlocks" | "fetchHash" | "fetchJustifications" | "fetchStorage"
>;

/** Blocks whose justifications are fetched at a time. */
const BLOCKS_AT_A_TIME = 64;

/** Blocks of a session that are searched for a justification (docs/protocol/hub-consensus.md section 5.3). */
const SEARCHED_BLOCKS = 2_400;

/** A justified block with its decoded justification. */
export interface JustifiedBlock {
  readonly block: RelayBlock;
  readonly justification: BeefyJustification;
}

/** Finds the first justified block of the session after the client's. @throws {BeefyError} for invalid data of nodes */
export async function findSession(
  relay: JustifiedRelay,
  { trusted, head }: { readonly trusted: BeefyClientState; readonly head: RelayBlock },
  signal: AbortSignal,
): Promise<JustifiedBlock | undefined> {
  const { next, latestHeight } = trusted;
  const range = { from: Number(latestHeight) + 1, to: head.header.number };
  const from = await findFirst(relay, range, next.id, signal);
  const to = Math.min(range.to, from + SEARCHED_BLOCKS - 1);
  // The first block of a session is always justified; others are read, with their whole bodies, only if the node has
  // lost that justification.
  for (let first = from, count = 1; first <= to; first += count, count = BLOCKS_AT_A_TIME) {
    const blocks = await relay.fetchBlocks(first, Math.min(to, first + count - 1), signal);
    const found = (await readJustified(relay, blocks, signal)).find((each) => setOf(each) >= next.id);
    if (found !== undefined) return setOf(found) === next.id ? found : undefined;
  }
  return undefined;
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

/** Returns those of the blocks that are justified. @throws {BeefyError} for invalid data of nodes */
export async function readJustified(
  relay: Pick<JustifiedRelay, "fetchJustifications">,
  blocks: readonly RelayBlock[],
  signal: AbortSignal,
): Promise<readonly JustifiedBlock[]> {
  const stored = await relay.fetchJustifications(blocks.map(({ hash }) => hash), BEEFY_ENGINE, signal);
  return blocks.flatMap((block, at) => {
    const encoded = stored[at];
    if (encoded === undefined) return [];
    const justification = decodeBeefyJustification(encoded);
    return justification.commitment.blockNumber === block.header.number ? [{ block, justification }] : [];
  });
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
