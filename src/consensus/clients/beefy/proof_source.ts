/** Where proofs of the hub for EVM hosts come from: the hub itself, or the relay chain. */
import type { HostConsensusView } from "../../../core/chains/consensus_receiver.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";

/** A host that shall learn more of the hub. */
export interface ProofTarget {
  readonly chain: StateMachine;
  readonly view: HostConsensusView & { readonly state: BeefyClientState };
}

/** What a source has for a host. Nothing of it was verified on the host's state. */
export type NextProofs =
  | {
    readonly kind: "proofs";
    /** In order; each is to be verified on the state that the ones before it lead to. */
    readonly proofs: readonly Uint8Array[];
    /** `rotations`: changes of the set, which every host must get. `messages`: a height with work for the host. */
    readonly purpose: "rotations" | "messages";
    /** Host of the endpoint that they came from, for faults. */
    readonly endpoint: string;
  }
  | { readonly kind: "nothing"; readonly reason: string }
  /** Something is wanted that this source does not have. */
  | {
    readonly kind: "unable";
    /**
     * `gap`: it is gone for good. `withheld`: this node does not tell, another one may. `mismatch`: the configuration or
     * the host's client does not fit the chain behind the source.
     */
    readonly code: "gap" | "withheld" | "mismatch";
    /** What is missing and what to do; a sentence without a full stop. */
    readonly detail: string;
  };

/** A source of proofs. Methods may throw an `RpcFault` and a `ProverFault`. */
export interface ProofSource {
  /** What the host should get next. */
  next(target: ProofTarget, signal: AbortSignal): Promise<NextProofs>;
  close(): Promise<void>;
}
