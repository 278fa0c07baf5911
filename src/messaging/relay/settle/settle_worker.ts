/**
 * Loop that settles the submissions of one target, from the journal alone, so that submissions of an earlier run are
 * settled too. Recording an outcome is in `settlement.ts`; several transactions of one nonce are in `nonces.ts`.
 */
import type { Chain } from "../../../core/chains/port.ts";
import { RpcFault, type RpcFaultCode } from "../../../core/rpc/call.ts";
import { WaitNotices, type Wake } from "../../../core/runtime/waiting.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import { hasRoom, noteNoAnswer } from "../limits/capacity.ts";
import type { Settling } from "../leg.ts";
import { transition } from "../messages.ts";
import type { SubmissionRow } from "../../ledger/ledger.ts";
import { Limit } from "../../../core/runtime/limit.ts";
import { confirmForeignReceipts, confirmFoundReceipts } from "./receipt_checks.ts";
import { leaveGaps, type RequestedOutcomes, settleSameNonce } from "./nonces.ts";
import { reviewLoss } from "../limits/spending.ts";
import { settleByReceipts } from "./settlement.ts";

/** Poll interval while a receipt of another relayer is not final, ms. */
const FOREIGN_POLL_MS = 15_000;

/** Divisor of the poll interval when a worker waits for the result. */
const SOONER = 8;

/** Target with the workers to wake when its submissions are settled. */
export interface SettledTarget extends Omit<Settling, "signal"> {
  /** Chains whose legs lead to the target. */
  readonly sources: readonly Chain[];
  readonly everyMs: number;
  /** Woken after a batch was sent. */
  readonly wake: Wake;
  /** Legs to wake when something was settled. */
  readonly legs: readonly Wake[];
}

/** Creates the worker that settles the submissions of one target. */
export function settleWorker(work: SettledTarget): Worker {
  const { target } = work;
  const notices = new WaitNotices(work);
  return {
    name: `settle ${target.id.stateMachine}`,
    run: async (signal) => {
      recoverSubmitted(work);
      let foreignAfterMs = 0;
      while (!signal.aborted) {
        try {
          const { waiting, hasChanges } = await settleAll({ ...work, signal });
          const isForeignDue = work.clock.now() >= foreignAfterMs;
          if (isForeignDue) foreignAfterMs = work.clock.now() + FOREIGN_POLL_MS;
          const isUndone = isForeignDue && await confirmForeignReceipts({ ...work, signal });
          if (isUndone || hasChanges) work.legs.forEach((leg) => leg.wake());
          if (waiting === 0) notices.done("inclusion");
          else {
            const fields = { chain: target.id.stateMachine, transactions: waiting };
            notices.waiting("inclusion", { event: "long_wait.inclusion", fields });
          }
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof RpcFault)) throw error;
          work.log.debug("read_failed.settlement", { chain: target.id.stateMachine, error });
        }
        const isAwaited = isRoomAwaited(work);
        const wait = await work.wake.wait(isAwaited ? work.everyMs / SOONER : work.everyMs, signal);
        // A transaction just sent is not in a block yet, and more may follow.
        if (wait === "woken") await work.clock.sleep(work.everyMs / SOONER, signal);
      }
    },
  };
}

/** True when due messages wait for a pending transaction to be settled. */
function isRoomAwaited(context: SettledTarget): boolean {
  const { target, sources } = context;
  if (context.ledger.submissions.listInFlight(target.id.stateMachine).length === 0) return false;
  const nowMs = context.clock.now();
  const isAnyDue = sources.some((source) => {
    const dueAtMs = context.ledger.messages.nextDueAt(source.id.stateMachine, target.id.stateMachine);
    return dueAtMs !== undefined && dueAtMs <= nowMs;
  });
  return isAnyDue && !hasRoom(context);
}

/**
 * Recovers what an earlier run left behind. Signed submissions are no longer being broadcast: settling takes them over.
 * Rows that count as submitted although no open submission carries them (a crash between two writes of an older
 * version, or a pruned submission) become ready, and their receipts are read first.
 */
function recoverSubmitted(context: SettledTarget): void {
  const { messages, submissions } = context.ledger;
  const target = context.target.id.stateMachine;
  const unresolved = submissions.listUnresolved(target);
  context.ledger.transaction(() => unresolved.forEach(({ id }) => noteNoAnswer(context, id)));
  const open = new Set(
    unresolved.flatMap(({ id }) => submissions.itemsOf(id))
      .filter(({ outcome }) => outcome === undefined).map(({ commitment }) => commitment),
  );
  for (const source of context.sources) {
    const lost = messages.listSubmitted({ source: source.id.stateMachine, target, limit: 100_000 })
      .filter((row) => !open.has(row.commitment));
    for (const row of lost) {
      transition(context, row, { to: "ready", detail: "no open transaction carries it" });
    }
  }
}

/** Faults after which polling another submission is pointless for now. */
const ABOUT_THE_ENDPOINT: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>([
  "timeout",
  "unreachable",
  "throttled",
]);

/** Maximum number of outcomes polled concurrently. */
const MAX_OUTCOMES_AT_ONCE = 4;

/** Result of a settling round. */
export interface SettleRound {
  /** Number of submissions still open, without included ones that are not final. */
  readonly waiting: number;
  /** True when something changed that may concern a leg. */
  readonly hasChanges: boolean;
}

/**
 * Checks every unresolved submission of the target once. A fault of one does not block the others. With `replacement`,
 * transactions that are pending too long are replaced.
 */
export async function settleAll(
  context: Settling,
): Promise<SettleRound> {
  const { target, replacement, signal } = context;
  // Includes what an earlier round recorded, even if it did not complete.
  await reviewLoss(context);
  const groups = groupByNonce(context.ledger.submissions.listUnresolved(target.id.stateMachine));
  const needsFinal = groups.some((rows) => rows.some(({ state }) => state === "included"));
  const finalHeight = needsFinal ? await target.reads.fetchFinalHeight(signal) : 0n;
  let waiting = 0;
  let hasChanges = false;
  let fault: RpcFault | undefined;
  const attempt = async (step: () => Promise<boolean>): Promise<boolean> => {
    try {
      if (!await step()) return false;
      hasChanges = true;
      return true;
    } catch (error) {
      if (!(error instanceof RpcFault) || ABOUT_THE_ENDPOINT.has(error.code)) throw error;
      fault ??= error;
      return true;
    }
  };
  const due = groups.filter((rows) =>
    !rows.some(({ state, block }) => state === "included" && (block?.height ?? 0n) > finalHeight)
  );
  const requested = requestOutcomes(context, due);
  for (const rows of due) {
    const isSettled = await attempt(() => settleGroup(context, rows, requested));
    if (!isSettled) waiting += rows.filter(({ state }) => state !== "included").length;
  }
  const sinceMs = context.clock.now() - GIVEN_UP_MS;
  for (const [row] of groupByNonce(context.ledger.submissions.listGivenUp(target.id.stateMachine, sinceMs))) {
    if (row !== undefined) {
      await attempt(() => settleSameNonce(context, listCompetingSubmissions(context, row)));
    }
  }
  if (replacement !== undefined) await attempt(() => leaveGaps(context, replacement));
  if (await confirmFoundReceipts(context)) hasChanges = true;
  await reviewLoss(context);
  if (fault !== undefined) throw fault;
  return { waiting, hasChanges };
}

/** Time after a transaction was mined for which those given up above its nonce are looked up, ms: a pool may have them. */
const GIVEN_UP_MS = 3_600_000;

/** Groups deliveries and cancellations by nonce, in their order. */
function groupByNonce(rows: readonly SubmissionRow[]): SubmissionRow[][] {
  const keyOf = ({ id, submission: { account, nonce } }: SubmissionRow): string =>
    account === undefined || nonce === undefined ? `row ${id}` : `${account} ${nonce}`;
  const own = rows.filter(({ kind }) => kind === "delivery" || kind === "cancel");
  return [...Map.groupBy(own, keyOf).values()];
}

/** Requests the outcomes of submissions that share their nonce with no other in the list, a few concurrently. */
function requestOutcomes(
  context: Settling,
  groups: readonly (readonly SubmissionRow[])[],
): RequestedOutcomes {
  const limit = new Limit(MAX_OUTCOMES_AT_ONCE);
  return new Map(groups.flatMap(([row, ...others]) => {
    if (row === undefined || others.length > 0) return [];
    const outcome = limit.run(
      () => context.target.outcomes.fetchOutcome(row.submission, context.signal),
      context.signal,
    );
    outcome.catch(() => undefined); // handled where it is awaited
    return [[row.id, outcome] as const];
  }));
}

/**
 * Time after which a submission counts as dropped that is in no block, ms: endpoints may call it pending forever, and
 * its messages would wait as long. Whatever still happens to it is found by its receipts.
 */
const MAX_OPEN_MS = 24 * 3_600_000;

/** Settles the submissions of one nonce. True when something changed. */
async function settleGroup(
  context: Settling,
  rows: readonly SubmissionRow[],
  requested: RequestedOutcomes,
): Promise<boolean> {
  const [row] = rows;
  if (row === undefined) return false;
  const competitors = listCompetingSubmissions(context, row);
  const hasChanges = await settleSameNonce(context, competitors, requested);
  const isOld = competitors.every(({ createdAtMs }) => context.clock.now() - createdAtMs >= MAX_OPEN_MS);
  if (hasChanges || !isOld) return hasChanges;
  const open = rows.filter(({ state }) => state !== "included");
  const end = { state: "dropped", detail: "in no block after a day", reason: "stuck" } as const;
  for (const row of open) await settleByReceipts(context, row, end);
  return open.length > 0;
}

/** Lists everything in the journal ever signed for the nonce of `row`: any of it may be mined. */
function listCompetingSubmissions(context: Settling, row: SubmissionRow): readonly SubmissionRow[] {
  const { account, chain, nonce } = row.submission;
  if (account === undefined || nonce === undefined) return [row];
  return context.ledger.submissions.listByNonce(chain, account, nonce);
}
