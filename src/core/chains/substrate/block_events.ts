/** Events of one block; unreadable ones are logged and skipped. */
import { type Codec, decodeStrict, ScaleError } from "../../encoding/scale.ts";
import type { RuntimeEvent } from "./event_records.ts";
import type { SubstrateNode } from "./node.ts";
import { type Runtime, RuntimeFault } from "./runtime.ts";

/**
 * Reads events from the value of `System.Events`. An event whose fields do not match the metadata is skipped with a
 * warning: it may belong to any pallet, and nothing else must wait for it.
 * @throws {RpcFault} `malformed` when the bytes are no list of events at all.
 */
export function readBlockEvents(
  node: SubstrateNode,
  runtime: Runtime,
  value: Uint8Array,
  block: bigint,
): readonly RuntimeEvent[] {
  try {
    const { events, skipped } = runtime.decodeEvents(value);
    for (const event of skipped) warn(node, event, block);
    return events;
  } catch (fault) {
    if (!(fault instanceof RuntimeFault) || fault.code !== "bad_events") throw fault;
    throw node.client.fault(
      "malformed",
      "state_getStorage",
      `System.Events of block ${block}: ${fault.detail}`,
    );
  }
}

/** Reads the fields of an event; `undefined`, with a warning, when they have another form. */
export function readFields<T>(
  node: SubstrateNode,
  event: RuntimeEvent,
  codec: Codec<T>,
  block: bigint,
): T | undefined {
  try {
    return decodeStrict(codec, event.fields, event.name);
  } catch (error) {
    if (!(error instanceof ScaleError)) throw error;
    warn(node, event, block);
    return undefined;
  }
}

function warn(
  node: SubstrateNode,
  { pallet, name }: Pick<RuntimeEvent, "pallet" | "name">,
  block: bigint,
): void {
  node.log.warn("event_unreadable", { event: `${pallet}.${name}`, block });
}
