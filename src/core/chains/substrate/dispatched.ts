/** Messages that a Substrate chain dispatched, as its own counter and its events show them. Pure. */
import type { Hash256 } from "../../encoding/bytes.ts";
import { getMessage, getResponseMessage, type Message, postMessage } from "../../ismp/message.ts";
import type { IsmpEvent } from "../../ismp/event.ts";
import type { DecodedEvent, EventWithMetadata } from "../../ismp/rpc_json.ts";
import { ismpKeys, mmrKeys, type Stored } from "../../ismp/storage_keys.ts";
import type { SubstrateNode } from "./node.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Sightings } from "../../runtime/refreshed.ts";

/**
 * The chain's counter of dispatched messages: leaves of the MMR on the hub, the nonce elsewhere (only
 * the hub routes requests of others). It never falls.
 */
export function counterOf({ isHub }: Pick<SubstrateNode, "isHub">): Stored<bigint> {
  return isHub ? mmrKeys.numberOfLeaves.of() : ismpKeys.nonce.of();
}

/** Event of a message's dispatch. */
type DispatchEvent = Extract<IsmpEvent, { readonly tag: "PostRequest" | "GetRequest" | "GetResponse" }>;

function isDispatch(event: IsmpEvent): event is DispatchEvent {
  return event.tag === "PostRequest" || event.tag === "GetRequest" || event.tag === "GetResponse";
}

/** True for events that the counter counts; one that cannot be read is one, too: its body is there. */
export function isDispatched({ decoded }: EventWithMetadata): boolean {
  return decoded.kind === "undecodable" || isDispatch(decoded.event);
}

/** Message that was dispatched, with its commitment. */
export function messageOf(event: DispatchEvent): Message {
  switch (event.tag) {
    case "PostRequest":
      return postMessage(event.value);
    case "GetRequest":
      return getMessage(event.value);
    case "GetResponse":
      return getResponseMessage(event.value);
  }
}

/** Commitment of the message that was dispatched; `undefined` for other events, and for what cannot be read. */
export function dispatchedCommitment(decoded: DecodedEvent): Hash256 | undefined {
  if (decoded.kind === "undecodable" || !isDispatch(decoded.event)) return undefined;
  return messageOf(decoded.event).commitment;
}

/** Time for which a block with missing messages is requested again, ms. */
const PATIENCE_MS = 10 * 60_000;

/** Blocks whose messages one chain's node lacks. */
export class MissingMessages {
  readonly #asked: Sightings;
  /** Latest skipped block without a later complete one that has messages. */
  #passed: bigint | undefined;

  constructor(clock: Pick<Clock, "now">) {
    this.#asked = new Sightings(clock);
  }

  /**
   * True when the block was requested for long enough. Blocks after a skipped one are not waited for: the node lacks
   * a whole range.
   */
  mayPass(block: bigint): boolean {
    const ageMs = this.#asked.ageMs(String(block));
    const isStretch = this.#passed !== undefined && block >= this.#passed;
    if (!isStretch && ageMs < PATIENCE_MS) return false;
    this.#passed = block;
    return true;
  }

  /** Records that blocks from `from` on with messages were complete. */
  noteComplete(from: bigint): void {
    if (this.#passed !== undefined && from > this.#passed) this.#passed = undefined;
  }
}
