/** Ends messages whose request has timed out on the sink's clock, by what the sink's receipts say of them. */
import { isTerminal, LedgerFault, type MessageRow } from "../../core/ledger/ledger.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "./leg.ts";
import { mark } from "./mark.ts";
import { messageOf } from "./message_row.ts";
import { type Candidate, takeDelivered } from "./receipts.ts";

/** Receipts that are read at once. */
const MOST_AT_ONCE = 100;

/**
 * Ends every open row of the leg whose request has timed out: delivered where the sink has a receipt (after a lost
 * database there may be one of ours, with a fee to claim), timed out otherwise. May throw an `RpcFault`.
 * @param nowSec the sink's own clock, Unix seconds
 */
export async function expire(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  nowSec: bigint,
  signal: AbortSignal,
): Promise<void> {
  const source = leg.source.id.stateMachine;
  const sink = leg.sink.id.stateMachine;
  for (;;) {
    const rows = deps.ledger.messages.listExpired({ source, sink, nowSec, limit: MOST_AT_ONCE });
    if (rows.length === 0) return;
    const candidates = rows.flatMap((row) => readCandidate(row));
    if (candidates.length > 0) {
      const receipts = await leg.sink.fetchReceipts(candidates.map(({ message }) => message), signal);
      await takeDelivered(deps, settings, leg, { candidates, receipts }, signal);
    }
    deps.ledger.transaction(() => {
      for (const row of deps.ledger.messages.findAll(rows.map(({ commitment }) => commitment), sink)) {
        if (row === undefined || row.state === "submitted" || isTerminal(row.state)) continue;
        mark(deps, row, "timed_out", { reason: "expired" });
      }
    });
  }
}

/** A row that cannot be read has no receipt to look for: it ends with its time. */
function readCandidate(row: MessageRow): readonly Candidate[] {
  try {
    return [{ row, message: messageOf(row) }];
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    return [];
  }
}
