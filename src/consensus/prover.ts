/**
 * Interface of a chain whose finality the consensus relayer proves to the hub. Each configured type has an
 * implementation in its own folder; provers poll and build updates, they never send.
 */
import type { FindingCode } from "../core/checks/findings.ts";
import type { CheckRow } from "../core/checks/check_row.ts";
import type {
  ConsensusClientId,
  ConsensusStateId,
  IntermediateState,
  StateMachine,
  StateMachineId,
} from "../core/ismp/state_machine.ts";

/** Result of polling a chain. */
export type ProverFinding =
  | {
    /** The hub already knows everything that can be proved. */
    readonly kind: "nothing";
    /** Reason for the log: a short sentence without a full stop. */
    readonly reason: string;
    /** Delay of the next poll where it differs from the usual interval, milliseconds. */
    readonly againInMs?: number;
  }
  | {
    /** Updates to be submitted in this order in one extrinsic. Our own verifier accepts them on the hub's state. */
    readonly kind: "updates";
    readonly proofs: readonly Uint8Array[];
    /** State of the client that they build on, as the hub stores it: when it changes, they are outdated. */
    readonly madeOn: Uint8Array;
    /** Height of the chain that the hub will know afterwards; `undefined` for a mere validator set rotation. */
    readonly height: bigint | undefined;
    /** Summary for the log: e.g. "finalized slot 123, committee of period 9". */
    readonly summary: string;
    /** True when the next poll should follow as soon as these are accepted: the hub is still behind. */
    readonly hasMore: boolean;
    /** Advice on making updates smaller, for when this one fits into no extrinsic: a sentence without a full stop. */
    readonly adviceIfTooLarge?: string;
  };

/** Everything that governance needs to create a client of the chain on the hub. */
export interface InitialConsensusState {
  readonly clientId: ConsensusClientId;
  /** SCALE bytes. */
  readonly state: Uint8Array;
  readonly unbondingSec: bigint;
  readonly challengePeriods: ReadonlyMap<StateMachine, bigint>;
  readonly commitments: readonly IntermediateState[];
}

/** Seconds for which clients of most kinds may go without an update (67.5 days). */
export const USUAL_UNBONDING_SEC = 5_832_000n;

/** Periods of clients of most kinds: for updates, and for challenges of commitments. */
export function usualPeriods(
  chain: StateMachine,
): Pick<InitialConsensusState, "unbondingSec" | "challengePeriods"> {
  return { unbondingSec: USUAL_UNBONDING_SEC, challengePeriods: new Map([[chain, 300n]]) };
}

/** Reason that no update can be built: invalid or missing data, or an unusable client. */
export class ProverFault extends Error {
  override readonly name = "ProverFault";
  readonly chain: StateMachine;
  /** Host of the endpoint, `undefined` where several took part. */
  readonly endpoint: string | undefined;
  /** Problem and advice. */
  readonly detail: string;

  /**
   * @param code `bad_data`: an endpoint answered with data that our verifier refuses; `not_served`: no endpoint has
   * what is needed; `frozen`, `expired`: the target's light client accepts no update; `hub_state`: it is missing, of
   * another type or unreadable; `unrecoverable`: no update can advance it; `fork_not_followed`: the chain has reached a
   * fork that this program or the target does not know.
   */
  constructor(
    readonly code:
      | "bad_data"
      | "not_served"
      | "frozen"
      | "expired"
      | "hub_state"
      | "unrecoverable"
      | "fork_not_followed",
    { chain, endpoint, detail }: Pick<ProverFault, "chain" | "detail"> & {
      readonly endpoint?: string | undefined;
    },
    options?: ErrorOptions,
  ) {
    super(`${chain}${endpoint === undefined ? "" : ` (${endpoint})`}: ${detail}`, options);
    this.chain = chain;
    this.endpoint = endpoint;
    this.detail = detail;
  }
}

/** Configured options of every chain whose finality is proved. */
export interface ProverOptions {
  readonly stateMachine: StateMachine;
  /** Name of the client on the hub. */
  readonly consensusStateId: ConsensusStateId;
  /** Maximum poll interval, milliseconds. */
  readonly intervalMs: number;
}

/** What provers have in common: names of the client, and faults about the chain. */
export abstract class BaseProver<Options extends ProverOptions = ProverOptions> {
  readonly chain: StateMachine;

  constructor(protected readonly options: Options) {
    this.chain = options.stateMachine;
  }

  /** Name of the client on the target. */
  get consensusStateId(): ConsensusStateId {
    return this.options.consensusStateId;
  }

  /** Id under which the target stores the heights. */
  get commitmentId(): StateMachineId {
    return { stateMachine: this.chain, consensusStateId: this.options.consensusStateId };
  }

  /** Default poll interval, milliseconds. */
  get intervalMs(): number {
    return this.options.intervalMs;
  }

  /** Finding before an update is due. @param what is due. */
  protected early(dueInMs: number, what: "update" | "advance"): ProverFinding {
    const ageSec = Math.round((this.options.intervalMs - dueInMs) / 1_000);
    const dueSec = Math.ceil(dueInMs / 1_000);
    const reason = `the client was updated ${ageSec} s ago, and the next ${what} is due in ${dueSec} s`;
    return { kind: "nothing", reason, againInMs: Math.min(dueInMs, this.intervalMs) };
  }

  /** Closes connections; requests over HTTP leave none open. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Creates a fault about the chain. @param place.endpoint host that gave the data; absent: several took part. */
  protected fault(
    code: ProverFault["code"],
    detail: string,
    { endpoint, cause }: { readonly endpoint?: string | undefined; readonly cause?: unknown } = {},
  ): ProverFault {
    const options = cause === undefined ? undefined : { cause };
    return new ProverFault(code, { chain: this.chain, endpoint, detail }, options);
  }
}

/** Why a target takes nothing of a chain. */
export interface ClientObstacle {
  readonly event: FindingCode;
  /** Sentence without its subject, the target. */
  readonly text: string;
}

/** Makes the state with which governance creates a client of a chain. */
export interface InitialStateMaker {
  readonly chain: StateMachine;
  /** Name of the client. */
  readonly consensusStateId: ConsensusStateId;
  /** Fetches the state for `log-consensus-state`. */
  fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState>;
  /** Closes connections. */
  close(): Promise<void>;
}

/** Proves the finality of one chain to the hub. Methods may throw `RpcFault` and {@link ProverFault}. */
export interface ConsensusProver extends InitialStateMaker {
  /** Of rollups: their L1 as the hub knows it; they are polled at each new height of it. */
  readonly l1?: StateMachineId;
  /** Id under which the hub stores the heights: for rollups with the L1's client. */
  readonly commitmentId: StateMachineId;
  /** Default poll interval, milliseconds. */
  readonly intervalMs: number;

  /** Compares endpoints and hub with the configuration; called once before the first poll. */
  check(signal: AbortSignal): Promise<readonly CheckRow[]>;
  /** The part of {@link check} that asks no node of the chain; absent: there is none. */
  checkHub?(signal: AbortSignal): Promise<readonly CheckRow[]>;
  /** Polls the hub and the chain once, and builds the updates that advance the hub. */
  next(signal: AbortSignal): Promise<ProverFinding>;
}
