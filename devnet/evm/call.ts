/** Raw `eth_call`s with their revert data, for comparison with known answers. */
import { type Address, BaseError, type Hex, isHex } from "viem";
import type { IsmpHost } from "./deploy.ts";

/** What an `eth_call` came to. */
export type CallOutcome =
  | { readonly kind: "returned"; readonly data: Hex }
  | { readonly kind: "reverted"; readonly data: Hex };

/** Calls `to` at the latest block as `from`. Faults other than a revert are thrown. */
export async function callRaw(
  host: Pick<IsmpHost, "reader">,
  from: Address,
  to: Address,
  data: Hex,
): Promise<CallOutcome> {
  try {
    const answer = await host.reader.call({ account: from, to, data });
    return { kind: "returned", data: answer.data ?? "0x" };
  } catch (error) {
    const revert = error instanceof BaseError
      ? error.walk((each) => revertData(each) !== undefined)
      : undefined;
    const found = revertData(revert);
    if (found === undefined) throw error;
    return { kind: "reverted", data: found };
  }
}

function revertData(error: unknown): Hex | undefined {
  if (typeof error !== "object" || error === null || !("data" in error)) return undefined;
  return isHex(error.data) ? error.data : undefined;
}
