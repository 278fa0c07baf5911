/**
 * Compressed calls of the hub, which its pallet CallDecompressor unpacks and runs. Source: polytope-labs/hyperbridge:
 * modules/pallets/call-decompressor/src/lib.rs, tesseract/messaging/substrate/src/calls.rs.
 */
import { constants, zstdCompressSync } from "node:zlib";
import { bytes, Struct, u32 } from "../../encoding/scale.ts";
import { callLayouts } from "./layout.ts";
import type { SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";

/** Level used upstream; higher ones are slow for proofs, which hardly compress. */
const ZSTD_LEVEL = 3;
/** Below this saving the plain call is sent, as upstream does. */
const MIN_SAVING_PERCENT = 20;
/** Smaller calls are not worth compressing: they fit everywhere. */
const COMPRESSIBLE_FROM_BYTES = 1_024;
/** The runtime accepts smaller calls only: `MaxCallSize` of gargantua, 2 decimal megabytes (nexus: 3). */
const COMPRESSIBLE_BELOW_BYTES = 2_000_000;

const argumentsCodec = Struct({ compressed: bytes, encodedCallSize: u32 });

/**
 * Returns the call, compressed if the chain supports it and it saves enough. Only `Ismp.handle_unsigned` and
 * `Relayer.accumulate_fees` may be compressed: the caller ensures that.
 */
export function compressCall(node: SubstrateNode, runtime: Runtime, call: Uint8Array): Uint8Array {
  const isTaken = node.isHub && runtime.hasPallet(callLayouts.decompress.pallet) &&
    call.length >= COMPRESSIBLE_FROM_BYTES && call.length < COMPRESSIBLE_BELOW_BYTES;
  if (!isTaken) return call;
  const compressed = new Uint8Array(
    zstdCompressSync(call, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } }),
  );
  const savedPercent = Math.floor(((call.length - compressed.length) * 100) / call.length);
  if (savedPercent < MIN_SAVING_PERCENT) return call;
  const argument = argumentsCodec.enc({ compressed, encodedCallSize: call.length });
  return runtime.encodeCall(callLayouts.decompress, argument);
}
