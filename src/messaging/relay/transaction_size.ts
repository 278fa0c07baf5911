/**
 * Maximum size of proofs and messages in one transaction of a chain: what every node accepts, or less once a node has
 * refused as much. Kept in the ledger, so that a restart does not send the same bytes again.
 */
import { z } from "zod";
import type { Chain, SignedSubmission } from "../../core/chains/port.ts";
import { learnMaxBytes, MAX_TRANSACTION_BYTES } from "../../core/chains/transaction_bytes.ts";
import type { PipelineDeps } from "./leg.ts";

/** Time for which a refusal counts, ms (6 hours): the node may have been replaced by then. */
const REMEMBERED_MS = 6 * 3_600_000;

const shape = z.object({ maxBytes: z.number(), atMs: z.number() });

/** Current maximum size of proofs and messages in one transaction, bytes. */
export function maxTransactionBytes(deps: PipelineDeps, target: Pick<Chain, "id">): number {
  const text = deps.ledger.meta.find(nameOf(target));
  if (text === undefined) return MAX_TRANSACTION_BYTES;
  const { maxBytes, atMs } = shape.parse(JSON.parse(text));
  return deps.clock.now() - atMs < REMEMBERED_MS ? maxBytes : MAX_TRANSACTION_BYTES;
}

/** Bytes of messages for which one transaction has room beside these proofs; 0 or less: for none. */
export function roomForMessages(
  deps: PipelineDeps,
  { id, family, limits }: Pick<Chain, "id" | "family" | "limits">,
  proofs: readonly Uint8Array[],
): number {
  if (family !== "evm") return limits.maxCallBytes;
  const taken = proofs.reduce((sum, { length }) => sum + length, 0);
  return Math.min(limits.maxCallBytes, maxTransactionBytes(deps, { id }) - taken);
}

/** Records that a node refused a transaction as too large. Call it within a ledger transaction. */
export function noteTooLarge(
  deps: PipelineDeps,
  target: Pick<Chain, "id">,
  refused: { readonly submission: Pick<SignedSubmission, "raw">; readonly detail: string },
): void {
  const maxBytes = learnMaxBytes(refused.submission.raw.length, refused.detail);
  deps.ledger.meta.write(nameOf(target), JSON.stringify({ maxBytes, atMs: deps.clock.now() }));
  deps.log.info("transaction_size_reduced", {
    chain: target.id.stateMachine,
    refusedBytes: refused.submission.raw.length,
    maxBytes,
    detail: refused.detail,
  });
}

function nameOf(target: Pick<Chain, "id">): string {
  return `transaction bytes on ${target.id.stateMachine}`;
}
