/**
 * Reconciliation of the ledger with the chains, now and then: the blocks that a leg has read since the last time are
 * read again, and messages that wait for long are looked for among the receipts of their target. There should be
 * nothing to find; what is found is recorded, logged once and counted. What was done last is in the ledger.
 */
import { RpcFault } from "../../core/rpc/call.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { type Meta, openMessageStates } from "../ledger/ledger.ts";
import { type Leg, legName, type LegRun, type RelayDeps } from "./leg.ts";
import { toCandidate } from "./messages.ts";
import { recordMissed } from "./missed_messages.ts";
import { endDelivered } from "./receipts.ts";
import { partsOf } from "../../core/runtime/slices.ts";

/** Pause between legs, so that a round is never felt, ms. */
const PAUSE_MS = 1_000;

/** Messages whose receipts are read again on each leg: those that were found last. */
const MAX_RECEIPTS = 500;

/** Messages of one request for receipts. */
const RECEIPTS_AT_ONCE = 100;

/** Result for one leg. */
export interface Reconciled {
  /** Messages that were missing in the ledger. */
  readonly missed: number;
  /** Messages that waited although their target had a receipt. */
  readonly ended: number;
}

/** Creates the worker. @param everySec `reconciliation_frequency` */
export function reconciliationWorker(deps: RelayDeps, legs: readonly Leg[], everySec: number): Worker {
  return {
    name: "reconciliation",
    run: async (signal) => {
      while (!signal.aborted) {
        await deps.clock.sleep(everySec * 1_000, signal);
        for (const leg of legs) {
          await reconcileQuietly({ ...leg, signal });
          await deps.clock.sleep(PAUSE_MS, signal);
        }
      }
    },
  };
}

/** Reconciles a leg; a chain that does not answer is asked again the next time. */
async function reconcileQuietly(leg: LegRun): Promise<void> {
  try {
    await reconcileLeg(leg);
  } catch (error) {
    leg.signal.throwIfAborted();
    if (!(error instanceof RpcFault)) throw error;
    leg.log.debug("reconciliation_interrupted", { leg: legName(leg), error });
  }
}

/** Reconciles a leg, and counts what was found. May throw an `RpcFault`. */
export async function reconcileLeg(leg: LegRun): Promise<Reconciled> {
  const { meta, cursors } = leg.ledger;
  const key = `reconciled on ${legName(leg)}`;
  const cursor = cursors.find(leg.source.id.stateMachine, leg.target.id.stateMachine);
  const before = meta.find(key);
  let missed = 0;
  // The first time there is nothing that was read before.
  if (cursor !== undefined && before !== undefined) {
    missed = (await recordMissed(leg, { from: BigInt(before) + 1n, to: cursor })).missed.length;
  }
  const ended = await endWaiting(leg);
  leg.ledger.transaction(() => {
    if (cursor !== undefined) meta.write(key, cursor.toString());
    meta.write(GAPS, (countGaps(leg.ledger) + missed + ended).toString());
  });
  const found = { leg: legName(leg), missed, ended };
  if (missed + ended > 0) leg.log.warn("reconciliation_found", found);
  else leg.log.debug("reconciliation_finished", found);
  return { missed, ended };
}

const GAPS = "gaps found by reconciliation";

/** Number of gaps that reconciliations have ever found: it should stay 0. */
export function countGaps({ meta }: { readonly meta: Meta }): number {
  return Number(meta.find(GAPS) ?? 0);
}

/** Ends messages that wait although their target has a receipt; returns their number. */
async function endWaiting(leg: LegRun): Promise<number> {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  const waiting = leg.ledger.messages.search({ states: openMessageStates, source, target }, MAX_RECEIPTS)
    .filter(({ kind, nextAttemptAtMs }) => kind !== "get" && nextAttemptAtMs > leg.clock.now());
  const candidates = waiting.flatMap((row) => toCandidate(row));
  let ended = 0;
  for (const part of partsOf(candidates, RECEIPTS_AT_ONCE)) {
    const receipts = await leg.target.reads.fetchReceipts(part.map(({ message }) => message), leg.signal);
    const seen = part.filter((_, index) => receipts[index] !== undefined);
    if (seen.length === 0) continue;
    const open = await endDelivered(leg, {
      candidates: seen,
      receipts: receipts.filter((receipt) => receipt !== undefined),
    });
    ended += seen.length - open.length;
  }
  return ended;
}
