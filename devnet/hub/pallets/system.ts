/**
 * System, Timestamp and ParachainInfo: what every block writes whatever is in it.
 * Source: paritytech/polkadot-sdk: substrate/frame/{system,timestamp}/src/lib.rs.
 */
import { compact, enhanceCodec } from "scale-ts";
import { concatBytes, type Hash256 } from "../../../src/core/encoding/bytes.ts";
import { type Codec, Struct } from "../../../src/core/encoding/scale.ts";
import { encodeDigest } from "../digest.ts";
import type { Execution, SimulatedRuntime } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import type { EventEntry, SystemStorage } from "../storage.ts";
import { encodeBareExtrinsic } from "../../../src/core/ismp/ismp_message.ts";

/** Number of past block hashes in storage (constant `System.BlockHashCount` of both runtimes). */
const blockHashCount = 4096;

const compactMoment: Codec<bigint> = enhanceCodec(compact, (value: bigint) => value, BigInt);

/** Adds `Timestamp.set` to the table. */
export function registerSystem(runtime: SimulatedRuntime): void {
  runtime.register(
    "Timestamp",
    "set",
    Struct({ now: compactMoment }),
    { isInherent: true, dispatch: ({ overlay }, { now }) => runtime.system.now.put(overlay, now) },
  );
}

/** The inherent with which every block begins. */
export function timestampInherent(metadata: RuntimeMetadata, nowMs: bigint): Uint8Array {
  return encodeBareExtrinsic(concatBytes(metadata.callIndex("Timestamp", "set"), compact.enc(nowMs)));
}

/** Start of a block: number, parent, hash of the parent. */
export function initializeBlock(
  system: SystemStorage,
  execution: Execution,
  block: { readonly number: number; readonly parentHash: Hash256 },
): void {
  const { overlay } = execution;
  system.number.put(overlay, block.number);
  system.parentHash.put(overlay, block.parentHash);
  system.blockHash.put(overlay, block.parentHash, block.number - 1);
  if (block.number > blockHashCount) system.blockHash.remove(overlay, block.number - 1 - blockHashCount);
}

/** End of a block: events and digest as storage shows them. */
export function finalizeBlock(
  system: SystemStorage,
  execution: Execution,
  digest: readonly Uint8Array[],
): void {
  const { overlay } = execution;
  system.events.put(overlay, encodeEvents(overlay.events));
  system.eventCount.put(overlay, overlay.events.length);
  system.digest.put(overlay, encodeDigest(digest));
}

function encodeEvents(events: readonly EventEntry[]): Uint8Array {
  return concatBytes(compact.enc(events.length), ...events.map((event) => event.record));
}
