/**
 * Deliveries whose receipt was missing when it was to be proved: it is read again at a newer final height. A receipt of
 * ours makes the row claimable; without a receipt the message returns to its leg; another relayer's receipt ends it.
 * Source: docs/protocol/messaging.md section 14.2, step 5.
 */
import type { Chain } from "../../../core/chains/port.ts";
import { UNSURE } from "../../../core/chains/reads.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { routeName } from "./claim_context.ts";
import { judgeLost } from "./claim_results.ts";
import { type FeeContext, isPassing } from "../fee_context.ts";
import type { DeliveryRow } from "../../ledger/ledger.ts";
import { parseRow, transition } from "../../relay/messages.ts";

/** Pause before a missing receipt is read again, ms: a few final blocks. */
const RECHECK_MS = 60_000;
/** Maximum number of rows per round. */
const MAX_ROWS = 100;

/**
 * Checks lost rows again; true when one of them changed. Rows of a destination that does not answer are checked later.
 */
export async function reviewLost(context: FeeContext, signal: AbortSignal): Promise<boolean> {
  const nowMs = context.clock.now();
  const due = context.ledger.deliveries.listByClaimState("lost", { limit: MAX_ROWS })
    .filter(({ updatedAtMs }) => nowMs - updatedAtMs >= RECHECK_MS);
  const byDest = new Map<StateMachine, DeliveryRow[]>();
  for (const row of due) byDest.set(row.dest, [...byDest.get(row.dest) ?? [], row]);
  let hasChanges = false;
  for (const [name, rows] of byDest) {
    const dest = context.chains.get(name);
    if (dest === undefined || !context.isUp(name)) continue;
    try {
      hasChanges = await reviewOn(context, { dest, rows }, signal) || hasChanges;
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
      context.log.debug("receipt_search_failed", { chain: name, error });
    }
  }
  return hasChanges;
}

/** Lost rows of one destination. */
interface LostRows {
  readonly dest: Chain;
  readonly rows: readonly DeliveryRow[];
}

async function reviewOn(
  context: FeeContext,
  { dest, rows }: LostRows,
  signal: AbortSignal,
): Promise<boolean> {
  const height = await dest.reads.fetchFinalHeight(signal);
  const { relayers } = await dest.proofs.proveReceipts(
    rows.map(({ commitment }) => commitment),
    { height },
    signal,
  );
  const unsure = await findUnsure(context, { dest, rows, relayers, height }, signal);
  context.ledger.transaction(() => {
    for (const [index, row] of rows.entries()) {
      if (!unsure.has(row)) applyVerdict(context, row, relayers[index]);
    }
  });
  return unsure.size < rows.length;
}

/** Finds rows without our receipt in the proof on which the endpoints disagree: they are checked later. */
async function findUnsure(
  context: FeeContext,
  shown: LostRows & {
    readonly relayers: readonly (Uint8Array | undefined)[];
    readonly height: bigint;
  },
  signal: AbortSignal,
): Promise<ReadonlySet<DeliveryRow>> {
  const doubtful = shown.rows.flatMap((row, index) => {
    const relayer = shown.relayers[index];
    const message = context.ledger.messages.find(row.commitment, row.dest);
    const isOurs = judgeLost(relayer, row.relayer) === "unclaimed";
    return isOurs || message === undefined ? [] : [{ row, relayer, message: parseRow(message) }];
  });
  const messages = doubtful.map(({ message }) => message);
  const certain = await shown.dest.certain.fetchCertainReceipts(messages, { height: shown.height }, signal);
  return new Set(
    doubtful.filter(({ row, relayer }, index) => {
      const receipt = certain[index] ?? UNSURE;
      return receipt.kind === "unsure" ||
        judgeLost(receipt.value, row.relayer) !== judgeLost(relayer, row.relayer);
    }).map(({ row }) => row),
  );
}

function applyVerdict(context: FeeContext, row: DeliveryRow, receipt: Uint8Array | undefined): void {
  const { deliveries, messages } = context.ledger;
  const now = deliveries.find(row.commitment, row.dest);
  if (now?.claimState !== "lost") return;
  const verdict = judgeLost(receipt, row.relayer);
  context.log.info("receipt_searched", {
    pair: routeName(row),
    commitment: row.commitment,
    verdict,
  });
  if (verdict === "unclaimed") {
    deliveries.setClaimState(row, "unclaimed");
    return;
  }
  deliveries.remove(row.commitment, row.dest);
  const message = messages.find(row.commitment, row.dest);
  if (message?.state !== "delivered") return;
  if (verdict === "drop") {
    transition(context, message, { to: "delivered_by_other", reason: "handled_by_other" });
  } else {
    const nextAttemptAtMs = context.clock.now();
    transition(context, message, { to: "ready", detail: "the receipt is gone", nextAttemptAtMs });
  }
}
