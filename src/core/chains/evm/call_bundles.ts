/**
 * Contract reads of a request as one call of a contract that makes them. Reads at one block stay at one block. Start
 * reading at {@link bundleReads}.
 */
import { isHexBytes } from "../../encoding/bytes.ts";
import { type BundledRead, decodeBundleResult, encodeBundle } from "../../evm/call_bundle.ts";
import type { RpcCall } from "../../rpc/call.ts";
import { isJsonObject } from "../../rpc/json.ts";
import { partsOf } from "../../runtime/parts.ts";
import type { JoinedCall } from "./joining_endpoint.ts";

/**
 * Reads of one bundle. A hundred receipts take about 3 million gas with what the code costs, less than any node allows
 * a call, and answer with 4 KB.
 */
const MAX_READS = 100;
/** Longer data is asked by itself, bytes: at {@link MAX_READS} of them a bundle would reach a contract's largest size. */
const MAX_DATA_BYTES = 200;

/** A read and its place among the calls of a request. */
interface PlacedRead extends BundledRead {
  readonly index: number;
}

/** Bundles the contract reads among the calls, at least two at one block together. */
export function bundleReads(calls: readonly RpcCall[]): readonly JoinedCall[] {
  const byTag = new Map<string, PlacedRead[]>();
  calls.forEach((call, index) => {
    const found = toRead(call);
    if (found === undefined) return;
    const reads = byTag.get(found.tag) ?? [];
    byTag.set(found.tag, reads);
    reads.push({ ...found.read, index });
  });
  return [...byTag].flatMap(([tag, reads]) =>
    partsOf(reads, MAX_READS).filter((part) => part.length > 1).map((part) => ({
      call: { method: "eth_call", params: [{ data: encodeBundle(part) }, tag] },
      indexes: part.map(({ index }) => index),
      split: (result) => decodeBundleResult(isHexBytes(result) ? result : "0x", part.length),
    }))
  );
}

/** The read that a call is, with its block; `undefined` for a call that cannot be in a bundle. */
function toRead(
  { method, params }: RpcCall,
): { readonly read: BundledRead; readonly tag: string } | undefined {
  const [call, tag, ...others] = params;
  if (method !== "eth_call" || others.length > 0 || typeof tag !== "string" || !isJsonObject(call)) {
    return undefined;
  }
  const { to, data, ...rest } = call;
  if (!isHexBytes(to) || !isHexBytes(data) || data.length > 2 + 2 * MAX_DATA_BYTES) return undefined;
  return Object.keys(rest).length === 0 ? { read: { to, data }, tag } : undefined;
}
