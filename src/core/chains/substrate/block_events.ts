/** Events of one block; unreadable ones are logged and skipped. */
import type { Hash256 } from "../../encoding/bytes.ts";
import { type Codec, ScaleError } from "../../encoding/scale.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { RuntimeEvent } from "./event_records.ts";
import type { SubstrateNode } from "./node.ts";
import { type Runtime, RuntimeFault } from "./runtime.ts";
import { readKnown } from "./storage_values.ts";

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
