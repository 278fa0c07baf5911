/** Rows about the accounts that sign: who they are, and nonces that this relayer did not use. Pure. */
import type { AccountNonces } from "../../core/chains/replacement.ts";
import type { CheckRow } from "../../core/checks/check_row.ts";

/** What the database knows of the nonces of an account. */
export type KnownNonces =
  /** Nothing: there is no database yet, it is in use, or it has no transaction of the account. */
  | { readonly kind: "unknown"; readonly reason: string }
  /** Highest nonce that a transaction of this relayer holds or has used. */
  | { readonly kind: "known"; readonly highest: bigint };

/** Row about the nonces of an account. */
export function judgeNonces(
  { chain, account }: { readonly chain: string; readonly account: string },
  nonces: AccountNonces,
  known: KnownNonces,
): CheckRow {
  const row = { chain, check: "nonce" } as const;
  const waiting = nonces.pending - nonces.latest;
  const state = waiting > 0n
    ? `nonce ${nonces.latest}, ${waiting} transactions wait`
    : `nonce ${nonces.latest}`;
  if (known.kind === "unknown") return { ...row, result: "ok", found: `${state}; ${known.reason}` };
  const foreign = nonces.latest - known.highest - 1n;
  if (foreign <= 0n) return { ...row, result: "ok", found: `${state}, all from this relayer` };
  return {
    ...row,
    result: "warning",
    found: `${state}: ${foreign} transactions of ${account} are not in the database of this relayer`,
    advice: "give this relayer an account of its own: deliveries wait for nonces that others use",
  };
}

/** Row about a chain's account. Keys of addresses with a leading zero byte are refused when the file is read. */
export function describeSigner(chain: string, account: string | undefined): CheckRow {
  const row = { chain, check: "signer", result: "ok" } as const;
  return account === undefined
    ? { ...row, found: "no signer: deliveries are unsigned, and no fees of this chain are claimed" }
    : { ...row, found: `${account} signs` };
}
