/**
 * Proves the hub to a Substrate chain in the form that the chain's client of the hub accepts: votes, or parachain
 * heads.
 */
import type { CheckFinding } from "../../core/chains/port.ts";
import type { ConsensusStateId, StateMachine, StateMachineId } from "../../core/ismp/state_machine.ts";
import {
  createGrandpaProver,
  type GrandpaProverDeps,
  type GrandpaProverOptions,
} from "../clients/grandpa/grandpa_prover.ts";
import { createParachainProver, PARACHAIN_CLIENT_ID } from "../clients/parachain/parachain_prover.ts";
import type { ConsensusProver, InitialConsensusState, ProverFinding } from "../prover.ts";

/** Creates the prover of the hub for one chain, for whichever client its governance chooses, now or later. */
export function createFollowerProver(
  deps: GrandpaProverDeps,
  options: GrandpaProverOptions,
): ConsensusProver {
  return new FollowerProver(deps, options);
}

class FollowerProver implements ConsensusProver {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly commitmentId: StateMachineId;
  readonly intervalMs: number;
  readonly #deps: GrandpaProverDeps;
  readonly #byVotes: ConsensusProver;
  readonly #byHeads: ConsensusProver;

  constructor(deps: GrandpaProverDeps, options: GrandpaProverOptions) {
    this.#deps = deps;
    this.#byVotes = createGrandpaProver(deps, options);
    this.#byHeads = createParachainProver(deps, { ...options, hub: options.stateMachine });
    const { chain, consensusStateId, commitmentId, intervalMs } = this.#byVotes;
    this.chain = chain;
    this.consensusStateId = consensusStateId;
    this.commitmentId = commitmentId;
    this.intervalMs = intervalMs;
  }

  async check(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return await (await this.#choose(signal)).check(signal);
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    return await (await this.#choose(signal)).next(signal);
  }

  /** Fetches the initial state; only clients that follow votes have one. */
  fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    return this.#byVotes.fetchInitialState(signal);
  }

  /** Closes the connections, which both provers share. */
  close(): Promise<void> {
    return this.#byVotes.close();
  }

  async #choose(signal: AbortSignal): Promise<ConsensusProver> {
    const client = await this.#deps.target.fetchClient(this.consensusStateId, "best", signal);
    return client?.clientId === PARACHAIN_CLIENT_ID ? this.#byHeads : this.#byVotes;
  }
}
