/** Log line for each transition of a message. */
import type { EventCode, Log, LogLevel } from "../core/telemetry/log.ts";
import { formatDecimal } from "../core/encoding/bytes.ts";

/** Log event of each message state. */
const eventByState = {
  seen: "message_seen",
  held: "message_held",
  ready: "message_ready",
  submitted: "message_submitted",
  delivered: "message_delivered",
  delivered_by_other: "message_delivered_by_competitor",
  timed_out: "message_timed_out",
  not_executed: "message_not_executed",
  rejected: "message_rejected",
  gone: "message_gone",
} as const satisfies Record<string, EventCode>;

/** Message state with a log event. */
export type LoggedState = keyof typeof eventByState;

/** Transition of a message. States and reasons are those of the ledger. */
export interface MessageTransition {
  readonly commitment: string;
  /** Chain that the leg reads from. */
  readonly source: string;
  /** Chain that the leg delivers to. */
  readonly target: string;
  /** Previous state; `undefined` for a message seen for the first time. */
  readonly from: string | undefined;
  readonly to: LoggedState;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
  /** Hash of the transaction or extrinsic that the change is about. */
  readonly transaction?: string | undefined;
  /** Dollars x 10^18. */
  readonly requiredUsd18?: bigint | undefined;
  /** Dollars x 10^18. */
  readonly offeredUsd18?: bigint | undefined;
}

/** Formats a leg for logs, e.g. `EVM-1 -> POLKADOT-3367`. */
function legText(source: string, target: string): string {
  return `${source} -> ${target}`;
}

/** Log levels of states that operators want to see by default. All others are intermediate decisions: debug. */
const levelByState: ReadonlyMap<LoggedState, LogLevel> = new Map([
  ["submitted", "info"],
  ["delivered", "info"],
  ["delivered_by_other", "info"],
  ["timed_out", "info"],
  ["not_executed", "info"],
]);

/**
 * Reasons that change the log level of a held message: lost revenue is info, and what needs an operator is a warning.
 */
const levelByReason: ReadonlyMap<string, LogLevel> = new Map([
  ["unprofitable", "info"],
  ["price_unknown", "info"],
  ["too_large", "warn"],
  ["poison", "warn"],
]);

/**
 * Log level of a transition. Never `error`: races, proofs that are not final yet and throttled endpoints are normal
 * operation (docs/protocol/messaging.md section 19.1).
 */
export function transitionLevel(transition: Pick<MessageTransition, "to" | "reason">): LogLevel {
  const byReason = transition.to === "held" && transition.reason !== undefined
    ? levelByReason.get(transition.reason)
    : undefined;
  return byReason ?? levelByState.get(transition.to) ?? "debug";
}

/** Logs one transition of one message. */
export function logTransition(log: Log, transition: MessageTransition): void {
  const { commitment, source, target, from, to, requiredUsd18, offeredUsd18, ...rest } = transition;
  log[transitionLevel(transition)](eventByState[to], {
    leg: legText(source, target),
    commitment,
    from: from ?? "new",
    to,
    ...rest,
    requiredUsd: requiredUsd18 === undefined ? undefined : formatDecimal(requiredUsd18, 18),
    offeredUsd: offeredUsd18 === undefined ? undefined : formatDecimal(offeredUsd18, 18),
  });
}
