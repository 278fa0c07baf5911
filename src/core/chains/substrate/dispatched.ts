/** Messages that a Substrate chain dispatched, as its own counter and its events show them. Pure. */
import type { Hash256 } from "../../encoding/bytes.ts";
import { getMessage, getResponseMessage, postMessage } from "../../ismp/commitment.ts";
import type { IsmpEvent } from "../../ismp/event.ts";
import type { Message } from "../../ismp/message.ts";
import type { DecodedEvent, EventWithMetadata } from "../../ismp/rpc_json.ts";
import { ismpKeys, mmrKeys } from "../../ismp/storage_keys.ts";
import type { SubstrateNode } from "./node.ts";

/**
 * Storage key of the chain's counter of dispatched messages: leaves of the MMR on the hub, the nonce elsewhere (only
 * the hub routes requests of others). It never falls.
 */
export function counterOf({ isHub }: Pick<SubstrateNode, "isHub">): Uint8Array {
  return isHub ? mmrKeys.numberOfLeaves() : ismpKeys.nonce();
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
