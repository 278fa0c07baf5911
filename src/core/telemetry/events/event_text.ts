/** Descriptions of log events in the registry. */

/** Description of one event: the text of its line, and what follows from it for an operator. */
export interface EventText {
  /**
   * Text of the line, without values, without a full stop. It may change at any time. With {@link codes} every code has
   * a text of its own, and this one is the title of the row in docs/operations/logs.md.
   */
  readonly text: string;
  /** Further sentences for docs/operations/logs.md, where the text leaves something open. */
  readonly meaning?: string;
  /** What an operator does: sentences. Absent for events that only inform, which the document does not list. */
  readonly action?: string;
  /**
   * Of events that are logged as errors: what the program does next. A sentence without a full stop; error lines end
   * with it and with {@link action}.
   */
  readonly reaction?: string;
  /**
   * Of events about something that prevents work: the events that end it, at the same leg, chain or worker, or everywhere
   * when they name none. Until then, or until a minute after the next try (`againInMs`, `until`) without a further line,
   * it is a reason for which the program is not ready.
   */
  readonly endedBy?: readonly string[];
  /** Variants of the event, logged as `event.code`: the texts of their lines, or what differs from the event. */
  readonly codes?: Readonly<Record<string, string | CodeText>>;
}

/** Variant of an event with an action or reaction of its own. */
export type CodeText = Pick<EventText, "text" | "action" | "reaction">;

/** The action for faults that are retried and pass, unless the endpoints stay bad. */
export const CHECK_ENDPOINT = "Nothing if it passes. Otherwise check the endpoint, or add another one.";

/** What happens after a fault of a light client or of its proofs. */
export const POLLED_AGAIN = "the chain is polled again, the others continue";
