/**
 * Determines the outcome of the claims in the journal and records it. A row counts as claimed only when a final block
 * of the hub says so (I7).
 */
import type { BlockRef } from "../../../core/chains/submission.ts";
import { type ClaimContext, type ClaimResult, routeName, rowKey } from "./claim_context.ts";
import type { DeliveryRow, SubmissionRow } from "../../ledger/ledger.ts";

/** Checks every open claim once; true when one of them advanced. Faults of the hub are thrown. */
export async function settleClaims(
  context: ClaimContext,
  signal: AbortSignal,
): Promise<boolean> {
  let hasChanges = false;
  for (const row of context.calls.listOpen("accumulate")) {
    if (await settleOne(context, row, signal)) hasChanges = true;
  }
  return await settleOrphans(context, signal) || hasChanges;
}

async function settleOne(
  context: ClaimContext,
  row: SubmissionRow,
  signal: AbortSignal,
): Promise<boolean> {
  const status = await context.calls.poll(row, signal);
  switch (status.kind) {
    case "open":
      return false;
    case "included":
      return row.state !== "included";
    case "final":
      await applyFinal(context, { row, block: status.block }, signal);
      return true;
    case "failed":
      takeBack(context, row, { state: "failed", detail: status.error, block: status.block });
      return true;
    case "gone":
      takeBack(context, row, { state: "dropped", detail: "left the transaction pool" });
      return true;
  }
}

/** Marks what the hub has paid; rows that it skipped are claimed again. */
async function applyFinal(
  context: ClaimContext,
  work: { readonly row: SubmissionRow; readonly block: BlockRef },
  signal: AbortSignal,
): Promise<void> {
  const { id } = work.row;
  const { submissions, deliveries } = context.ledger;
  const items = submissions.itemsOf(id);
  const statuses = await context.hub.accounts.fetchClaimStatus(
    items.map(({ commitment }) => commitment),
    signal,
  );
  const paid: DeliveryRow[] = [];
  const unpaid: DeliveryRow[] = [];
  context.ledger.transaction(() => {
    submissions.update(id, { state: "final", block: work.block });
    for (const [index, item] of items.entries()) {
      const isPaid = statuses[index] !== "unclaimed";
      submissions.settleItem(id, item.commitment, isPaid ? "handled" : "not_handled");
      const row = deliveries.find(item.commitment, item.target);
      if (row === undefined || row.claimState === "claimed") continue;
      if (isPaid) deliveries.setClaimState(row, "claimed", work.block.height);
      else deliveries.setClaimState(row, "unclaimed");
      (isPaid ? paid : unpaid).push(row);
    }
  });
  await context.units.tryLearn(paid[0] && context.chains.get(paid[0].source), signal);
  logClaimed(context, paid, { hubBlock: work.block.height, hash: work.row.submission.hash });
  for (const row of unpaid) context.deferred.add(rowKey(row));
}

function logClaimed(
  context: ClaimContext,
  rows: readonly DeliveryRow[],
  claim: { readonly hubBlock: bigint; readonly hash: string },
): void {
  const [first] = rows;
  if (first === undefined) return;
  const fee = sumOf(rows);
  context.log.info("fees_claimed", {
    pair: routeName(first),
    requests: rows.length,
    fees: context.units.text(first.source, fee),
    hubBlock: claim.hubBlock,
    extrinsic: claim.hash,
  });
  const { source, dest } = first;
  context.onEvent({ source, dest, result: "claimed", count: rows.length, fee });
}

/** Sum of the fees that are known. */
function sumOf(rows: readonly Pick<DeliveryRow, "fee">[]): bigint {
  return rows.reduce((sum, { fee }) => sum + (fee ?? 0n), 0n);
}

/** Makes the rows of a claim without effect claimable again. */
function takeBack(
  context: ClaimContext,
  row: SubmissionRow,
  end: { readonly state: "failed" | "dropped"; readonly detail: string; readonly block?: BlockRef },
): void {
  const { submissions, deliveries } = context.ledger;
  context.ledger.transaction(() => {
    submissions.update(row.id, end);
    for (const { commitment, target } of submissions.itemsOf(row.id)) {
      submissions.settleItem(row.id, commitment, "not_handled");
      if (deliveries.find(commitment, target)?.claimState === "claiming") {
        deliveries.setClaimState({ commitment, dest: target }, "unclaimed");
      }
    }
  });
  context.log.info("claim_ineffective", {
    extrinsic: row.submission.hash,
    detail: end.detail,
  });
}

/** Maximum number of rows checked in one round. */
const MAX_ORPHANS = 500;

/**
 * Settles rows that count as under way although no open claim carries them (a pruned journal, a manually edited file):
 * the hub's own record decides.
 */
async function settleOrphans(
  context: ClaimContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { submissions, deliveries } = context.ledger;
  const claiming = deliveries.listByClaimState("claiming", { limit: MAX_ORPHANS });
  if (claiming.length === 0) return false;
  const carried = new Set(
    context.calls.listOpen("accumulate").flatMap(({ id }) => submissions.itemsOf(id))
      .map(({ commitment, target }) => rowKey({ commitment, dest: target })),
  );
  const orphans = claiming.filter((row) => !carried.has(rowKey(row)));
  if (orphans.length === 0) return false;
  const isClaimed = await context.hub.accounts.fetchFinalClaims(
    orphans.map(({ commitment }) => commitment),
    signal,
  );
  context.ledger.transaction(() => {
    for (const [index, { commitment, dest }] of orphans.entries()) {
      if (deliveries.find(commitment, dest)?.claimState !== "claiming") continue;
      deliveries.setClaimState({ commitment, dest }, isClaimed[index] === true ? "claimed" : "unclaimed");
    }
  });
  for (const [index, row] of orphans.entries()) {
    if (isClaimed[index] !== true) continue;
    const result: ClaimResult = "claimed_already";
    context.onEvent({ source: row.source, dest: row.dest, result, count: 1, fee: row.fee ?? 0n });
  }
  return true;
}
