/** Ends messages that already have a receipt on their destination, ours or somebody else's. */
import type { MessageRow } from "../../core/ledger/ledger.ts";
import { equalBytes } from "../../core/protocol/bytes.ts";
import type { Message } from "../../core/protocol/ismp/message.ts";
import type { Leg, PipelineDeps } from "./leg.ts";
import { endOfFate, mark } from "./mark.ts";

/** A message with its row. */
export interface Candidate {
  readonly row: MessageRow;
  readonly message: Message;
}

/**
 * Ends the candidates that have a receipt and returns the others. A receipt of ours without a transaction in the
 * journal (a lost database, say) becomes a delivery record whose block is the head at which it was seen.
 */
export async function takeDelivered(
  deps: PipelineDeps,
  leg: Leg,
  candidates: readonly Candidate[],
  receipts: readonly (Uint8Array | undefined)[],
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const open: Candidate[] = [];
  const ours: { readonly row: MessageRow; readonly relayer: Uint8Array }[] = [];
  for (const [index, candidate] of candidates.entries()) {
    const relayer = receipts[index];
    if (relayer === undefined) open.push(candidate);
    else if (leg.sink.relayer !== undefined && equalBytes(relayer, leg.sink.relayer)) {
      ours.push({ row: candidate.row, relayer });
    } else {
      const end = endOfFate("delivered_by_other");
      deps.ledger.transaction(() => void mark(deps, candidate.row, end.state, { reason: end.reason }));
    }
  }
  if (ours.length > 0) {
    const head = await leg.sink.fetchHeight(signal);
    deps.ledger.transaction(() =>
      ours.forEach(({ row, relayer }) => recordFound(deps, leg, row, relayer, head))
    );
  }
  return open;
}

function recordFound(deps: PipelineDeps, leg: Leg, row: MessageRow, relayer: Uint8Array, head: bigint): void {
  deps.ledger.deliveries.record({
    commitment: row.requestCommitment,
    dest: leg.sink.id.stateMachine,
    source: row.requestSource,
    relayer,
    txHash: undefined,
    block: { height: head, hash: undefined },
    isFinal: false,
  });
  const end = endOfFate("delivered");
  mark(deps, row, end.state, { reason: end.reason });
}
