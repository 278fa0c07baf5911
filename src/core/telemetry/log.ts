/** Logging interface: four levels, an event and named values. */
import { chainEvents } from "./events/chain_events.ts";
import { endpointEvents } from "./events/endpoint_events.ts";
import type { EventText } from "./events/event_text.ts";
import { feeEvents } from "./events/fee_events.ts";
import { hubProofEvents } from "./events/hub_proof_events.ts";
import { messageEvents } from "./events/message_events.ts";
import { programEvents } from "./events/program_events.ts";
import { updateEvents } from "./events/update_events.ts";
import { waitEvents } from "./events/wait_events.ts";
import type { WorkProgress } from "./progress.ts";

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
  /** Shows the progress of long work to people at a terminal; absent where nobody watches. */
  readonly progress?: ((progress: WorkProgress) => void) | undefined;
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
  "Waits": waitEvents,
} as const satisfies Record<string, Record<string, EventText>>;

const declared = {
  ...programEvents,
  ...endpointEvents,
  ...chainEvents,
  ...updateEvents,
  ...hubProofEvents,
  ...messageEvents,
  ...feeEvents,
  ...waitEvents,
} as const;

/** Code of an event, e.g. `message_delivered`. */
export type EventCode = keyof typeof declared;

/** Code of an event about a wait. */
export type WaitEvent = keyof typeof waitEvents;

/** Description of each event by its code. */
export const events: Readonly<Record<EventCode, EventText>> = declared;
