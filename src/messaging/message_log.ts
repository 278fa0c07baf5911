/** Log lines of messages: each transition at debug, and one line at info for messages that end together. */
import type { EventCode, Log, LogLevel } from "../core/telemetry/log.ts";
import { formatDecimal } from "../core/encoding/bytes.ts";

type CodeOf<Event extends string> = EventCode extends infer E ? E extends `${Event}.${infer C}` ? C : never
  : never;

/** Message of one leg. */
interface LoggedMessage {
  readonly commitment: string;
  /** Chain that the leg reads from. */
  readonly source: string;
  /** Chain that the leg delivers to. */
  readonly target: string;
}

/** Transition of a message. States and reasons are those of the ledger. */
export interface MessageTransition extends LoggedMessage {
  /** Previous state; `undefined` for a message seen for the first time. */
  readonly from: string | undefined;
  readonly to: CodeOf<"message_changed">;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
  /** Hash of the transaction or extrinsic that the change is about. */
  readonly transaction?: string | undefined;
  /** Dollars x 10^18. */
  readonly requiredUsd18?: bigint | undefined;
  /** Dollars x 10^18. */
  readonly offeredUsd18?: bigint | undefined;
}

/** Reasons that need an operator. */
const needsOperator: ReadonlySet<string | undefined> = new Set(["too_large", "poison"]);

/**
 * Log level of a transition. Never `error`: races, proofs that are not final yet and throttled endpoints are normal
 * operation (docs/protocol/messaging.md section 19.1).
 */
export function transitionLevel({ to, reason }: Pick<MessageTransition, "to" | "reason">): LogLevel {
  return to === "held" && needsOperator.has(reason) ? "warn" : "debug";
}

/** Logs one transition of one message. */
export function logTransition(log: Log, transition: MessageTransition): void {
  const { commitment, source, target, from, to, requiredUsd18, offeredUsd18, ...rest } = transition;
  log[transitionLevel(transition)](`message_changed.${to}`, {
    leg: `${source} -> ${target}`,
    commitment,
    from: from ?? "new",
    to,
    ...rest,
    requiredUsd: requiredUsd18 === undefined ? undefined : formatDecimal(requiredUsd18, 18),
    offeredUsd: offeredUsd18 === undefined ? undefined : formatDecimal(offeredUsd18, 18),
  });
}

/** Logs messages of one leg that ended together; nothing without messages. */
export function logSettled(
  log: Log,
  to: CodeOf<"messages_settled">,
  messages: readonly LoggedMessage[],
  transaction?: string,
): void {
  const [first] = messages;
  if (first === undefined) return;
  log.info(`messages_settled.${to}`, {
    leg: `${first.source} -> ${first.target}`,
    messages: messages.length,
    transaction,
    commitments: messages.map(({ commitment }) => commitment),
  });
}
