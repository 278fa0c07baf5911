/** What an endpoint of the soak says instead of what is. */
import type { AlterAnswer } from "../support/altered_answers.ts";
import type { Lie } from "./plan.ts";

/** Changes answers of one method and leaves the others. */
function about(method: string, change: (result: unknown) => unknown): AlterAnswer {
  return (asked, result) => asked === method ? change(result) : result;
}

/** The answers of a lie. */
export const LIES: Readonly<Record<Lie, AlterAnswer>> = {
  no_logs: about("eth_getLogs", () => []),
  no_receipts: about("eth_getTransactionReceipt", () => null),
  old_nonce: about(
    "eth_getTransactionCount",
    (result) =>
      typeof result === "string" && BigInt(result) > 0n ? `0x${(BigInt(result) - 1n).toString(16)}` : result,
  ),
  wrong_proofs: about("eth_getProof", withWrongNode),
};

/** The first node of the first proof with another last byte. */
function withWrongNode(result: unknown): unknown {
  if (typeof result !== "object" || result === null || !("accountProof" in result)) return result;
  const { accountProof } = result;
  if (!Array.isArray(accountProof) || typeof accountProof[0] !== "string") return result;
  const [first, ...others] = accountProof;
  const last = first.endsWith("0") ? "1" : "0";
  return { ...result, accountProof: [`${first.slice(0, -1)}${last}`, ...others] };
}
