/**
 * A relay chain with the hub as its parachain, a Substrate chain that follows the hub by GRANDPA, and the prover between:
 * nothing moves by itself.
 */
import {
  GrandpaProver,
  type GrandpaProverOptions,
} from "../../../../src/consensus/clients/grandpa/grandpa_prover.ts";
import type { ConsensusProver, ProverFinding } from "../../../../src/consensus/prover.ts";
import type { ConsensusTarget } from "../../../../src/core/chains/consensus_target.ts";
import type { GrandpaConsensusState } from "../../../../src/consensus/clients/grandpa/spec/message.ts";
import { decodeGrandpaState } from "../../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { type StateMachineId, toParaId } from "../../../../src/core/ismp/state_machine.ts";
import { connectConsensus, include } from "../../../../devnet/hub/consensus_work.ts";
import { encodeHeader, type SimulatedHeader } from "../../../../devnet/hub/digest.ts";
import { type Hub, startHub } from "../../../../devnet/hub/hub.ts";
import {
  type RelayChainNode,
  type RelaySimulatorOptions,
  startRelayChain,
} from "../../../../devnet/relay/relay_chain.ts";
import { connectRelay } from "../../../../devnet/relay/relay_reader.ts";
import {
  type DevnetSubstrateChain,
  startSubstrateChain,
} from "../../../../devnet/chains/substrate_chains.ts";

export const never: AbortSignal = new AbortController().signal;

/** A finding that is to be submitted. */
export type FoundUpdates = Extract<ProverFinding, { kind: "updates" }>;

/** What differs from the usual setup. */
export interface FixtureOptions {
  readonly relay?: RelaySimulatorOptions;
  readonly prover?: Partial<GrandpaProverOptions>;
}

/** Work of a test with chains of its own, in the usual setup. */
export function onFixture(work: (fixture: Fixture) => Promise<void>): () => Promise<void> {
  return async () => {
    await using fixture = await Fixture.start();
    await work(fixture);
  };
}

/** All chains, and one prover. */
export class Fixture implements AsyncDisposable {
  readonly #resources: AsyncDisposableStack;
  readonly #options: FixtureOptions;

  private constructor(
    resources: AsyncDisposableStack,
    options: FixtureOptions,
    readonly hub: Hub,
    readonly relay: RelayChainNode,
    /** The chain that is told. */
    readonly chain: DevnetSubstrateChain,
    readonly target: ConsensusTarget,
  ) {
    this.#resources = resources;
    this.#options = options;
  }

  /** The chain trusts what is final when this returns, and knows no height of the hub. */
  static async start(options: FixtureOptions = {}): Promise<Fixture> {
    await using resources = new AsyncDisposableStack();
    const hub = resources.use(await startHub({ blockTimeMs: "manual" }));
    const { identity } = hub;
    for (let made = 0; made < 3; made++) hub.produceBlock();
    const relay = resources.use(
      await startRelayChain({
        blockTimeMs: "manual",
        heads: () => new Map([[toParaId(identity.stateMachine), encodeHeader(hub.finalizedHeader)]]),
        ...options.relay,
      }),
    );
    // The first state needs no chain that is told.
    const reader = resources.use(connectRelay(relay.wsUrl));
    const nowhere = resources.use(connectConsensus(hub));
    const first = new GrandpaProver(
      { relay: reader.chain, target: nowhere.hub },
      proverOptions(hub, options),
    );
    const initial = await first.fetchInitialState(never);
    const chain = await startSubstrateChain("dest", identity, {
      stateMachine: "SUBSTRATE-dest",
      blockTimeMs: "manual",
      hubFinality: initial,
    });
    resources.use(chain.node);
    const { stateMachine, consensusStateId } = chain;
    const connection = resources.use(
      connectConsensus(chain.node, { id: { stateMachine, consensusStateId }, hashing: "Blake2" }),
    );
    return new Fixture(resources.move(), options, hub, relay, chain, connection.hub);
  }

  /** A prover with a connection of its own; by default to the honest node. */
  prover(
    change: Partial<GrandpaProverOptions> = {},
    { relayUrl = this.relay.wsUrl, target = this.target }: {
      readonly relayUrl?: string;
      readonly target?: ConsensusTarget;
    } = {},
  ): ConsensusProver {
    const reader = this.#resources.use(connectRelay(relayUrl));
    return new GrandpaProver({ relay: reader.chain, target }, {
      ...proverOptions(this.hub, this.#options),
      ...change,
    });
  }

  /** The hub as the chain knows it. */
  get hubId(): StateMachineId {
    return this.hub.identity;
  }

  /** Newest height of the hub that the chain knows. */
  get knownHeight(): bigint | undefined {
    const { stateMachine, consensusStateId } = this.hubId;
    return this.chain.node.latestHeight({ stateMachine, consensusStateId });
  }

  /** What the chain's client trusts now. */
  async fetchTrusted(): Promise<GrandpaConsensusState> {
    const client = await this.target.reads.fetchClient(this.hubId.consensusStateId, "best", never);
    if (client === undefined) throw new Error("The chain has no client of the hub");
    return decodeGrandpaState(client.state);
  }

  /** New final blocks of the hub, and relay chain blocks until their heads are final there. */
  advance(hubBlocks = 1, relayBlocks = 3): SimulatedHeader {
    for (let made = 0; made < hubBlocks; made++) this.hub.produceBlock();
    this.relay.produceBlocks(relayBlocks);
    return this.hub.finalizedHeader;
  }

  /** Begins sessions, each of a few blocks. */
  passSessions(count: number, blocks = 4): void {
    for (let session = 0; session < count; session++) {
      this.hub.produceBlock();
      this.relay.rotate();
      this.relay.produceBlocks(blocks - 1);
    }
  }

  /** Submits a finding. @throws {Error} unless the chain takes it. */
  async submit({ proofs }: Omit<FoundUpdates, "madeOn">): Promise<void> {
    const outcome = await include(this.chain.node, this.target, this.hubId, proofs);
    const isTaken = outcome.kind === "included" && outcome.succeeded;
    if (!isTaken) throw new Error(`The chain did not take it: ${JSON.stringify(this.chain.node.rejections)}`);
  }

  /** Looks until there is nothing more, every finding being submitted. @returns the findings with updates. */
  async follow(prover: ConsensusProver, most = 20): Promise<readonly FoundUpdates[]> {
    const found: FoundUpdates[] = [];
    for (let look = 0; look < most; look++) {
      const finding = await prover.next(never);
      if (finding.kind === "nothing") return found;
      await this.submit(finding);
      found.push(finding);
    }
    throw new Error(`More than ${most} updates`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

function proverOptions({ identity }: Hub, { prover }: FixtureOptions): GrandpaProverOptions {
  return {
    stateMachine: identity.stateMachine,
    consensusStateId: identity.consensusStateId,
    paraIds: [toParaId(identity.stateMachine)],
    maxBlockRange: 2400,
    slotDurationMs: 6000,
    intervalMs: 300_000,
    ...prover,
  };
}
