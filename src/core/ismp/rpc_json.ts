/**
 * Reads and writes the JSON of the hub's `ismp_*` and `mmr_*` methods.
 * Bytes inside requests and events are 0x hex; `proof`, `keys` and consensus states are arrays of numbers.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc, modules/ismp/core/src (serde), modules/utils/serde.
 */
import * as z from "zod";
import { fromHex, type Hash256, toHash256 } from "../encoding/bytes.ts";
import type { IsmpEvent } from "./event.ts";
import type { GetRequest, PostRequest, StorageValue } from "./message.ts";
import type { ProofKeys } from "./proof.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  type StateMachineHeight,
  type StateMachineId,
  toConsensusStateId,
} from "./state_machine.ts";

/** JSON that does not have the shape of the named type. */
export class IsmpJsonError extends Error {
  override readonly name = "IsmpJsonError";
  constructor(
    readonly typeName: string,
    /** Path of the first field that does not fit, e.g. `PostRequest.nonce`; empty for the whole; or the unknown kind. */
    readonly field: string,
    options?: ErrorOptions,
    /** `unknown_kind`: an event or a request of a kind that this program does not know. */
    readonly code: "malformed_json" | "unknown_kind" = "malformed_json",
  ) {
    super(`JSON ${typeName}: malformed${field === "" ? "" : ` at ${field}`}`, options);
  }
}

function parse<T>(schema: z.ZodType<T>, json: unknown, typeName: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new IsmpJsonError(typeName, (issue?.path ?? []).join("."), { cause: parsed.error });
}

/** Schema whose conversion may throw: the thrown error becomes an issue at this place. */
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
  z.object({ state_id: stateMachine, consensus_state_id: consensusStateId }),
  (id): StateMachineId => ({ stateMachine: id.state_id, consensusStateId: id.consensus_state_id }),
);

const stateMachineHeightSchema: z.ZodType<StateMachineHeight> = z.object({
  id: stateMachineIdSchema,
  height: u64,
});

const requestFields = {
  source: stateMachine,
  dest: stateMachine,
  nonce: u64,
  from: hexBytes,
  timeoutTimestamp: u64,
};

/** `""` stands for an absent value; an empty one (`"0x"`) cannot be told from it and reads as absent. */
const presentOrAbsent = converted(
  z.string().regex(/^(0x.*)?$/),
  (text): Uint8Array | undefined => text === "" || text === "0x" ? undefined : fromHex(text),
);

const storageValueSchema: z.ZodType<StorageValue> = z.object({ key: hexBytes, value: presentOrAbsent });

/** How an event is read, and which fields of it are known: a newer node may send more. */
interface EventShape<Value> {
  readonly schema: z.ZodType<Value>;
  readonly fields: readonly string[];
}

function shapeOf<Fields extends z.ZodRawShape, Value>(
  fields: Fields,
  convert: (value: z.output<z.ZodObject<Fields>>) => Value,
): EventShape<Value> {
  return { schema: converted(z.object(fields), convert), fields: Object.keys(fields) };
}

const asItIs = <Value>(value: Value): Value => value;

const post = shapeOf(
  { ...requestFields, to: hexBytes, body: hexBytes },
  ({ timeoutTimestamp, ...rest }): PostRequest => ({ ...rest, timeoutTimestampSec: timeoutTimestamp }),
);
const get = shapeOf(
  { ...requestFields, keys: z.array(hexBytes), height: u64, context: hexBytes },
  ({ timeoutTimestamp, ...rest }): GetRequest => ({ ...rest, timeoutTimestampSec: timeoutTimestamp }),
);
const handled = shapeOf({ commitment: hash, relayer: hexBytes }, asItIs);
const timeoutHandled = shapeOf({ commitment: hash, source: stateMachine, dest: stateMachine }, asItIs);

const eventShapes: {
  readonly [Tag in IsmpEvent["tag"]]: EventShape<Extract<IsmpEvent, { readonly tag: Tag }>["value"]>;
} = {
  StateMachineUpdated: shapeOf(
    { state_machine_id: stateMachineIdSchema, latest_height: u64 },
    (value) => ({ stateMachineId: value.state_machine_id, latestHeight: value.latest_height }),
  ),
  StateCommitmentVetoed: shapeOf({ height: stateMachineHeightSchema, fisherman: hexBytes }, asItIs),
  PostRequest: post,
  GetRequest: get,
  GetResponse: shapeOf({ get: get.schema, values: z.array(storageValueSchema) }, asItIs),
  PostRequestHandled: handled,
  GetRequestHandled: handled,
  PostRequestTimeoutHandled: timeoutHandled,
  GetRequestTimeoutHandled: timeoutHandled,
};

/** An externally tagged variant: an object with one field, the tag. */
const taggedSchema = z.record(z.string(), z.unknown());

function readTagged(json: unknown, typeName: string): readonly [tag: string, payload: unknown] {
  const entries = Object.entries(parse(taggedSchema, json, typeName));
  const [first] = entries;
  if (first === undefined || entries.length !== 1) throw new IsmpJsonError(typeName, "");
  return first;
}

function isEventTag(tag: string): tag is IsmpEvent["tag"] {
  return Object.hasOwn(eventShapes, tag);
}

/**
 * An event of `ismp_queryEvents`; fields that are not known are skipped.
 * @throws {IsmpJsonError} naming the first field that does not fit.
 */
export function parseIsmpEvent(json: unknown): IsmpEvent {
  const [tag] = readTagged(json, "Event");
  if (!isEventTag(tag)) throw new IsmpJsonError("Event", tag.slice(0, 64), {}, "unknown_kind");
  const { [tag]: value } = parse<Record<string, unknown>>(
    z.object({ [tag]: eventShapes[tag].schema }),
    json,
    "Event",
  );
  // The table has the value of each tag.
  return { tag, value } as IsmpEvent;
}

/** A number answer such as a height or a time. @throws {IsmpJsonError} */
export function parseU64(json: unknown, typeName: string): bigint {
  return parse(u64, json, typeName);
}

const proofAnswerSchema = z.object({ proof: byteArray });

/**
 * SCALE of the proof in an answer of `ismp_queryStateProof`, `ismp_queryChildTrieProof` or `mmr_queryProof`.
 * @throws {IsmpJsonError}
 */
export function parseProofAnswer(json: unknown): Uint8Array {
  return parse(proofAnswerSchema, json, "Proof").proof;
}

/** One event of an answer: the event, or the reason why it cannot be read. */
export type DecodedEvent =
  | {
    readonly kind: "event";
    readonly event: IsmpEvent;
    /** Names of fields that this program does not know; absent: there are none. */
    readonly unknownFields?: readonly string[];
  }
  | { readonly kind: "undecodable"; readonly error: IsmpJsonError };

/**
 * One element of an answer of `ismp_queryRequests`, as the event of its dispatch; never throws for what a request may
 * contain.
 */
export function parseDispatchedRequest(json: unknown): DecodedEvent {
  return decoding(() => {
    const [tag, payload] = readTagged(json, "Request");
    return { [`${tag}Request`]: payload };
  });
}

/** As {@link parseDispatchedRequest}, of `ismp_queryResponses`. */
export function parseDispatchedResponse(json: unknown): DecodedEvent {
  return decoding(() => ({ GetResponse: json }));
}

/** Reads one event; never throws for what an event may contain. */
function decoding(find: () => unknown): DecodedEvent {
  try {
    const json = find();
    const event = parseIsmpEvent(json);
    const { fields } = eventShapes[event.tag];
    const unknownFields = Object.keys(Object(Object(json)[event.tag])).filter((name) =>
      !fields.includes(name)
    );
    return { kind: "event", event, ...unknownFields.length > 0 && { unknownFields } };
  } catch (error) {
    if (error instanceof IsmpJsonError) return { kind: "undecodable", error };
    throw error;
  }
}

const blockMap = z.record(z.string(), z.array(z.unknown()));

/** Position of an event. */
export interface EventMetadata {
  readonly blockHash: Hash256;
  readonly transactionHash: Hash256;
  readonly blockNumber: bigint;
}

/** Event with its position. */
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

/**
 * Answer of `ismp_queryEventsWithMetadata`, with events as they came: one by one {@link parseEvent} reads them.
 * @throws {IsmpJsonError} when the answer itself has another shape.
 */
export function parseEventBlocks(json: unknown): ReadonlyMap<Hash256, readonly unknown[]> {
  const blocks = Object.entries(parse(blockMap, json, "EventsWithMetadata"));
  return new Map(
    blocks.map(([block, events]) => [parse(hash, block, "EventsWithMetadata"), events]),
  );
}

/** One event of an answer with its position. @throws {IsmpJsonError} when it has another shape. */
export function parseEvent(json: unknown): EventWithMetadata {
  const { meta, event } = parse(withMetadata, json, "EventsWithMetadata");
  return { meta, decoded: decoding(() => event) };
}

/** Second parameter of `mmr_queryProof`. */
export function proofKeysToJson(keys: ProofKeys): Readonly<Record<string, readonly Hash256[]>> {
  return { [keys.tag]: keys.value };
}

/** Raw bytes in the form of the custom methods: an array of numbers, never hex. */
export function byteArrayToJson(bytes: Uint8Array): readonly number[] {
  return [...bytes];
}

/** JSON of {@link StateMachineId}. */
export function stateMachineIdToJson(
  id: StateMachineId,
): { readonly state_id: StateMachine; readonly consensus_state_id: ConsensusStateId } {
  return { state_id: id.stateMachine, consensus_state_id: id.consensusStateId };
}
