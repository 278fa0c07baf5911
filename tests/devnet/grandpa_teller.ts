/**
 * Proves the hub of a devnet to one of its Substrate chains by GRANDPA votes of the relay chain, with the prover of the
 * consensus relayer. Start reading at {@link GrandpaTeller.tell}.
 */
import {
  createGrandpaProver,
  type GrandpaProverOptions,
} from "../../src/consensus/grandpa/grandpa_prover.ts";
import type { ConsensusProver, InitialConsensusState } from "../../src/consensus/prover.ts";
import { paraIdOf } from "../../src/core/protocol/ismp/state_machine.ts";
import { connectConsensus, include } from "./hub/consensus_work.ts";
import type { HubIdentity } from "./hub/node.ts";
import type { RelayChainNode } from "./relay/relay_chain.ts";
import { connectRelay } from "./relay/relay_reader.ts";
import type { DevnetSubstrateChain } from "./substrate_chains.ts";

const never = new AbortController().signal;

/** What a chain trusts that begins to follow the hub now. */
export async function grandpaStateOf(
  relay: RelayChainNode,
  hub: HubIdentity,
): Promise<InitialConsensusState> {
  await using reader = connectRelay(relay.wsUrl);
  // The first state asks no chain that is told: nothing is sent there.
  await using nowhere = connectConsensus({ identity: hub, wsUrl: relay.wsUrl });
  const prover = createGrandpaProver({ relay: reader.chain, sink: nowhere.hub }, proverOptions(hub));
  return await prover.fetchInitialState(never);
}

/** Tells one chain. */
export class GrandpaTeller implements AsyncDisposable {
  readonly #relay: RelayChainNode;
  readonly #blocksToProof: number;
  readonly #hub: HubIdentity;
  readonly #chain: DevnetSubstrateChain;
  readonly #connection: ReturnType<typeof connectConsensus>;
  readonly #prover: ConsensusProver;

  constructor(
    { relay, finalityLag, hub, chain }: {
      readonly relay: RelayChainNode;
      readonly finalityLag: number;
      readonly hub: HubIdentity;
      readonly chain: DevnetSubstrateChain;
    },
  ) {
    this.#relay = relay;
    this.#blocksToProof = finalityLag + 1;
    this.#hub = hub;
    this.#chain = chain;
    const { stateMachine, consensusStateId, hashing, node } = chain;
    this.#connection = connectConsensus(node, { id: { stateMachine, consensusStateId }, hashing });
    this.#prover = createGrandpaProver(
      { relay: connectRelay(relay.wsUrl).chain, sink: this.#connection.hub },
      proverOptions(hub),
    );
  }

  /** Submits all that is final; see `Tell`. */
  readonly tell = async (last: bigint, isAsked: boolean): Promise<bigint> => {
    if (isAsked) this.#relay.produceBlocks(this.#blocksToProof);
    for (;;) {
      const finding = await this.#prover.next(never);
      if (finding.kind === "nothing") return this.#known(last);
      const { node } = this.#chain;
      const outcome = await include(node, this.#connection.hub, this.#hub, finding.proofs);
      const isTaken = outcome.kind === "included" && outcome.succeeded;
      if (!isTaken) throw new Error(`${this.#chain.stateMachine} did not take a proof of the hub`);
      if (!finding.hasMore) return this.#known(last);
    }
  };

  #known(last: bigint): bigint {
    const { stateMachine, consensusStateId } = this.#hub;
    return this.#chain.node.latestHeight({ stateMachine, consensusStateId }) ?? last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#prover.close();
  }
}

function proverOptions(
  { stateMachine, consensusStateId }: Pick<HubIdentity, "stateMachine" | "consensusStateId">,
): GrandpaProverOptions {
  return {
    stateMachine,
    consensusStateId,
    paraIds: [paraIdOf(stateMachine)],
    maxBlockRange: 2400,
    slotDurationMs: 6000,
    intervalMs: 1000,
  };
}
