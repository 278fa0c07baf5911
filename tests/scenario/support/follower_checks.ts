/**
 * What must hold whenever Substrate chains got updates of the hub: every update that a block has moved the client on, and
 * no set of authorities was left out. Start reading at {@link followerViolations}; the facts are read by {@link readUpdates}.
 */
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { decodeGrandpaState } from "../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { ismpMessagesCodec } from "../../../src/core/ismp/ismp_message.ts";
import type { ConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../../src/core/ismp/storage_keys.ts";
import { bytes, decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import type { Hub } from "../../../devnet/hub/hub.ts";
import { resultHttp } from "../../../devnet/hub/json_rpc_client.ts";
import { decodeBareExtrinsic } from "../../../devnet/hub/extrinsic.ts";

/** The finality that a client has followed up to now. */
export interface FollowedFinality {
  /** Of the relay chain. */
  readonly height: number;
  readonly setId: bigint;
}

/** A block of the chain that has updates or in which the client changed. */
export interface ClientUpdate {
  readonly block: number;
  /** Extrinsics with updates of any client. */
  readonly extrinsics: number;
  readonly before: FollowedFinality;
  readonly after: FollowedFinality;
}

/** What is checked of a chain. */
export interface FollowerFacts {
  readonly chain: string;
  readonly updates: readonly ClientUpdate[];
}

/**
 * Everything that is wrong, as sentences.
 * @param hasCompetitors relayers that prove the same block both succeed: the second one changes nothing.
 */
export function* followerViolations(
  { chain, updates }: FollowerFacts,
  hasCompetitors = false,
): Iterable<string> {
  for (const { block, extrinsics, before, after } of updates) {
    // Without an extrinsic it was the chain's governance, which may do anything.
    if (extrinsics === 0) continue;
    const sets = after.setId - before.setId;
    if (after.height < before.height || (after.height === before.height && !hasCompetitors)) {
      yield `${chain}: block ${block} has an update, and the client went from ${before.height} to ${after.height}`;
    }
    if (sets < 0n || sets > BigInt(extrinsics)) {
      yield `${chain}: block ${block} led from set ${before.setId} to ${after.setId} by ${extrinsics} updates`;
    }
  }
}

/** Reads all updates that a chain had in blocks after `after`; its client must exist by then. */
export async function readUpdates(
  node: Hub,
  stateId: ConsensusStateId,
  after = 1,
): Promise<readonly ClientUpdate[]> {
  const last = node.best.number;
  const numbers = Array.from({ length: last - after }, (_, at) => after + 1 + at);
  const extrinsics = await Promise.all(numbers.map((number) => countUpdates(node, number)));
  const states = await readStates(node, stateId, after, last);
  let before = states.get(after);
  const found: ClientUpdate[] = [];
  for (const [at, block] of numbers.entries()) {
    if (before === undefined) throw new Error(`There is no client ${stateId} in block ${after}`);
    const state = states.get(block) ?? before;
    const count = extrinsics[at] ?? 0;
    if (count > 0 || state !== before) found.push({ block, extrinsics: count, before, after: state });
    before = state;
  }
  return found;
}

/** What the client knew after each block in which it was written, and after the first. */
async function readStates(
  node: Hub,
  stateId: ConsensusStateId,
  first: number,
  last: number,
): Promise<ReadonlyMap<number, FollowedFinality>> {
  const blocks = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const hashes = await Promise.all(blocks.map((block) => hashOf(node, block)));
  const numbers = new Map(hashes.map((hash, at) => [hash, first + at]));
  const key = toHex(ismpKeys.consensusStates(stateId));
  const params = [[key], hashes[0], hashes.at(-1)];
  const changes = list(await resultHttp(node.httpUrl, "state_queryStorage", params));
  return new Map(changes.flatMap((change) => {
    const { block, changes: values } = Object(change);
    const value: unknown = list(list(values)[0])[1];
    const number = numbers.get(String(block));
    return number === undefined || typeof value !== "string" ? [] : [[number, readState(value)] as const];
  }));
}

function readState(value: string): FollowedFinality {
  const state = decodeGrandpaState(decodeStrict(bytes, fromHex(value), "ConsensusState"));
  return { height: state.latestHeight, setId: state.currentSetId };
}

async function countUpdates(node: Hub, number: number): Promise<number> {
  const hash = await hashOf(node, number);
  const answer = Object(await resultHttp(node.httpUrl, "chain_getBlock", [hash]));
  return list(Object(answer.block).extrinsics).filter((extrinsic) => isUpdate(fromHex(String(extrinsic))))
    .length;
}

/** Whether an extrinsic is `Ismp.handle_unsigned` with consensus messages. */
function isUpdate(extrinsic: Uint8Array): boolean {
  try {
    const args = decodeBareExtrinsic(extrinsic).slice(2);
    const messages = decodeStrict(ismpMessagesCodec, args, "Messages");
    return messages.some(({ tag }) => tag === "Consensus");
  } catch (error) {
    if (error instanceof ScaleError) return false;
    throw error;
  }
}

async function hashOf(node: Hub, number: number): Promise<string> {
  return String(await resultHttp(node.httpUrl, "chain_getBlockHash", [number]));
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError("The node's answer is no list");
  return value;
}
