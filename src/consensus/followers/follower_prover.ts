/**
 * Proves the hub to a Substrate chain in the form that the chain's client of the hub accepts: each form has a prover of
 * its own.
 */
import type { CheckRow } from "../../core/checks/check_row.ts";
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import type { ConsensusClientId } from "../../core/ismp/state_machine.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  type ProverFinding,
} from "../prover.ts";

/** Provers of the hub for one chain, which share their connections. */
export interface FollowerProvers {
  /** For all clients that have no prover of their own. */
  readonly usual: ConsensusProver;
  readonly byClient: ReadonlyMap<ConsensusClientId, ConsensusProver>;
}

/** Prover of the hub for one chain, for whichever client its governance chooses, now or later. */
export class FollowerProver extends BaseProver implements ConsensusProver {
  readonly intervalMs: number;
  readonly #target: Pick<ConsensusTarget, "reads">;
  readonly #provers: FollowerProvers;

  constructor(target: Pick<ConsensusTarget, "reads">, provers: FollowerProvers) {
    const { chain: stateMachine, consensusStateId, intervalMs } = provers.usual;
    super({ stateMachine, consensusStateId });
    this.#target = target;
    this.#provers = provers;
    this.intervalMs = intervalMs;
  }

  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    return await (await this.#choose(signal)).check(signal);
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    return await (await this.#choose(signal)).next(signal);
  }

  /** Fetches the initial state of the usual client. */
  fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    return this.#provers.usual.fetchInitialState(signal);
  }

  /** Closes the connections, which all provers share. */
  override close(): Promise<void> {
    return this.#provers.usual.close();
  }

  async #choose(signal: AbortSignal): Promise<ConsensusProver> {
    const { usual, byClient } = this.#provers;
    const client = await this.#target.reads.fetchClient(this.consensusStateId, "best", signal);
    return client && byClient.get(client.clientId) || usual;
  }
}
