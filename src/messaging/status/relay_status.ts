/**
 * Snapshot of the messaging relayer: what the status page shows, `/status.json` returns and `status` prints. Plain
 * data that survives JSON: times are Unix milliseconds, heights numbers, amounts decimal text in whole tokens. Start
 * reading here; `build_status.ts` fills it.
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { ProgramStatus } from "../../core/checks/program_status.ts";
import type { ChainHeights, EndpointReading } from "../../core/rpc/endpoint_board.ts";
import type { ClaimState, MessageReason, MessageState, WithdrawalState } from "../ledger/ledger.ts";

/** Our account on a chain. */
export interface WalletStatus {
  /** Whole native tokens. */
  readonly balance: string;
  readonly readAtMs: number;
  /** Cost of the last 24 hours, whole native tokens. */
  readonly spentDay: string;
  /** Hours until the balance is spent at that rate, from the first of those costs on; absent: nothing was spent. */
  readonly runwayHours?: number;
}

/** What a chain knows of another one. */
export interface LightClientStatus {
  readonly counterparty: StateMachine;
  readonly height: number;
  /** Time at which that height was first seen. */
  readonly roseAtMs: number;
  /** True: nothing of the counterparty is accepted. */
  readonly isFrozen: boolean;
}

/** A configured chain. Members that only a running relayer knows are absent without one. */
export interface ChainStatus extends ChainHeights {
  readonly chain: StateMachine;
  readonly isHub: boolean;
  /** Nothing is sent to it before this time because of `maximum_daily_loss`; absent: the limit is not reached. */
  readonly lossLimit?: { readonly untilMs: number };
  readonly gasPriceWei?: string;
  readonly endpoints: readonly Omit<EndpointReading, "chain">[];
  readonly lightClients: readonly LightClientStatus[];
  readonly wallet?: WalletStatus;
  readonly inFlight?: InFlightStatus;
}

/** Transactions that are in no block. */
export interface InFlightStatus {
  readonly count: number;
  readonly oldestMs: number;
  readonly replacements: number;
  readonly nonceGap: number;
}

/** Messages of a leg that have not ended, in one state and for one reason. */
export interface WaitingMessages {
  readonly state: MessageState;
  /** What they wait for; absent: their turn. */
  readonly reason?: MessageReason;
  /** True when they only wait for this program and its nodes. */
  readonly isDue: boolean;
  readonly count: number;
  /** Time at which the oldest was first seen. */
  readonly oldestMs: number;
}

/** One hop of messages. */
export interface LegStatus {
  readonly source: StateMachine;
  readonly target: StateMachine;
  /** Height of the source up to which every message is recorded; absent: nothing was read yet. */
  readonly cursor?: number;
  readonly open: readonly WaitingMessages[];
  /** Ended within 24 hours, by state; those without any are left out. */
  readonly endedDay: Readonly<Partial<Record<MessageState, number>>>;
  /** Delivered by us within 15 minutes. */
  readonly deliveredRecently: number;
  /** Senders whose messages wait for bandwidth at the hub, with what they have left. */
  readonly bandwidth: readonly { readonly sender: string; readonly leftBytes: string }[];
}

/** A message that we delivered. */
export interface DeliveredStatus {
  readonly source: StateMachine;
  readonly target: StateMachine;
  readonly commitment: string;
  readonly seenAtMs: number;
  readonly deliveredAtMs: number;
}

/** Deliveries of requests of one chain by the state of their claim. */
export interface ClaimStatusSum {
  readonly source: StateMachine;
  readonly state: ClaimState;
  readonly count: number;
  /** Whole fee tokens, where the decimals are known. */
  readonly fees?: string;
}

/** One of the last withdrawals. */
export interface WithdrawalStatus {
  readonly chain: StateMachine;
  readonly state: WithdrawalState;
  /** Whole fee tokens where the decimals are known, else units. */
  readonly amount: string;
  readonly isWhole: boolean;
  readonly detail?: string;
  readonly changedAtMs: number;
}

/** The snapshot. Without `startedAtMs` no relayer is running, and the database alone was read. */
export interface RelayStatus extends ProgramStatus {
  readonly program: "causeway";
  readonly hub: StateMachine;
  readonly chains: readonly ChainStatus[];
  readonly legs: readonly LegStatus[];
  /** Newest first. */
  readonly delivered: readonly DeliveredStatus[];
  readonly claims: readonly ClaimStatusSum[];
  /** Newest first. */
  readonly withdrawals: readonly WithdrawalStatus[];
}
