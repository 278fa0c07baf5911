/** What the registry of log events says of one event. */

/** One event: what its log line says, what that means, and what follows from it for an operator. */
export interface EventText {
  /** Text of the line: what happened, without values, without a full stop. It may change at any time. */
  readonly text: string;
  /** Row of docs/operations/logs.md: what it means. Sentences. */
  readonly meaning: string;
  /** Row of docs/operations/logs.md: what an operator does. Sentences; {@link NOTHING} where there is nothing. */
  readonly action: string;
}

/** The action for events that only inform. */
export const NOTHING = "Nothing.";

/** The action for faults that are retried and pass, unless the endpoints stay bad. */
export const CHECK_ENDPOINT = "Nothing if it passes. Otherwise check the endpoint, or add another one.";
