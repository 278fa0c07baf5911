/** Messages that a Substrate chain dispatched, as its own counter and its events show them. Pure. */
import type { EventWithMetadata } from "../../ismp/rpc_json.ts";
import { ismpKeys, mmrKeys } from "../../ismp/storage_keys.ts";
import type { SubstrateNode } from "./node.ts";

/**
 * Storage key of the chain's counter of dispatched messages: leaves of the MMR on the hub, the nonce elsewhere (only
 * the hub routes requests of others). It never falls.
 */
export function counterOf({ isHub }: Pick<SubstrateNode, "isHub">): Uint8Array {
  return isHub ? mmrKeys.numberOfLeaves() : ismpKeys.nonce();
}

/** True for events that the counter counts; one that cannot be read is one, too: its body is there. */
export function isDispatched({ decoded }: EventWithMetadata): boolean {
  if (decoded.kind === "undecodable") return true;
  const { tag } = decoded.event;
  return tag === "PostRequest" || tag === "GetRequest" || tag === "GetResponse";
}
