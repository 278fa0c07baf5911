/**
 * A Substrate chain that compiled consensus relayers tell of the hub, as scenarios look at it.
 * Start reading at {@link HubFollower}.
 */
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { decodeGrandpaState } from "../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { bytes, decodeStrict } from "../../../src/core/encoding/scale.ts";
import { ismpKeys } from "../../../src/core/ismp/storage_keys.ts";
import { resultHttp } from "../../../devnet/hub/json_rpc_client.ts";
import { waitUntil } from "../../../devnet/traffic/messages.ts";
import type { DevnetSubstrateChain } from "../../../devnet/chains/substrate_chains.ts";
import { type ConsensusScene, DEADLINE_MS } from "./consensus_scene.ts";
import type { RelayerLine } from "./relayer_process.ts";
import { type ClientUpdate, type FollowedFinality, readUpdates } from "./follower_checks.ts";

/** See the head of the file. */
export class HubFollower {
  readonly chain: DevnetSubstrateChain;
  readonly #scene: ConsensusScene;

  constructor(scene: ConsensusScene, name: string) {
    this.#scene = scene;
    this.chain = scene.devnet.substrateChain(name);
  }

  /** Newest height of the hub that the chain knows; 0: none. */
  get height(): bigint {
    return this.chain.node.latestHeight(this.#scene.devnet.hub.identity) ?? 0n;
  }

  /** Number of the chain's newest block: from where {@link updatesSince} counts. */
  get now(): number {
    return this.chain.node.best.number;
  }

  /** What its client trusts now. */
  async fetchFinality(): Promise<FollowedFinality> {
    const key = toHex(ismpKeys.consensusStates(this.#scene.devnet.hub.identity.consensusStateId));
    const stored = await resultHttp(this.chain.node.httpUrl, "state_getStorage", [key]);
    const state = decodeGrandpaState(decodeStrict(bytes, fromHex(String(stored)), "ConsensusState"));
    return { height: state.latestHeight, setId: state.currentSetId };
  }

  /** Waits until the chain knows a height of the hub of at least `height`. */
  async untilKnows(height: bigint, deadlineMs = DEADLINE_MS): Promise<void> {
    const { stateMachine } = this.chain;
    await waitUntil(
      `${stateMachine} knows block ${height} of the hub (it knows ${this.height})`,
      () => this.height >= height,
      { deadlineMs },
    );
  }

  /** Waits until the chain has learned so many newer heights. */
  async untilGrown(times = 1): Promise<void> {
    for (let time = 0; time < times; time++) await this.untilKnows(this.height + 1n);
  }

  /** Waits until the client is in the relay chain's newest set and the chain knows what the hub has made final by now. */
  async untilCurrent(deadlineMs = DEADLINE_MS): Promise<void> {
    const { relay, hub } = this.#scene.devnet;
    const { grandpaSetId } = relay.session;
    const final = BigInt(hub.finalized.number);
    await waitUntil(
      `${this.chain.stateMachine} follows set ${grandpaSetId} and knows block ${final} of the hub`,
      async () => (await this.fetchFinality()).setId >= grandpaSetId && this.height >= final,
      { deadlineMs },
    );
  }

  /** The updates in blocks after `block`. */
  updatesSince(block: number): Promise<readonly ClientUpdate[]> {
    return readUpdates(this.chain.node, this.#scene.devnet.hub.identity.consensusStateId, block);
  }

  /** A rule for lines about this chain that hold `text`. */
  says(text: string): (line: RelayerLine) => boolean {
    const { stateMachine } = this.chain;
    return (line) => line.text.includes(`"to":"${stateMachine}"`) && line.text.includes(text);
  }
}
