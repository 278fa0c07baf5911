/** Events of one block; unreadable ones are logged and skipped. */
import type { Hash256 } from "../../encoding/bytes.ts";
import { type Codec, ScaleError } from "../../encoding/scale.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { calls, type Header } from "../../rpc/substrate_calls.ts";
import { headerHash } from "./checks.ts";
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

/** First byte of the digest item of a block that changes the runtime: src/core/substrate/header.ts. */
const RUNTIME_UPDATED = 8;

/** Headers of the final blocks `from` to `to` as far as the node announced them. */
export class AnnouncedRange {
  readonly #node: Pick<SubstrateNode, "hashing">;
  readonly #byHeight: ReadonlyMap<bigint, Header>;
  readonly #heights: readonly bigint[];

  constructor(node: Pick<SubstrateNode, "heads" | "hashing">, from: bigint, to: bigint) {
    this.#node = node;
    this.#byHeight = new Map(node.heads.final.recent.map((header) => [header.height, header]));
    const isShort = to - from < BigInt(this.#byHeight.size);
    this.#heights = isShort
      ? Array.from({ length: Number(to - from) + 1 }, (_, index) => from + BigInt(index))
      : [];
  }

  /** Hash of the block before the first one; `undefined`: it is not known. */
  get parent(): Hash256 | undefined {
    const [from] = this.#heights;
    return from === undefined ? undefined : this.hashAt(from - 1n);
  }

  /** Hashes of all blocks, ascending; `undefined`: some are not known. */
  get hashes(): readonly Hash256[] | undefined {
    const known = this.#heights.flatMap((height) => this.hashAt(height) ?? []);
    return known.length === 0 || known.length < this.#heights.length ? undefined : known;
  }

  /**
   * True when every header is known and none of them announces another runtime. Source: paritytech/polkadot-sdk:
   * substrate/frame/system/src/lib.rs (update_code_in_storage).
   */
  get keepsRuntime(): boolean {
    return this.#heights.length > 0 && this.#heights.every((height) => {
      const header = this.#byHeight.get(height);
      return header?.fields.logs.every((item) => item[0] !== RUNTIME_UPDATED) ?? false;
    });
  }

  /**
   * Hash of a block, in the range or not; `undefined`: not known. A header names its parent, so that the hash of a
   * block that was skipped is known as well.
   */
  hashAt(height: bigint): Hash256 | undefined {
    const child = this.#byHeight.get(height + 1n);
    if (child !== undefined) return child.parent;
    const header = this.#byHeight.get(height);
    if (header === undefined) return undefined;
    return headerHash(header, this.#node.hashing);
  }
}
