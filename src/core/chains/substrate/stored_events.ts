/**
 * Events of one block as its state holds them, for a block whose events are more than the node answers with at once
 * (`--rpc-max-response-size`): `System.Events` has the commitments of the messages, whose bodies are fetched in parts. Source:
 * polytope-labs/hyperbridge: modules/pallets/ismp/src/lib.rs (`Event`), modules/pallets/ismp/rpc/src/lib.rs.
 */
import { mapError, recover } from "../../encoding/coded_error.ts";
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

/** A message by its commitment, which is all that its event has. */
interface Reference {
  readonly kind: "reference";
  readonly of: "requests" | "responses";
  readonly commitment: Hash256;
}

/** Reads an event of pallet Ismp. @param read reads its fields @throws {ScaleError} */
function readEvent(name: string, read: <T>(codec: Codec<T>) => T): IsmpEvent | Reference | undefined {
  switch (name) {
    case "Request":
      return { kind: "reference", of: "requests", commitment: read(requestCodec).commitment };
    case "Response":
      return { kind: "reference", of: "responses", commitment: read(responseCodec).commitment };
    case "StateMachineUpdated":
      return { tag: name, value: read(stateMachineUpdatedCodec) };
    case "StateCommitmentVetoed":
      return { tag: name, value: read(stateCommitmentVetoedCodec) };
    case "PostRequestHandled":
    case "GetRequestHandled":
      return { tag: name, value: read(messageHandledCodec) };
    case "PostRequestTimeoutHandled":
    case "GetRequestTimeoutHandled":
      return { tag: name, value: read(timeoutHandledCodec) };
    default:
      return undefined;
  }
}

/** A call that returns bodies by commitment. */
type BodyCall = (commitments: readonly Hash256[]) => TypedCall<readonly DecodedEvent[]>;

/** Reads the events of single blocks from their states. */
export class StoredEvents {
  constructor(readonly node: SubstrateNode, readonly reader: BlockEventReader = new BlockEventReader(node)) {}

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
    const events = (await this.reader.fetch(block, signal)).events.filter(({ pallet }) => pallet === "Ismp");
    const read = events.map((event) => this.#read(event, block.height)).filter((each) => each !== undefined);
    const bodies: DecodedEvent[] = [];
    for (const kind of ["requests", "responses"] as const) {
      const references = read.filter((each) => each.kind === "reference").filter(({ of }) => of === kind);
      const commitments = references.map(({ commitment }) => commitment);
      bodies.push(...await this.#fetchBodies(ismpCalls[kind], commitments, signal));
    }
    const byCommitment = new Map(bodies.map((body) => [dispatchedCommitment(body), body]));
    const found = read.map((each) => each.kind === "reference" ? byCommitment.get(each.commitment) : each);
    return [...found, ...bodies.filter(({ kind }) => kind === "undecodable")].filter((each) =>
      each !== undefined
    );
  }

  /** Reads an event; a message that cannot be read does not hold up the others. */
  #read(event: RuntimeEvent, block: bigint): DecodedEvent | Reference | undefined {
    const { name } = event;
    try {
      const value = readEvent(name, (codec) => this.reader.decode(event, codec));
      return value !== undefined && "tag" in value ? { kind: "event", event: value } : value;
    } catch (cause) {
      if (!(cause instanceof ScaleError)) throw cause;
      const isMessage = name === "Request" || name === "Response";
      if (isMessage) {
        return { kind: "undecodable", error: new IsmpJsonError("System.Events", name, { cause }) };
      }
      this.reader.warn(event, block);
      return undefined;
    }
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
        bodies.push(...await this.node.client.call(call(part), signal));
        start += part.length;
      } catch (fault) {
        if (!(fault instanceof RpcFault) || fault.code !== "too_large" || part.length === 1) throw fault;
        size = Math.ceil(part.length / 2);
      }
    }
    return bodies;
  }
}

/** Reads the events of blocks of one chain. */
export class BlockEventReader {
  constructor(readonly node: SubstrateNode) {}

  /**
   * Fetches the events of a block, with the runtime that they belong to: the one that executed the block, as its parent
   * left it.
   * @throws {RpcFault} `pruned` without the state of the block; `malformed` when the bytes are not what the metadata says.
   */
  async fetch(
    { height, hash, parent }: { readonly height: bigint; readonly hash: Hash256; readonly parent: Hash256 },
    signal: AbortSignal,
  ): Promise<{ readonly runtime: Runtime; readonly events: readonly RuntimeEvent[] }> {
    const { client, runtimes } = this.node;
    const [stored, version] = await client.callAll(
      [calls.storage(otherKeys.systemEvents(), hash), calls.runtimeVersion(parent)],
      signal,
    );
    if (stored === undefined) {
      throw client.fault("pruned", "state_getStorage", `no events of block ${height}`);
    }
    const runtime = await runtimes.ofVersion(version, signal, parent);
    const events = mapError(RuntimeFault, () => runtime.decodeEvents(stored), (fault) => {
      if (fault.code !== "bad_events") return fault;
      return client.fault(
        "malformed",
        "state_getStorage",
        `System.Events of block ${height}: ${fault.detail}`,
      );
    });
    return { runtime, events };
  }

  /** The fields of an event. @throws {ScaleError} when they have another form. */
  decode<T>({ pallet, name, fields }: RuntimeEvent, codec: Codec<T>): T {
    return readKnown(this.node, codec, fields, `event ${pallet}.${name}`);
  }

  /** Reads the fields of an event; `undefined`, with a warning, when they have another form. */
  readFields<T>(event: RuntimeEvent, codec: Codec<T>, block: bigint): T | undefined {
    return recover(ScaleError, () => this.decode(event, codec), () => {
      this.warn(event, block);
      return undefined;
    });
  }

  /** Names an event that cannot be read. */
  warn({ pallet, name }: Pick<RuntimeEvent, "pallet" | "name">, block: bigint): void {
    this.node.log.warn("messages_skipped.undecodable", { event: `${pallet}.${name}`, block });
  }
}
