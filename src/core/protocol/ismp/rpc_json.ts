/**
 * JSON of the hub's `ismp_*` and `mmr_*` methods, both ways.
 * Bytes inside requests and events are 0x hex; `proof`, `keys` and consensus states are arrays of numbers.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc, modules/ismp/core/src (serde), modules/utils/serde.
 */
import { z } from "zod";
import { fromHex, type Hash256, toHash256, toHex } from "../bytes.ts";
import type { IsmpEvent } from "./event.ts";
import type { GetRequest, GetResponse, PostRequest, StorageValue } from "./message.ts";
import type { ProofKeys } from "./proof.ts";
import type { Request } from "./request.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  type StateMachineHeight,
  type StateMachineId,
  toConsensusStateId,
} from "./state_machine.ts";

/** A JSON integer: a bigint where a number would lose digits. */
export type JsonInteger = number | bigint;

/** JSON as this program writes and reads it: integers beyond 2^53 are bigints. */
export type JsonValue =
  | null
  | boolean
  | string
  | JsonInteger
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** JSON that has not the shape of the named type. */
export class IsmpJsonError extends Error {
  override readonly name = "IsmpJsonError";
  readonly code = "malformed_json";
  constructor(
    readonly typeName: string,
    /** Path of the first field that does not fit, e.g. `PostRequest.nonce`; empty for the whole. */
    readonly field: string,
    options?: ErrorOptions,
  ) {
    super(`JSON ${typeName}: malformed${field === "" ? "" : ` at ${field}`}`, options);
  }
}

function parse<T>(schema: z.ZodType<T>, json: unknown, typeName: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new IsmpJsonError(typeName, issue?.path.join(".") ?? "", { cause: parsed.error });
}

/** A schema whose conversion may throw: the thrown error becomes an issue at this place. */
function converted<In, Out>(schema: z.ZodType<In>, convert: (value: In) => Out): z.ZodType<Out> {
  return schema.transform((value, context) => {
    try {
      return convert(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: error instanceof Error ? error.message : "invalid" });
      return z.NEVER;
    }
  });
}

const u64 = converted(z.union([z.number(), z.bigint()]), (value) => {
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new RangeError("Inexact integer");
  const integer = BigInt(value);
  if (integer < 0n || integer >> 64n !== 0n) throw new RangeError("Outside of u64");
  return integer;
});

const hexBytes = converted(z.string().startsWith("0x"), fromHex);
const hash = converted(z.string().startsWith("0x"), (text) => toHash256(text));
const stateMachine = converted(z.string(), parseStateMachine);
const consensusStateId = converted(z.string(), toConsensusStateId);
const byteArray = z.union([
  z.array(z.int().min(0).max(255)).transform((numbers) => Uint8Array.from(numbers)),
  hexBytes,
]);

const stateMachineIdSchema = converted(
  z.strictObject({ state_id: stateMachine, consensus_state_id: consensusStateId }),
  (id): StateMachineId => ({ stateMachine: id.state_id, consensusStateId: id.consensus_state_id }),
);

const stateMachineHeightSchema: z.ZodType<StateMachineHeight> = z.strictObject({
  id: stateMachineIdSchema,
  height: u64,
});

const postSchema = converted(
  z.strictObject({
    source: stateMachine,
    dest: stateMachine,
    nonce: u64,
    from: hexBytes,
    to: hexBytes,
    timeoutTimestamp: u64,
    body: hexBytes,
  }),
  ({ timeoutTimestamp, ...rest }): PostRequest => ({ ...rest, timeoutTimestampSec: timeoutTimestamp }),
);

const getSchema = converted(
  z.strictObject({
    source: stateMachine,
    dest: stateMachine,
    nonce: u64,
    from: hexBytes,
    keys: z.array(hexBytes),
    height: u64,
    context: hexBytes,
    timeoutTimestamp: u64,
  }),
  ({ timeoutTimestamp, ...rest }): GetRequest => ({ ...rest, timeoutTimestampSec: timeoutTimestamp }),
);

/** `""` stands for an absent value; an empty one (`"0x"`) cannot be told from it and reads as absent. */
const presentOrAbsent = converted(
  z.string().regex(/^(0x.*)?$/),
  (text): Uint8Array | undefined => text === "" || text === "0x" ? undefined : fromHex(text),
);

const storageValueSchema: z.ZodType<StorageValue> = z.strictObject({ key: hexBytes, value: presentOrAbsent });

const responseSchema: z.ZodType<GetResponse> = z.strictObject({
  get: getSchema,
  values: z.array(storageValueSchema),
});

const handledSchema = z.strictObject({ commitment: hash, relayer: hexBytes });
const timeoutSchema = z.strictObject({ commitment: hash, source: stateMachine, dest: stateMachine });
const updatedSchema = converted(
  z.strictObject({ state_machine_id: stateMachineIdSchema, latest_height: u64 }),
  (value) => ({ stateMachineId: value.state_machine_id, latestHeight: value.latest_height }),
);
const vetoedSchema = z.strictObject({ height: stateMachineHeightSchema, fisherman: hexBytes });

/** An externally tagged variant: an object with one field, the tag. */
const taggedSchema = z.record(z.string(), z.unknown());

function readTagged(json: unknown, typeName: string): readonly [tag: string, payload: unknown] {
  const entries = Object.entries(parse(taggedSchema, json, typeName));
  const [first] = entries;
  if (first === undefined || entries.length !== 1) throw new IsmpJsonError(typeName, "");
  return first;
}

/** Keeps the tag in the path of the field. */
function within<T>(schema: z.ZodType<T>, tag: string, payload: unknown, typeName: string): T {
  return parse(z.object({ [tag]: schema }), { [tag]: payload }, typeName)[tag] ?? unreachable(typeName);
}

function unreachable(typeName: string): never {
  throw new IsmpJsonError(typeName, "");
}

/** An event of `ismp_queryEvents`. @throws {IsmpJsonError} naming the first field that does not fit. */
export function parseIsmpEvent(json: unknown): IsmpEvent {
  const typeName = "Event";
  const [tag, payload] = readTagged(json, typeName);
  switch (tag) {
    case "StateMachineUpdated":
      return { tag, value: within(updatedSchema, tag, payload, typeName) };
    case "StateCommitmentVetoed":
      return { tag, value: within(vetoedSchema, tag, payload, typeName) };
    case "PostRequest":
      return { tag, value: within(postSchema, tag, payload, typeName) };
    case "GetRequest":
      return { tag, value: within(getSchema, tag, payload, typeName) };
    case "GetResponse":
      return { tag, value: within(responseSchema, tag, payload, typeName) };
    case "PostRequestHandled":
    case "GetRequestHandled":
      return { tag, value: within(handledSchema, tag, payload, typeName) };
    case "PostRequestTimeoutHandled":
    case "GetRequestTimeoutHandled":
      return { tag, value: within(timeoutSchema, tag, payload, typeName) };
    default:
      throw new IsmpJsonError(typeName, tag.slice(0, 64));
  }
}

/** A request of `ismp_queryRequests`. @throws {IsmpJsonError} */
export function parseRequest(json: unknown): Request {
  const [tag, payload] = readTagged(json, "Request");
  if (tag === "Post") return { tag, value: within(postSchema, tag, payload, "Request") };
  if (tag === "Get") return { tag, value: within(getSchema, tag, payload, "Request") };
  throw new IsmpJsonError("Request", tag.slice(0, 64));
}

/** A response of `ismp_queryResponses`. @throws {IsmpJsonError} */
export function parseGetResponse(json: unknown): GetResponse {
  return parse(responseSchema, json, "GetResponse");
}

/** Reads {@link stateMachineIdToJson}. @throws {IsmpJsonError} */
export function parseStateMachineId(json: unknown): StateMachineId {
  return parse(stateMachineIdSchema, json, "StateMachineId");
}

/** Reads {@link stateMachineHeightToJson}. @throws {IsmpJsonError} */
export function parseStateMachineHeight(json: unknown): StateMachineHeight {
  return parse(stateMachineHeightSchema, json, "StateMachineHeight");
}

/** A number answer such as a height or a time. @throws {IsmpJsonError} */
export function parseU64(json: unknown, typeName: string): bigint {
  return parse(u64, json, typeName);
}

/** Raw bytes as an array of numbers; 0x hex is accepted too, for gateways. @throws {IsmpJsonError} */
export function parseByteArray(json: unknown, typeName: string): Uint8Array {
  return parse(byteArray, json, typeName);
}

/** Answer of `ismp_queryStateProof`, `ismp_queryChildTrieProof` and `mmr_queryProof`; `proof` is SCALE. */
export interface ProofAnswer {
  readonly proof: Uint8Array;
  readonly height: bigint;
}

/** Reads {@link proofAnswerToJson}; `proof` may also be hex. @throws {IsmpJsonError} */
export function parseProofAnswer(json: unknown): ProofAnswer {
  return parse(z.object({ proof: byteArray, height: u64 }), json, "Proof");
}

/** One event of an answer: the event, or why it cannot be read. */
export type DecodedEvent =
  | { readonly kind: "event"; readonly event: IsmpEvent }
  | { readonly kind: "undecodable"; readonly error: IsmpJsonError };

/** Reads one event; never throws for what an event may contain. */
export function decodeIsmpEvent(json: unknown): DecodedEvent {
  try {
    return { kind: "event", event: parseIsmpEvent(json) };
  } catch (error) {
    if (error instanceof IsmpJsonError) return { kind: "undecodable", error };
    throw error;
  }
}

const blockMap = z.record(z.string(), z.array(z.unknown()));

/**
 * Answer of `ismp_queryEvents`: events by block hash, in the answer's order (which is not the chain's).
 * @throws {IsmpJsonError} when the answer itself has another shape.
 */
export function parseEventsByBlock(json: unknown): ReadonlyMap<Hash256, readonly DecodedEvent[]> {
  const blocks = Object.entries(parse(blockMap, json, "Events"));
  return new Map(
    blocks.map(([block, events]) => [parse(hash, block, "Events"), events.map(decodeIsmpEvent)]),
  );
}

/** Where an event happened. */
export interface EventMetadata {
  readonly blockHash: Hash256;
  readonly transactionHash: Hash256;
  readonly blockNumber: bigint;
}

/** An event with its place. */
export interface EventWithMetadata {
  readonly meta: EventMetadata;
  readonly decoded: DecodedEvent;
}

const withMetadata = z.object({
  meta: converted(
    z.object({ block_hash: hash, transaction_hash: hash, block_number: u64 }),
    (meta): EventMetadata => ({
      blockHash: meta.block_hash,
      transactionHash: meta.transaction_hash,
      blockNumber: meta.block_number,
    }),
  ),
  event: z.unknown(),
});

/** Answer of `ismp_queryEventsWithMetadata`. @throws {IsmpJsonError} when the answer itself has another shape. */
export function parseEventsWithMetadata(json: unknown): ReadonlyMap<Hash256, readonly EventWithMetadata[]> {
  const blocks = Object.entries(parse(blockMap, json, "EventsWithMetadata"));
  return new Map(blocks.map(([block, events]) => [
    parse(hash, block, "EventsWithMetadata"),
    events.map((item) => {
      const { meta, event } = parse(withMetadata, item, "EventsWithMetadata");
      return { meta, decoded: decodeIsmpEvent(event) };
    }),
  ]));
}

/** Parameter of `ismp_queryRequests` and `ismp_queryResponses`: one array of objects. */
export function commitmentQueryToJson(
  commitments: readonly Hash256[],
): readonly { readonly commitment: Hash256 }[] {
  return commitments.map((commitment) => ({ commitment }));
}

/** Reads {@link commitmentQueryToJson}. @throws {IsmpJsonError} */
export function parseCommitmentQuery(json: unknown): readonly Hash256[] {
  return parse(z.array(z.object({ commitment: hash })), json, "LeafIndexQuery").map((query) =>
    query.commitment
  );
}

/** Second parameter of `mmr_queryProof`. */
export function proofKeysToJson(keys: ProofKeys): Readonly<Record<string, readonly Hash256[]>> {
  return { [keys.tag]: keys.value };
}

/** Reads {@link proofKeysToJson}. @throws {IsmpJsonError} */
export function parseProofKeys(json: unknown): ProofKeys {
  const [tag, payload] = readTagged(json, "ProofKeys");
  if (tag !== "Requests" && tag !== "Responses") throw new IsmpJsonError("ProofKeys", tag.slice(0, 64));
  return { tag, value: within(z.array(hash), tag, payload, "ProofKeys") };
}

/** Raw bytes as the custom methods want them: an array of numbers, never hex. */
export function byteArrayToJson(bytes: Uint8Array): readonly number[] {
  return [...bytes];
}

/** A bare consensus state id as a parameter: four numbers. */
export function consensusStateIdToNumbers(id: ConsensusStateId): readonly number[] {
  return byteArrayToJson(new TextEncoder().encode(id));
}

/** An integer as JSON: a number as long as that is exact. */
export function integerToJson(value: bigint): JsonInteger {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

/** JSON of {@link StateMachineId}. */
export function stateMachineIdToJson(
  id: StateMachineId,
): { readonly state_id: StateMachine; readonly consensus_state_id: ConsensusStateId } {
  return { state_id: id.stateMachine, consensus_state_id: id.consensusStateId };
}

/** JSON of {@link StateMachineHeight}. */
export function stateMachineHeightToJson(height: StateMachineHeight): JsonValue {
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

/** JSON of {@link ProofAnswer}. */
export function proofAnswerToJson(answer: ProofAnswer): JsonValue {
  return { proof: byteArrayToJson(answer.proof), height: integerToJson(answer.height) };
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
