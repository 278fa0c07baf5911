/**
 * Number of hub proofs that fit into one transaction, and limits learned from refusals of nodes. Pure. Rules:
 * docs/protocol/messaging.md section 7.2.2; nodes refuse raw transactions above 128 KiB (ethereum/go-ethereum:
 * core/txpool/legacypool, txMaxSize), some sequencers above 95 kB.
 */

/**
 * Maximum number of consensus proofs in one transaction (polytope-labs/hyperbridge: tesseract/messaging/messaging).
 */
export const MAX_PROOFS_AT_ONCE = 3;

/**
 * Maximum overhead around proofs, bytes: signature, call, offsets. The overhead of a message counts with the message.
 */
const ENVELOPE_BYTES = 1_024;

/**
 * Maximum size of proofs and messages in one transaction until a node has refused less, bytes: 128 KiB with some
 * margin. One proof of 600 validators has 92 kB.
 */
export const MAX_TRANSACTION_BYTES = 128 * 1024 - 4 * ENVELOPE_BYTES;

/** Limits of one transaction. */
export interface TransactionLimits {
  /** Maximum number of proofs per call of the handler. */
  readonly maxProofs: number;
  /** Maximum size of proofs and messages, bytes. */
  readonly maxBytes: number;
}

/** First proofs that fit into one transaction; at least one if there is any, however large. */
export function fittingProofs<T extends { readonly bytes: Uint8Array }>(
  proofs: readonly T[],
  { maxProofs, maxBytes }: TransactionLimits,
): readonly T[] {
  const fitting: T[] = [];
  let bytes = 0;
  for (const proof of proofs.slice(0, maxProofs)) {
    bytes += proof.bytes.length;
    if (fitting.length > 0 && bytes > maxBytes) break;
    fitting.push(proof);
  }
  return fitting;
}

/**
 * Maximum size of the next transaction after a node refused one as too large: the limit in its error text, else three
 * quarters.
 * @param refusedBytes size of the refused transaction
 * @param detail the node's text, as in "oversized data: transaction size 131500, limit 131072"
 */
export function learnMaxBytes(refusedBytes: number, detail: string): number {
  const named = /(?:limit|max(?:imum)?)\D{0,20}(\d{4,9})/i.exec(detail)?.[1];
  const limit = named === undefined ? undefined : Number(named);
  const wanted = limit !== undefined && limit < refusedBytes ? limit : Math.floor(refusedBytes * 3 / 4);
  return Math.min(MAX_TRANSACTION_BYTES, Math.max(1, wanted - ENVELOPE_BYTES));
}

/**
 * Limit of pools: `bytes` of a transaction, its `cost` or gas, or `in_flight`: one transaction of an account at a time,
 * since its code delegates to a contract (EIP-7702).
 */
type PoolLimit = "bytes" | "cost" | "in_flight";

/** Texts of geth, erigon, nethermind, besu and reth. */
const limitTexts: readonly (readonly [PoolLimit, RegExp])[] = [
  ["in_flight", /delegated|in-flight/i],
  ["cost", /(?=.*exceed).*(fee|gas|\bcap\b)|gas limit (is )?too high/i],
  ["bytes", /oversized data|exceeds max size|RLP_TOO_LONG|MaxTxSizeExceeded/i],
];

/** The limit that a refusal by a pool names; `undefined`: none. */
export function limitNamedIn(detail: string): PoolLimit | undefined {
  return limitTexts.find(([, text]) => text.test(detail))?.[0];
}
