/** Handling of messages that already have a receipt on their destination, ours or another relayer's. */
import { UNSURE } from "../../core/chains/port.ts";
import { isTerminal, type MessageRow } from "../ledger/ledger.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import type { Message } from "../../core/ismp/message.ts";
import { recordFoundReceipt } from "./delivery_record.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "./leg.ts";
import { hold, toEndState, transition } from "./transitions.ts";
import { rememberCompetitors } from "./competitors.ts";

/** Message with its row. */
export interface Candidate {
  readonly row: MessageRow;
  readonly message: Message;
}

/**
 * Rereads the candidates from the ledger and drops those that have ended or are submitted: settling may have changed
 * them meanwhile.
 */
export function stillOpen(deps: PipelineDeps, candidates: readonly Candidate[]): readonly Candidate[] {
  const [first] = candidates;
  if (first === undefined) return [];
  const commitments = candidates.map(({ row }) => row.commitment);
  const rows = deps.ledger.messages.findAll(commitments, first.row.target);
  return candidates.flatMap(({ message }, index) => {
    const row = rows[index];
    return row === undefined || row.state === "submitted" || isTerminal(row.state) ? [] : [{ row, message }];
  });
}

/**
 * Ends the candidates that have a receipt and returns the others: receipts are confirmed first, and a message waits if
 * endpoints disagree about its receipt.
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
  const seen = work.candidates.filter((_, index) => work.receipts[index] !== undefined);
  if (seen.length === 0) return stillOpen(deps, work.candidates);
  const certain = await leg.target.fetchCertainReceipts(seen.map(({ message }) => message), {}, signal);
  const certainOf = new Map(seen.map(({ message }, index) => [message, certain[index] ?? UNSURE]));
  const open = await endDelivered(deps, settings, leg, {
    candidates: work.candidates,
    receiptOf: (message) => {
      const found = certainOf.get(message);
      return found?.kind === "certain" ? found.value : undefined;
    },
  }, signal);
  const doubtful = open.filter(({ message }) => certainOf.get(message)?.kind === "unsure");
  deps.ledger.transaction(() => {
    for (const { row } of stillOpen(deps, doubtful)) {
      const detail = "its receipt is not confirmed yet";
      hold(deps, settings, row, { reason: "race", retryClass: "transient", detail });
    }
  });
  return open.filter((candidate) => !doubtful.includes(candidate));
}

/**
 * Ends the candidates that have a receipt, which must be certain, and returns the others. A receipt of ours without a
 * transaction in the journal (a lost database, say) becomes a delivery record whose block is the head at which it was
 * seen.
 */
export async function endDelivered(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: {
    readonly candidates: readonly Candidate[];
    readonly receiptOf: (message: Message) => Uint8Array | undefined;
  },
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const { receiptOf } = work;
  if (work.candidates.every(({ message }) => receiptOf(message) === undefined)) {
    return stillOpen(deps, work.candidates);
  }
  const head = await leg.target.fetchHeight(signal);
  return deps.ledger.transaction(() => {
    const candidates = stillOpen(deps, work.candidates);
    const others: Uint8Array[] = [];
    for (const { row, message } of candidates) {
      const relayer = receiptOf(message);
      if (relayer === undefined) continue;
      const isOurs = leg.target.relayer !== undefined && equalBytes(relayer, leg.target.relayer);
      if (isOurs) recordFoundReceipt(deps, settings, row, { relayer, head });
      else others.push(relayer);
      const end = toEndState(isOurs ? "delivered" : "delivered_by_other");
      transition(deps, row, end.state, { reason: end.reason });
    }
    rememberCompetitors(deps, leg.target, others, false);
    return candidates.filter(({ message }) => receiptOf(message) === undefined);
  });
}
