/** Logging interface: four levels, an event and named values. */
import { chainEvents } from "./events/chain_events.ts";
import { endpointEvents } from "./events/endpoint_events.ts";
import type { EventText } from "./events/event_text.ts";
import { feeEvents } from "./events/fee_events.ts";
import { hubProofEvents } from "./events/hub_proof_events.ts";
import { messageEvents } from "./events/message_events.ts";
import { programEvents } from "./events/program_events.ts";
import { updateEvents } from "./events/update_events.ts";

/** In ascending order of severity. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/**
 * `error`: needs the operator, or lost an opportunity. `warn`: degraded, recovers by itself. `info`: state changes,
 * amounts, waits. `debug`: decisions per message. Source: docs/protocol/messaging.md section 19.1.
 */
export type LogLevel = typeof logLevels[number];

/**
 * Named values of a line. `leg` (see `legText`) or `chain` name the place; `error` takes a caught error;
 * `explanation` is a sentence of this program for people, which continues the event's text. Bigints, bytes and errors
 * are fine; texts that may contain secrets are not.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** Log. Never throws. */
export interface Log {
  debug(event: EventCode, fields?: LogFields): void;
  info(event: EventCode, fields?: LogFields): void;
  warn(event: EventCode, fields?: LogFields): void;
  error(event: EventCode, fields?: LogFields): void;
  /** Returns a log that adds `fields` to every line. */
  with(fields: LogFields): Log;
}

/** Events by area, in the order of the documents. */
export const eventAreas = {
  "Program": programEvents,
  "Endpoints": endpointEvents,
  "Chains, hosts and light clients": chainEvents,
  "Updates of light clients": updateEvents,
  "Consensus proofs of the hub": hubProofEvents,
  "Messages": messageEvents,
  "Fees": feeEvents,
} as const satisfies Record<string, Record<string, EventText>>;

type CodesIn<Area> = {
  [E in keyof Area & string]: Area[E] extends { readonly codes: infer C } ? `${E}.${keyof C & string}` : E;
}[keyof Area & string];

/** Event as it is logged, with its code where it has several: `batch_sent`, `host_unusable.frozen`. */
export type EventCode = { [A in keyof typeof eventAreas]: CodesIn<typeof eventAreas[A]> }[
  keyof typeof eventAreas
];

/** Event about a wait. */
export type WaitEvent = Extract<EventCode, `long_wait.${string}`>;

/** Description of an event with one code: the texts of the code replace those of the event. */
export interface EventDescription extends Omit<EventText, "codes"> {
  /** Field `event` of the line. */
  readonly event: string;
  /** Field `code` of the line; absent: the event has only one meaning. */
  readonly code?: string;
}

/** Description of each event as it is logged. */
export const events = Object.fromEntries(
  Object.values(eventAreas).flatMap(Object.entries<EventText>).flatMap(([event, { codes, ...own }]) =>
    codes === undefined ? [[event, { event, ...own }]] : Object.entries(codes).map(([code, text]) => [
      `${event}.${code}`,
      { ...own, ...typeof text === "string" ? { text } : text, event, code },
    ])
  ),
) as Readonly<Record<EventCode, EventDescription>>;
