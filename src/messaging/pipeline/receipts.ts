/** Ends messages that already have a receipt on their destination, ours or somebody else's. */
import { isTerminal, type MessageRow } from "../../core/ledger/ledger.ts";
import { equalBytes } from "../../core/protocol/bytes.ts";
import type { Message } from "../../core/protocol/ismp/message.ts";
import { recordFoundReceipt } from "./delivery_record.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "./leg.ts";
import { endOfFate, mark } from "./mark.ts";
import { rememberRivals } from "./rivals.ts";

/** A message with its row. */
export interface Candidate {
  readonly row: MessageRow;
  readonly message: Message;
}

/**
 * The candidates as the ledger knows them now, those left out that have ended or are under way: settling may have
 * changed them while something else was awaited.
 */
export function stillOpen(deps: PipelineDeps, candidates: readonly Candidate[]): readonly Candidate[] {
  const [first] = candidates;
  if (first === undefined) return [];
  const commitments = candidates.map(({ row }) => row.commitment);
  const rows = deps.ledger.messages.findAll(commitments, first.row.sink);
  return candidates.flatMap(({ message }, index) => {
    const row = rows[index];
    return row === undefined || row.state === "submitted" || isTerminal(row.state) ? [] : [{ row, message }];
  });
}

/**
 * Ends the candidates that have a receipt and returns the others. A receipt of ours without a transaction in the
 * journal (a lost database, say) becomes a delivery record whose block is the head at which it was seen.
 */
export async function takeDelivered(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: {
    readonly candidates: readonly Candidate[];
    readonly receipts: readonly (Uint8Array | undefined)[];
  },
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const receiptOf = new Map(work.candidates.map(({ message }, index) => [message, work.receipts[index]]));
  if (work.receipts.every((receipt) => receipt === undefined)) return stillOpen(deps, work.candidates);
  const head = await leg.sink.fetchHeight(signal);
  return deps.ledger.transaction(() => {
    const candidates = stillOpen(deps, work.candidates);
    const others: Uint8Array[] = [];
    for (const { row, message } of candidates) {
      const relayer = receiptOf.get(message);
      if (relayer === undefined) continue;
      const isOurs = leg.sink.relayer !== undefined && equalBytes(relayer, leg.sink.relayer);
      if (isOurs) recordFoundReceipt(deps, settings, row, { relayer, head });
      else others.push(relayer);
      const end = endOfFate(isOurs ? "delivered" : "delivered_by_other");
      mark(deps, row, end.state, { reason: end.reason });
    }
    rememberRivals(deps, leg.sink, others, false);
    return candidates.filter(({ message }) => receiptOf.get(message) === undefined);
  });
}
