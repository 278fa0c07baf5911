/** What a node answers to a bundle of contract reads, without a machine that runs its code. */
import { concatBytes, fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { type BundledAnswer, type BundledRead, encodeBundle } from "../../src/core/evm/call_bundle.ts";

const code = encodeBundle([]);

/** The reads of the call, when it is one without an address that carries a bundle. */
export function readsOf(call: unknown): readonly BundledRead[] | undefined {
  const { to, data }: { readonly to?: unknown; readonly data?: unknown } = Object(call);
  if (to !== undefined || typeof data !== "string" || !data.startsWith(code)) return undefined;
  const bytes = fromHex(`0x${data.slice(code.length)}`);
  const reads: BundledRead[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint16(0);
    const end = at + 22 + length;
    reads.push({ to: toHex(bytes.subarray(at + 2, at + 22)), data: toHex(bytes.subarray(at + 22, end)) });
    at = end;
  }
  return reads;
}

/** The result of a bundle whose contracts answer this; `undefined` for one that reverts. */
export function bundleResult(answers: readonly BundledAnswer[]): Hex {
  return toHex(concatBytes(...answers.map((answer) => {
    const bytes = fromHex(answer ?? "0x");
    const header = new DataView(new ArrayBuffer(4));
    header.setUint32(0, bytes.length + (answer === undefined ? 0 : 1 << 24));
    return concatBytes(new Uint8Array(header.buffer), bytes);
  })));
}
