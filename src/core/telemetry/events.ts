/**
 * All log events: stable code and description. A code never changes its meaning; texts may change at any time, so
 * programs and tests use codes only. docs/operations/logs.md is generated from this file (`deno task docs:events`).
 */
import { chainEvents } from "./events/chain_events.ts";
import { endpointEvents } from "./events/endpoint_events.ts";
import type { EventText } from "./events/event_text.ts";
import { feeEvents } from "./events/fee_events.ts";
import { hubProofEvents } from "./events/hub_proof_events.ts";
import { messageEvents } from "./events/message_events.ts";
import { programEvents } from "./events/program_events.ts";
import { updateEvents } from "./events/update_events.ts";
import { waitEvents } from "./events/wait_events.ts";

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
