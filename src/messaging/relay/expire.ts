/** Ends messages whose request has timed out on the target's clock, by their receipts on the target. */
import { UNSURE } from "../../core/chains/port.ts";
import { isTerminal, LedgerFault, type MessageRow } from "../ledger/ledger.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { Message } from "../../core/ismp/message.ts";
import { type Leg, legName, type PipelineDeps, type PipelineSettings } from "./leg.ts";
import { transition } from "./transitions.ts";
import { parseRow } from "./message_row.ts";
import { type Candidate, endDelivered } from "./receipts.ts";

/** Maximum number of receipts read at once. */
const MAX_AT_ONCE = 100;

/**
 * Ends every open row of the leg whose request has timed out: delivered where the target has a receipt (after a lost
 * database there may be one of ours, with a fee to claim), timed out otherwise. Receipts are read at a block past the
 * timeouts, after which there can be no more deliveries; rows whose receipts are not certain yet stay for the next
 * round. May throw an `RpcFault`.
 * @param nowSec the target's own clock, Unix seconds
 */
export async function expire(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  nowSec: bigint,
  signal: AbortSignal,
): Promise<void> {
  const source = leg.source.id.stateMachine;
  const target = leg.target.id.stateMachine;
  for (;;) {
    const rows = deps.ledger.messages.listExpired({ source, target, nowSec, limit: MAX_AT_ONCE });
    if (rows.length === 0) return;
    const candidates = rows.flatMap((row) => readCandidate(row));
    const timeSec = rows.reduce((latest, row) => row.timeoutSec > latest ? row.timeoutSec : latest, 0n);
    const found = await leg.target.fetchCertainReceipts(
      candidates.map(({ message }) => message),
      { timeSec },
      signal,
    );
    const unsure = new Set<Hash256>();
    const relayerOf = new Map<Message, Uint8Array>();
    for (const [index, { row, message }] of candidates.entries()) {
      const receipt = found[index] ?? UNSURE;
      if (receipt.kind === "unsure") unsure.add(row.commitment);
      else if (receipt.value !== undefined) relayerOf.set(message, receipt.value);
    }
    const receiptOf = (message: Message): Uint8Array | undefined => relayerOf.get(message);
    await endDelivered(deps, settings, leg, { candidates, receiptOf }, signal);
    deps.ledger.transaction(() => {
      for (const row of deps.ledger.messages.findAll(rows.map(({ commitment }) => commitment), target)) {
        if (row === undefined || row.state === "submitted" || isTerminal(row.state)) continue;
        if (!unsure.has(row.commitment)) transition(deps, row, "timed_out", { reason: "expired" });
      }
    });
    if (unsure.size > 0) {
      const fields = { leg: legName(leg), messages: unsure.size };
      deps.log.debug("timeouts_unconfirmed", fields);
      return;
    }
  }
}

/** Reads the message of a row; an unreadable row has no receipt to read: it ends with its timeout. */
function readCandidate(row: MessageRow): readonly Candidate[] {
  try {
    return [{ row, message: parseRow(row) }];
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    return [];
  }
}
