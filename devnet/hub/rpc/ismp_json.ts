/** Writes the JSON of the hub's `ismp_*` and `mmr_*` methods. Integers stay numbers as long as that is exact. */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { IsmpEvent } from "../../../src/core/ismp/event.ts";
import type { GetRequest, GetResponse, PostRequest, Request } from "../../../src/core/ismp/message.ts";
import {
  type EventWithMetadata,
  parseEvent,
  parseEventBlocks,
  stateMachineIdToJson,
} from "../../../src/core/ismp/rpc_json.ts";
import type { StateMachineHeight } from "../../../src/core/ismp/state_machine.ts";

/** JSON integer: a bigint if a number would lose digits. */
export type JsonInteger = number | bigint;

/** JSON with exact integers: those beyond 2^53 are bigints. */
export type JsonValue =
  | null
  | boolean
  | string
  | JsonInteger
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** An integer as JSON: a number as long as that is exact. */
export function integerToJson(value: bigint): JsonInteger {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

/** Events of all blocks of an answer of `ismp_queryEventsWithMetadata`. @throws {IsmpJsonError} */
export function parseEvents(json: unknown): readonly EventWithMetadata[] {
  return [...parseEventBlocks(json).values()].flat().map(parseEvent);
}

/** JSON of {@link StateMachineHeight}. */
function stateMachineHeightToJson(height: StateMachineHeight): JsonValue {
  return { id: stateMachineIdToJson(height.id), height: integerToJson(height.height) };
}

/** JSON of {@link PostRequest}. */
export function postRequestToJson(request: PostRequest): JsonValue {
  return {
    source: request.source,
    dest: request.dest,
    nonce: integerToJson(request.nonce),
    from: toHex(request.from),
    to: toHex(request.to),
    timeoutTimestamp: integerToJson(request.timeoutTimestampSec),
    body: toHex(request.body),
  };
}

/** JSON of {@link GetRequest}. */
export function getRequestToJson(request: GetRequest): JsonValue {
  return {
    source: request.source,
    dest: request.dest,
    nonce: integerToJson(request.nonce),
    from: toHex(request.from),
    keys: request.keys.map(toHex),
    height: integerToJson(request.height),
    context: toHex(request.context),
    timeoutTimestamp: integerToJson(request.timeoutTimestampSec),
  };
}

/** JSON of {@link GetResponse}; an absent value is `""`. */
export function getResponseToJson(response: GetResponse): JsonValue {
  return {
    get: getRequestToJson(response.get),
    values: response.values.map(({ key, value }) => ({
      key: toHex(key),
      value: value === undefined ? "" : toHex(value),
    })),
  };
}

/** JSON of a request of either kind, externally tagged. */
export function requestToJson(request: Request): JsonValue {
  return request.tag === "Post"
    ? { Post: postRequestToJson(request.value) }
    : { Get: getRequestToJson(request.value) };
}

/** JSON of an event, externally tagged. */
export function ismpEventToJson(event: IsmpEvent): JsonValue {
  return { [event.tag]: eventPayloadToJson(event) };
}

function eventPayloadToJson(event: IsmpEvent): JsonValue {
  switch (event.tag) {
    case "StateMachineUpdated": {
      const { stateMachineId, latestHeight } = event.value;
      return {
        state_machine_id: stateMachineIdToJson(stateMachineId),
        latest_height: integerToJson(latestHeight),
      };
    }
    case "StateCommitmentVetoed":
      return {
        height: stateMachineHeightToJson(event.value.height),
        fisherman: toHex(event.value.fisherman),
      };
    case "PostRequest":
      return postRequestToJson(event.value);
    case "GetRequest":
      return getRequestToJson(event.value);
    case "GetResponse":
      return getResponseToJson(event.value);
    case "PostRequestHandled":
    case "GetRequestHandled":
      return { commitment: event.value.commitment, relayer: toHex(event.value.relayer) };
    case "PostRequestTimeoutHandled":
    case "GetRequestTimeoutHandled":
      return { commitment: event.value.commitment, source: event.value.source, dest: event.value.dest };
  }
}
