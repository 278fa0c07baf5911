/** Proves the hub to a Substrate chain by what the chain's client of the hub takes: votes, or heads of parachains. */
import type { CheckFinding } from "../../core/chains/port.ts";
import type { ConsensusStateId, StateMachine, StateMachineId } from "../../core/ismp/state_machine.ts";
import {
  createGrandpaProver,
  type GrandpaProverDeps,
  type GrandpaProverOptions,
} from "../clients/grandpa/grandpa_prover.ts";
import { createParachainProver, PARACHAIN_CLIENT_ID } from "../clients/parachain/parachain_prover.ts";
import type { ConsensusProver, InitialConsensusState, ProverFinding } from "../prover.ts";

/** The prover of the hub for one chain, whichever client its governance gives it, now or later. */
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

  /** Only clients that follow votes start with a state. */
  fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    return this.#byVotes.fetchInitialState(signal);
  }

  /** Both provers work with the same connections. */
  close(): Promise<void> {
    return this.#byVotes.close();
  }

  async #choose(signal: AbortSignal): Promise<ConsensusProver> {
    const client = await this.#deps.target.fetchClient(this.consensusStateId, "best", signal);
    return client?.clientId === PARACHAIN_CLIENT_ID ? this.#byHeads : this.#byVotes;
  }
}
