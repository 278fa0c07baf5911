/** Writes the JSON of the hub's `ismp_*` and `mmr_*` methods. Integers stay numbers as long as that is exact. */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { IsmpEvent } from "../../../src/core/ismp/event.ts";
import type { GetRequest, GetResponse, PostRequest, requestCodec } from "../../../src/core/ismp/message.ts";
import { type EventWithMetadata, parseEvent, parseEventBlocks } from "../../../src/core/ismp/rpc_json.ts";
import type { CodecType } from "scale-ts";

/** An integer as JSON: a number as long as that is exact. */
export function integerToJson(value: bigint): number | bigint {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

/** Events of all blocks of an answer of `ismp_queryEventsWithMetadata`. @throws {IsmpJsonError} */
export function parseEvents(json: unknown): readonly EventWithMetadata[] {
  return [...parseEventBlocks(json).values()].flat().map(parseEvent);
}

/** Fields that have other names there. */
const NAMES: Readonly<Record<string, string>> = {
  timeoutTimestampSec: "timeoutTimestamp",
  stateMachineId: "state_machine_id",
  latestHeight: "latest_height",
  stateMachine: "state_id",
  consensusStateId: "consensus_state_id",
};

/** JSON of a request, a response or what an event holds: bytes in hex, an absent value is `""`. */
export function ismpToJson(value: PostRequest | GetRequest | GetResponse | IsmpEvent["value"]): unknown {
  return toJson(value);
}

function toJson(value: unknown): unknown {
  if (value === undefined) return "";
  if (typeof value === "bigint") return integerToJson(value);
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [NAMES[name] ?? name, toJson(field)]),
  );
}

/** JSON of a request of either kind or of an event, externally tagged. */
export function taggedToJson({ tag, value }: CodecType<typeof requestCodec> | IsmpEvent): unknown {
  return { [tag]: toJson(value) };
}
