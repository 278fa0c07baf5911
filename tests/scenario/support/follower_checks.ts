/**
 * What must hold whenever Substrate chains got updates of the hub: every update that a block has moved the client on, and
 * no set of authorities was left out. Start reading at {@link followerViolations}; the facts are read by {@link readUpdates}.
 */
import type { Devnet } from "../../../devnet/devnet.ts";
import type { ConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import { type FollowedFinality, readFinality, readUpdatesIn } from "../../../devnet/hub/followed_finality.ts";
import type { Hub } from "../../../devnet/hub/hub.ts";
import { waitUntil } from "../../../devnet/traffic/messages.ts";
import type { DevnetSubstrateChain } from "../../../devnet/chains/substrate_chains.ts";

/** A block of the chain that has updates. */
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

/** Everything that is wrong, as sentences. */
export function* followerViolations({ chain, updates }: FollowerFacts): Iterable<string> {
  for (const { block, extrinsics, before, after } of updates) {
    const sets = after.setId - before.setId;
    if (after.height <= before.height) {
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
  const numbers = Array.from({ length: node.best.number - after }, (_, at) => after + 1 + at);
  const found = await Promise.all(numbers.map(async (block): Promise<readonly ClientUpdate[]> => {
    const { length: extrinsics } = await readUpdatesIn(node, block);
    if (extrinsics === 0) return [];
    const before = await readFinality(node, stateId, block - 1);
    return [{ block, extrinsics, before, after: await readFinality(node, stateId, block) }];
  }));
  return found.flat();
}

/** See the head of the file. */
export class HubFollower {
  readonly chain: DevnetSubstrateChain;
  readonly #devnet: Devnet;

  constructor({ devnet }: { readonly devnet: Devnet }, name: string) {
    this.#devnet = devnet;
    this.chain = devnet.substrateChain(name);
  }

  /** Newest height of the hub that the chain knows; 0: none. */
  get height(): bigint {
    return this.chain.node.latestHeight(this.#devnet.hub.identity) ?? 0n;
  }

  /** Number of the chain's newest block: from where {@link updatesSince} counts. */
  get now(): number {
    return this.chain.node.best.number;
  }

  /** What its client trusts now. */
  fetchFinality(): Promise<FollowedFinality> {
    return readFinality(this.chain.node, this.#devnet.hub.identity.consensusStateId);
  }

  /** Waits until the chain knows a height of the hub of at least `height`. */
  async untilKnows(height: bigint): Promise<void> {
    const { stateMachine } = this.chain;
    await waitUntil(
      `${stateMachine} knows block ${height} of the hub (it knows ${this.height})`,
      () => this.height >= height,
    );
  }

  /** Waits until the chain has learned so many newer heights. */
  async untilGrown(times = 1): Promise<void> {
    for (let time = 0; time < times; time++) await this.untilKnows(this.height + 1n);
  }

  /** Waits until the client is in the relay chain's newest set and the chain knows what the hub has made final by now. */
  async untilCurrent(): Promise<void> {
    const { relay, hub } = this.#devnet;
    const { grandpaSetId } = relay.session;
    const final = BigInt(hub.finalized.number);
    await waitUntil(
      `${this.chain.stateMachine} follows set ${grandpaSetId} and knows block ${final} of the hub`,
      async () => (await this.fetchFinality()).setId >= grandpaSetId && this.height >= final,
    );
  }

  /** The updates in blocks after `block`. */
  updatesSince(block: number): Promise<readonly ClientUpdate[]> {
    return readUpdates(this.chain.node, this.#devnet.hub.identity.consensusStateId, block);
  }
}
