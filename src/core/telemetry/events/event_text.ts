/** What the registry of log events says of one event. */

/** One event: what its log line says, what that means, and what follows from it for an operator. */
export interface EventText {
  /** Text of the line: what happened, without values, without a full stop. It may change at any time. */
  readonly text: string;
  /** Row of docs/operations/logs.md: what it means. Sentences. */
  readonly meaning: string;
  /** Row of docs/operations/logs.md: what an operator does. Sentences; absent for events that only inform. */
  readonly action?: string;
  /**
   * Of events that are logged as errors: what the program does next. A sentence without a full stop; error lines end
   * with it and with {@link action}.
   */
  readonly reaction?: string;
  /**
   * Of events that tell of something in the way: the events that end it, at the same leg, chain or worker, or everywhere
   * when they name none. Until then, or until a minute after the next try (`againInMs`, `until`) without a further line,
   * it is a reason for which the program is not ready.
   */
  readonly endedBy?: readonly string[];
}

/** The action for faults that are retried and pass, unless the endpoints stay bad. */
export const CHECK_ENDPOINT = "Nothing if it passes. Otherwise check the endpoint, or add another one.";

/** What happens after a check of a chain that found something which must be fixed. */
export const LEFT_OUT = "the chain is left out and checked again within a minute, the others start";

/** What happens after a fault of a light client or of its proofs. */
export const POLLED_AGAIN = "the chain is polled again, the others continue";
