/**
 * The one interface through which the consensus relayer sees a chain whose finality it proves to the hub.
 * Each type of the configuration has an implementation in a folder of its own; they look and build, they never send.
 */
import type { CheckFinding } from "../core/chains/port.ts";
import type { StateCommitmentHeight } from "../core/ismp/state_commitment.ts";
import type {
  ConsensusClientId,
  ConsensusStateId,
  StateMachine,
  StateMachineId,
} from "../core/ismp/state_machine.ts";

/** What a look at a chain brought. */
export type ProverFinding =
  | {
    /** The hub knows all that can be proved now. */
    readonly kind: "nothing";
    /** Why, for the log: a short sentence without a full stop. */
    readonly reason: string;
    /** When another look is worth it earlier or later than the usual interval, milliseconds. */
    readonly againInMs?: number;
  }
  | {
    /** Updates to be submitted in this order in one extrinsic. Our own verifier accepts them on the hub's state. */
    readonly kind: "updates";
    readonly proofs: readonly Uint8Array[];
    /** State of the client that they were made on, as the hub stores it: when it changes, they are out of date. */
    readonly madeOn: Uint8Array;
    /** Height of the chain that the hub will know afterwards; `undefined` when only a set of signers changes. */
    readonly height: bigint | undefined;
    /** What is in it, for the log: e.g. "finalized slot 123, committee of period 9". */
    readonly summary: string;
    /** True when the next look should follow as soon as these are accepted: the hub is still behind. */
    readonly hasMore: boolean;
    /** What makes updates smaller, for when no extrinsic carries this one: a sentence without a full stop. */
    readonly adviceIfTooLarge?: string;
  };

/** Everything that governance needs to create a client of the chain on the hub. */
export interface InitialConsensusState {
  readonly clientId: ConsensusClientId;
  /** SCALE bytes. */
  readonly state: Uint8Array;
  readonly unbondingSec: bigint;
  readonly challengePeriods: ReadonlyMap<StateMachine, bigint>;
  readonly commitments: readonly { readonly id: StateMachineId; readonly at: StateCommitmentHeight }[];
}

/** What an endpoint said that is not true; the update was thrown away before it cost anything. */
export class ProverFault extends Error {
  override readonly name = "ProverFault";
  /**
   * @param code `bad_data`: an endpoint answered with data that our verifier refuses;
   * `not_served`: no endpoint has what is needed; `frozen`, `expired`: the client that would be told takes no update;
   * `hub_state`: it is missing, of another type or unreadable; `unrecoverable`: no update brings it any further.
   */
  constructor(
    readonly code: "bad_data" | "not_served" | "frozen" | "expired" | "hub_state" | "unrecoverable",
    readonly chain: StateMachine,
    /** Host of the endpoint, `undefined` where several took part. */
    readonly endpoint: string | undefined,
    /** What was wrong and what to do. */
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(`${chain}${endpoint === undefined ? "" : ` (${endpoint})`}: ${detail}`, options);
  }
}

/** What is configured of every chain whose finality is proved. */
export interface ProverOptions {
  readonly stateMachine: StateMachine;
  /** Name of the client on the hub. */
  readonly consensusStateId: ConsensusStateId;
  /** Pause between two looks at most, milliseconds. */
  readonly intervalMs: number;
}

/** Proves the finality of one chain to the hub. Methods may throw `RpcFault` and {@link ProverFault}. */
export interface ConsensusProver {
  readonly chain: StateMachine;
  /** Name of the client on the hub. */
  readonly consensusStateId: ConsensusStateId;
  /** Under which the hub stores the heights: for rollups the name of the L1's client. */
  readonly commitmentId: StateMachineId;
  /** Pause between two looks when there is nothing special to wait for, milliseconds. */
  readonly intervalMs: number;

  /** Compares endpoints and hub with the configuration; called once before the first look. */
  check(signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /** Looks at the hub and the chain once, and builds what brings the hub forward. */
  next(signal: AbortSignal): Promise<ProverFinding>;
  /** For `log-consensus-state`. */
  fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState>;
  /** Closes connections. */
  close(): Promise<void>;
}
