/**
 * Events of one block as its state holds them, for a block whose events are more than the node answers with at once
 * (`--rpc-max-response-size`): `System.Events` has the commitments of the messages, whose bodies are fetched in parts. Source:
 * polytope-labs/hyperbridge: modules/pallets/ismp/src/lib.rs (`Event`), modules/pallets/ismp/rpc/src/lib.rs.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import { type Codec, hash256, ScaleError, Struct, u64 } from "../../encoding/scale.ts";
import {
  type IsmpEvent,
  messageHandledCodec,
  stateCommitmentVetoedCodec,
  stateMachineUpdatedCodec,
  timeoutHandledCodec,
} from "../../ismp/event.ts";
import { type DecodedEvent, IsmpJsonError } from "../../ismp/rpc_json.ts";
import { stateMachineCodec } from "../../ismp/state_machine.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { RpcFault } from "../../rpc/call.ts";
import { calls, type TypedCall } from "../../rpc/substrate_calls.ts";
import { dispatchedCommitment } from "./dispatched.ts";
import type { RuntimeEvent } from "./event_records.ts";
import { ismpCalls } from "./ismp_calls.ts";
import { readKnown, type SubstrateNode } from "./node.ts";
import { type Runtime, RuntimeFault } from "./runtime.ts";

/** Bodies asked for at once. */
const BODIES_PER_QUERY = 100;

const dispatched = { dest: stateMachineCodec, source: stateMachineCodec, nonce: u64, commitment: hash256 };
/** Fields of `Ismp.Request`. */
const requestCodec = Struct(dispatched);
/** Fields of `Ismp.Response`; `commitment` is its own. */
const responseCodec = Struct({ ...dispatched, requestCommitment: hash256 });

function isHash(commitment: Hash256 | DecodedEvent): commitment is Hash256 {
  return typeof commitment === "string";
}

/** A call that returns bodies by commitment. */
type BodyCall = (commitments: readonly Hash256[]) => TypedCall<readonly DecodedEvent[]>;

/** Reads the events of single blocks from their states. */
export class StoredEvents {
  readonly #node: SubstrateNode;
  readonly #reader: BlockEventReader;

  constructor(node: SubstrateNode) {
    this.#node = node;
    this.#reader = new BlockEventReader(node);
  }

  /**
   * Fetches the ISMP events of a block in order. Those of messages whose bodies the node lacks are missing; bodies that
   * cannot be read come last.
   * @throws {RpcFault} `too_large` when even `System.Events`, or one body, is more than the node answers with; `pruned`
   * without the state of the block.
   */
  async fetchEvents(
    block: { readonly height: bigint; readonly hash: Hash256; readonly parent: Hash256 },
    signal: AbortSignal,
  ): Promise<readonly DecodedEvent[]> {
    const { height } = block;
    const events = (await this.#reader.fetch(block, signal)).events.filter(({ pallet }) => pallet === "Ismp");
    const requests = this.#readCommitments(events, "Request", requestCodec);
    const responses = this.#readCommitments(events, "Response", responseCodec);
    const bodies = [
      ...await this.#fetchBodies(ismpCalls.requests, [...requests.values()].filter(isHash), signal),
      ...await this.#fetchBodies(ismpCalls.responses, [...responses.values()].filter(isHash), signal),
    ];
    const byCommitment = new Map(
      bodies.flatMap((body) => {
        const commitment = dispatchedCommitment(body);
        return commitment === undefined ? [] : [[commitment, body] as const];
      }),
    );
    const found = events.flatMap((event) => {
      const commitment = requests.get(event) ?? responses.get(event);
      const decoded = commitment === undefined
        ? this.#readEvent(event, height)
        : isHash(commitment)
        ? byCommitment.get(commitment)
        : commitment;
      return decoded === undefined ? [] : [decoded];
    });
    return [...found, ...bodies.filter(({ kind }) => kind === "undecodable")];
  }

  /** Commitments of dispatched messages; one that cannot be read does not hold up the others. */
  #readCommitments<T extends { readonly commitment: Hash256 }>(
    events: readonly RuntimeEvent[],
    name: string,
    codec: Codec<T>,
  ): ReadonlyMap<RuntimeEvent, Hash256 | DecodedEvent> {
    const read = (event: RuntimeEvent): Hash256 | DecodedEvent => {
      try {
        return readKnown(this.#node, codec, event.fields, `event Ismp.${name}`).commitment;
      } catch (cause) {
        if (!(cause instanceof ScaleError)) throw cause;
        return { kind: "undecodable", error: new IsmpJsonError("System.Events", name, { cause }) };
      }
    };
    return new Map(events.filter((event) => event.name === name).map((event) => [event, read(event)]));
  }

  /** Fetches bodies in parts; one that is too large is split. */
  async #fetchBodies(
    call: BodyCall,
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly DecodedEvent[]> {
    const bodies: DecodedEvent[] = [];
    let size = BODIES_PER_QUERY;
    for (let start = 0; start < commitments.length;) {
      const part = commitments.slice(start, start + size);
      try {
        bodies.push(...await this.#node.client.call(call(part), signal));
        start += part.length;
      } catch (fault) {
        if (!(fault instanceof RpcFault) || fault.code !== "too_large" || part.length === 1) throw fault;
        size = Math.ceil(part.length / 2);
      }
    }
    return bodies;
  }

  #readEvent(event: RuntimeEvent, height: bigint): DecodedEvent | undefined {
    const read = <T>(codec: Codec<T>, toEvent: (value: T) => IsmpEvent): DecodedEvent | undefined => {
      const value = this.#reader.readFields(event, codec, height);
      return value === undefined ? undefined : { kind: "event", event: toEvent(value) };
    };
    const { name } = event;
    switch (name) {
      case "StateMachineUpdated":
        return read(stateMachineUpdatedCodec, (value) => ({ tag: name, value }));
      case "StateCommitmentVetoed":
        return read(stateCommitmentVetoedCodec, (value) => ({ tag: name, value }));
      case "PostRequestHandled":
      case "GetRequestHandled":
        return read(messageHandledCodec, (value) => ({ tag: name, value }));
      case "PostRequestTimeoutHandled":
      case "GetRequestTimeoutHandled":
        return read(timeoutHandledCodec, (value) => ({ tag: name, value }));
      default:
        return undefined;
    }
  }
}

/** Reads the events of blocks of one chain. */
export class BlockEventReader {
  readonly #node: SubstrateNode;

  constructor(node: SubstrateNode) {
    this.#node = node;
  }

  /**
   * Fetches the events of a block, with the runtime that they belong to: the one that executed the block, as its parent
   * left it.
   * @throws {RpcFault} `pruned` without the state of the block; as {@link read}.
   */
  async fetch(
    { height, hash, parent }: { readonly height: bigint; readonly hash: Hash256; readonly parent: Hash256 },
    signal: AbortSignal,
  ): Promise<{ readonly runtime: Runtime; readonly events: readonly RuntimeEvent[] }> {
    const { client, runtimes } = this.#node;
    const [stored, version] = await client.callAll(
      [calls.storage(otherKeys.systemEvents(), hash), calls.runtimeVersion(parent)],
      signal,
    );
    if (stored === undefined) {
      throw client.fault("pruned", "state_getStorage", `no events of block ${height}`);
    }
    const runtime = await runtimes.ofVersion(version, signal, parent);
    return { runtime, events: this.read(runtime, stored, height) };
  }

  /**
   * Reads events from the value of `System.Events`. An event whose fields do not match the metadata is skipped with a
   * warning: it may belong to any pallet, and nothing else must wait for it.
   * @throws {RpcFault} `malformed` when the bytes are no list of events at all.
   */
  read(
    runtime: Runtime,
    value: Uint8Array,
    block: bigint,
  ): readonly RuntimeEvent[] {
    try {
      const { events, skipped } = runtime.decodeEvents(value);
      for (const event of skipped) this.#warn(event, block);
      return events;
    } catch (fault) {
      if (!(fault instanceof RuntimeFault) || fault.code !== "bad_events") throw fault;
      throw this.#node.client.fault(
        "malformed",
        "state_getStorage",
        `System.Events of block ${block}: ${fault.detail}`,
      );
    }
  }

  /** Reads the fields of an event; `undefined`, with a warning, when they have another form. */
  readFields<T>(
    event: RuntimeEvent,
    codec: Codec<T>,
    block: bigint,
  ): T | undefined {
    try {
      return readKnown(this.#node, codec, event.fields, `event ${event.pallet}.${event.name}`);
    } catch (error) {
      if (!(error instanceof ScaleError)) throw error;
      this.#warn(event, block);
      return undefined;
    }
  }

  #warn(
    { pallet, name }: Pick<RuntimeEvent, "pallet" | "name">,
    block: bigint,
  ): void {
    this.#node.log.warn("event_unreadable", { event: `${pallet}.${name}`, block });
  }
}
