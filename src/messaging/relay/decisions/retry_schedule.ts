/**
 * Decides what the target's answer means for a message (a refusal before it is sent, the outcome of a transaction, a
 * revert), and when one that could not be delivered is retried. Pure. A mined transaction is not a delivery; only the
 * host's event or receipt is. Rules: docs/protocol/messaging.md sections 8.4, 10.3, 10.4 and 11.2;
 * `unprofitable_retry_frequency` of the specification.
 */
import type { RefusalCode } from "../../../core/chains/submission.ts";
import { equalBytes } from "../../../core/encoding/bytes.ts";
import type { Message } from "../../../core/ismp/message.ts";
import type { StateMachine, StateMachineId } from "../../../core/ismp/state_machine.ts";
import type { MessageReason } from "../../ledger/ledger.ts";
import type { MessageChange } from "../../ledger/messages.ts";

/** Outcome of one message. */
export type DeliveryOutcome =
  /** The host recorded our delivery. */
  | "delivered"
  /** The host recorded another relayer's. */
  | "delivered_by_other"
  /** Mined without effect: the module failed or has no code. */
  | "not_executed"
  /** Nothing was recorded; another attempt may be made. */
  | "undelivered";

/**
 * Decides the outcome of a message.
 * @param relayer that the host recorded for it, in an event or a receipt; `undefined`: none
 * @param otherwise outcome when nothing was recorded
 */
export function judgeRecorded<T extends DeliveryOutcome>(
  relayer: Uint8Array | undefined,
  ourself: Uint8Array,
  otherwise: T,
): T | "delivered" | "delivered_by_other" {
  if (relayer === undefined) return otherwise;
  return equalBytes(relayer, ourself) ? "delivered" : "delivered_by_other";
}

/** Refusals that concern the chain, not one of the messages. */
export const ABOUT_THE_CHAIN: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "not_ready",
  "host_frozen",
  "handler_replaced",
  "client_expired",
  "unknown_authority_set",
  "insufficient_funds",
]);

/** What was found out about a message that is not delivered now, with its numbers. */
export type Finding =
  & Pick<MessageChange, "detail" | "batchLimit" | "requiredUsd18" | "offeredUsd18">
  & { readonly reason: MessageReason }
  & (
    | {
      /** It waits by the schedule of that class, which counts the attempt. */
      readonly retryClass: RetryClass;
      /** Earliest time of the next attempt, regardless of the schedule; Unix milliseconds. */
      readonly notBeforeMs?: number | undefined;
    }
    /** It waits until that time, Unix milliseconds. */
    | { readonly untilMs: number }
    /** It ends, or is held because no transaction of the chain can carry it, once the same is found hours later. */
    | { readonly end: "held" | "rejected" | "gone" }
  );

const FAILED: Finding = { reason: "simulation_failed", retryClass: "failed" };

const refusals: Readonly<Record<RefusalCode | "not_executed", Finding>> = {
  // Its receipt is read once the target's newest block is past the timeout too.
  timed_out: { reason: "too_close_to_timeout", retryClass: "transient" },
  bad_destination: { reason: "bad_destination", end: "rejected" },
  unknown_message: { reason: "request_unknown", end: "gone" },
  too_large: { reason: "too_large", end: "held" },
  duplicate: { reason: "race", retryClass: "transient" },
  bad_proof: { reason: "proof_unavailable", retryClass: "transient" },
  not_ready: { reason: "waiting_for_update", retryClass: "transient" },
  unknown_authority_set: { reason: "waiting_for_update", retryClass: "transient" },
  host_frozen: { reason: "host_frozen", retryClass: "transient" },
  handler_replaced: { reason: "handler_replaced", retryClass: "transient" },
  client_expired: { reason: "client_expired", retryClass: "transient" },
  insufficient_funds: { reason: "unfunded", retryClass: "unfunded" },
  // Usually decided again at once, with the current price: see send.ts.
  too_expensive: { reason: "unprofitable", retryClass: "transient" },
  price_limit: { reason: "unprofitable", retryClass: "transient" },
  untraceable: { reason: "untraceable", retryClass: "slow" },
  no_bandwidth: { reason: "no_bandwidth", retryClass: "hub_refused" },
  blocked_sender: { reason: "blocked_sender", retryClass: "hub_refused" },
  module_failed: FAILED,
  not_executed: FAILED,
  unspecified: FAILED,
};

/** Message that the target does not accept now. */
export interface Refused {
  readonly message: Message;
  /** `not_executed`: the transaction would succeed, the message would not be handled. */
  readonly code: RefusalCode | "not_executed";
  readonly detail: string;
  /** True: it was not simulated alone, after everything of ours to its module. That decides nothing about it. */
  readonly isInCompany?: boolean;
}

/** What a refusal means for a message; those of the hub are mostly temporary, and retries cost nothing there. */
export function judgeRefused(
  { settings, target }: {
    readonly settings: { readonly hub: StateMachine };
    readonly target: { readonly id: Pick<StateMachineId, "stateMachine"> };
  },
  { code, detail, isInCompany }: Omit<Refused, "message">,
): Finding {
  // Judged alone next, by every reading to come.
  if (isInCompany) return { reason: "reverted", retryClass: "transient", detail, batchLimit: 1 };
  const isOfHub = target.id.stateMachine === settings.hub && refusals[code] === FAILED;
  return { ...isOfHub ? { reason: "hub_refused", retryClass: "hub_refused" } : refusals[code], detail };
}

/** True for a revert that blames no message: the host would have refused any, or the proof in front of them. */
export function isRevertOfChain(code: RefusalCode | undefined): boolean {
  // Members are proved together, and the simulation took the proof: what the host trusts has changed since.
  return code === "bad_proof" || (code !== undefined && ABOUT_THE_CHAIN.has(code));
}

/** Class of a wait, which selects the schedule. */
export type RetryClass =
  /** Node behind, challenge period, nonce race, lost race: always retried. */
  | "transient"
  /** Our account cannot pay: checked once a minute, since an operator may fund it at any time. */
  | "unfunded"
  /** The hub cannot accept it yet: always retried. */
  | "hub_waiting"
  /** The hub refuses it (bandwidth, a blocked sender, its module): always retried, at increasing intervals. */
  | "hub_refused"
  /** Expensive to check and rarely successful: always retried, rarely. */
  | "slow"
  /** Simulation failed, mined without effect, unprofitable: retried only if the operator asked for it. */
  | "failed";

/** Timestamp meaning "never": beyond every clock, still a safe integer. */
export const NEVER_MS = Number.MAX_SAFE_INTEGER;

/** Time between two readings that decide something for good, ms (two hours): no price or answer of one moment does. */
export const CONFIRM_AFTER_MS = 2 * 3_600_000;
/** Pause after the first of them, ms: most mistakes are over by then. */
const DOUBT_MS = 60_000;

/** Reasons for which a reading, and not a transaction, leaves a message undelivered. */
const READINGS: ReadonlySet<MessageReason | undefined> = new Set<MessageReason>([
  "unprofitable",
  "simulation_failed",
  "too_large",
  "height_unknown",
  "hub_originated",
  "bad_destination",
  "request_unknown",
  "request_gone",
]);

/**
 * Computes when a message is judged again that a reading would leave undelivered for good: after a minute, and two hours
 * after that. `undefined`: it was, so that the reading counts. Only an end needs the same reason as before.
 * @param row as it was before this reading
 */
export function nextReadingMs(
  row: { readonly reason: MessageReason | undefined; readonly updatedAtMs: number },
  { reason, isEnd, nowMs }: {
    readonly reason: MessageReason;
    readonly isEnd: boolean;
    readonly nowMs: number;
  },
): number | undefined {
  if (!READINGS.has(reason)) return undefined;
  if (!(isEnd ? row.reason === reason : READINGS.has(row.reason))) return nowMs + DOUBT_MS;
  // Of a clock that was set back nothing is known.
  return nowMs - row.updatedAtMs >= CONFIRM_AFTER_MS ? undefined : nowMs + CONFIRM_AFTER_MS;
}

/** Interval between checks of an account that cannot pay, ms. */
export const UNFUNDED_PAUSE_MS = 60_000;
/** Number of refusals by the hub after which a message without a timeout ends. */
const MAX_REFUSALS = 10;
/** Maximum time to a timeout, ms: one further away counts as none, and a message without one ends after this time. */
const MAX_WAIT_MS = 30 * 24 * 3_600_000;
/** After this many attempts the operator's interval doubles, up to {@link FAILED_MAX_MS}. */
const FAILED_PATIENCE = 10;
export const FAILED_MAX_MS = 6 * 3_600_000;

/**
 * Computes the time of the next attempt, Unix milliseconds.
 * @param facts.attempts attempts made so far, at least 1; of class `hub_refused` the refusals
 * @param facts.retryFrequencySec `unprofitable_retry_frequency`; `undefined` disables retries of class `failed`
 * @param facts.failedMaxMs longest interval of class `failed`; {@link FAILED_MAX_MS} when absent
 * @param facts.jitter random number in [0, 1)
 */
export function nextAttemptMs(facts: {
  readonly retryClass: RetryClass;
  readonly attempts: number;
  readonly nowMs: number;
  readonly retryFrequencySec: number | undefined;
  readonly failedMaxMs?: number | undefined;
  readonly jitter: number;
}): number {
  if (facts.retryClass === "failed") {
    const { attempts, retryFrequencySec, failedMaxMs = FAILED_MAX_MS } = facts;
    if (retryFrequencySec === undefined) return NEVER_MS;
    const doublings = Math.min(20, Math.max(0, attempts - FAILED_PATIENCE));
    const everyMs = retryFrequencySec * 1000;
    return facts.nowMs + Math.max(everyMs, Math.min(failedMaxMs, everyMs * 2 ** doublings));
  }
  if (facts.retryClass === "unfunded") return facts.nowMs + UNFUNDED_PAUSE_MS;
  const { firstMs, maxMs, factor } = SCHEDULES[facts.retryClass];
  const delayMs = Math.min(maxMs, firstMs * factor ** Math.min(20, Math.max(0, facts.attempts - 1)));
  return facts.nowMs + Math.round(delayMs * (0.75 + facts.jitter / 2));
}

const SCHEDULES = {
  transient: { firstMs: 2_000, maxMs: 5 * 60_000, factor: 2 },
  slow: { firstMs: 10 * 60_000, maxMs: 6 * 3_600_000, factor: 2 },
  hub_waiting: { firstMs: 15_000, maxMs: 10 * 60_000, factor: 2 },
  /** Ten attempts take a day: exhausted bandwidth is bought within hours, and spam must not be retried for long. */
  hub_refused: { firstMs: 15_000, maxMs: 6 * 3_600_000, factor: 4 },
} as const;

/**
 * True when a message that the hub refused again ends: it was refused ten times, or is 30 days old, and no timeout will
 * end it. Upstream's relayer tries once.
 * @param facts.refusals refusals so far, this one included; other waits do not count
 * @param facts.timeoutSec Unix seconds; 0: never
 */
export function isRefusedForGood(
  facts: {
    readonly refusals: number;
    readonly timeoutSec: bigint;
    readonly createdAtMs: number;
    readonly nowMs: number;
  },
): boolean {
  const { refusals, timeoutSec, createdAtMs, nowMs } = facts;
  const endsByItself = timeoutSec > 0n && timeoutSec * 1000n <= BigInt(nowMs + MAX_WAIT_MS);
  return !endsByItself && (refusals >= MAX_REFUSALS || nowMs - createdAtMs >= MAX_WAIT_MS);
}
