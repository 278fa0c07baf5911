/** Sources of proofs of the hub for EVM hosts: the hub itself, or the relay chain. */
import type { HostConsensusView } from "../../../core/chains/hub_client.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";

/** Host to prove the hub to. */
export interface ProofTarget {
  readonly chain: StateMachine;
  readonly view: HostConsensusView & { readonly state: BeefyClientState };
}

/** Result of a source. Nothing in it was verified on the host's state. */
export type ProofsForHost =
  | {
    readonly kind: "proofs";
    /** In order; each must be verified on the state that its predecessors lead to. */
    readonly proofs: readonly Uint8Array[];
    /**
     * `rotations`: validator set rotations, which every host must follow. `messages`: a height with work for the host.
     */
    readonly purpose: "rotations" | "messages";
    /** Host of the endpoint that served them, for faults. */
    readonly endpoint: string;
  }
  | { readonly kind: "nothing"; readonly reason: string }
  /** The source does not have the proofs that are needed. */
  | {
    readonly kind: "unable";
    /**
     * `gap`: they are lost permanently. `withheld`: this node does not serve them, another one may. `mismatch`: the
     * configuration or the host's client does not match the chain behind the source.
     */
    readonly code: "gap" | "withheld" | "mismatch";
    /** Missing data and advice; a sentence without a full stop. */
    readonly detail: string;
  };

/** A source of proofs. Methods may throw an `RpcFault` and a `ProverFault`. */
export interface HostProofSource {
  /** Returns the next proofs for the host. */
  next(target: ProofTarget, signal: AbortSignal): Promise<ProofsForHost>;
  close(): Promise<void>;
}
