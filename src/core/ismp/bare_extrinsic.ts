/** Unsigned extrinsics: how relayers submit their calls to the hub. */
import { compact } from "scale-ts";
import { concatBytes } from "../encoding/bytes.ts";

/** First byte of an unsigned extrinsic of format 4; the hub accepts no format 5 before its next runtimes. */
const bareVersion = 0x04;

/** Unsigned extrinsic of an encoded call: compact length, version byte, call. */
export function encodeBareExtrinsic(call: Uint8Array): Uint8Array {
  return concatBytes(compact.enc(call.length + 1), Uint8Array.of(bareVersion), call);
}
