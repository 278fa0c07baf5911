/**
 * Finds out what became of every submission of one sink and writes it down: outcome and delivery records in one
 * ledger transaction (invariant I4). Works from the journal alone, so it also settles what an earlier run sent.
 */
import type { Chain, SubmissionOutcome } from "../../core/chains/chain.ts";
import type { MessageRow, SubmissionItemRow, SubmissionRow } from "../../core/ledger/ledger.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import { fatesByEvents, fatesByReceipts, isLostRace, type ItemFate } from "../decisions/outcome.ts";
import { nextAttemptMs } from "../decisions/retry_schedule.ts";
import type { PipelineDeps, PipelineSettings } from "./leg.ts";
import { endOfFate, hold, mark } from "./mark.ts";
import { messageOf } from "./message_row.ts";

type Included = Extract<SubmissionOutcome, { kind: "included" }>;

/** Blocks after which an extrinsic that is neither in a block nor in the pool is given up. */
const EXTRINSIC_PATIENCE_BLOCKS = 3n;

/** Pause before messages of a lost race are tried again: up to this long, drawn by chance, so that rivals part. */
const RACE_PAUSE_MS = 4_000;

/** Attempts after a revert that is not a lost race, before the schedule of failures takes over. */
const PROMPT_ATTEMPTS = 2;

/** What a round of settling found. */
export interface SettleRound {
  /** Submissions still open, included ones that are not final left out. */
  readonly waiting: number;
  /** True when something changed that a leg may want to know. */
  readonly hasNews: boolean;
}

/** Looks at every unresolved submission of the sink once. */
export async function settleAll(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  signal: AbortSignal,
): Promise<SettleRound> {
  const rows = deps.ledger.submissions.listUnresolved(sink.id.stateMachine)
    .filter(({ kind }) => kind === "delivery");
  if (rows.length === 0) return { waiting: 0, hasNews: false };
  const needsFinal = rows.some(({ state }) => state === "included");
  const finalHeight = needsFinal ? await sink.fetchFinalHeight(signal) : 0n;
  let waiting = 0;
  let hasNews = false;
  for (const row of rows) {
    if (row.state === "included" && (row.block?.height ?? 0n) > finalHeight) continue;
    const settled = await settleOne(deps, settings, sink, row, signal);
    if (settled) hasNews = true;
    else waiting++;
  }
  return { waiting, hasNews };
}

async function settleOne(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  row: SubmissionRow,
  signal: AbortSignal,
): Promise<boolean> {
  const outcome = await sink.fetchOutcome(row.submission, signal);
  switch (outcome.kind) {
    case "included":
      return await settleIncluded(deps, settings, sink, { row, outcome }, signal);
    case "pending":
      return noteInPool(deps, row);
    case "replaced":
      await settleByReceipts(deps, settings, sink, { row, state: "replaced", detail: "nonce used" }, signal);
      return true;
    case "unknown":
      return await settleUnknown(deps, settings, sink, row, signal);
  }
}

/** In the pool (again): a block that held it is gone, or the answer to the broadcast was lost. */
function noteInPool(deps: PipelineDeps, row: SubmissionRow): boolean {
  if (row.state === "broadcast") return false;
  deps.ledger.transaction(() => reopen(deps, row));
  return true;
}

async function settleIncluded(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  work: { readonly row: SubmissionRow; readonly outcome: Included },
  signal: AbortSignal,
): Promise<boolean> {
  const { row, outcome } = work;
  if (!outcome.succeeded) {
    const detail = outcome.refusal?.detail ?? "reverted";
    await settleByReceipts(
      deps,
      settings,
      sink,
      { row, state: "failed", detail, block: outcome.block },
      signal,
    );
    return true;
  }
  const isKnown = row.state === "included" && row.block?.hash === outcome.block.hash;
  deps.ledger.transaction(() => {
    if (!isKnown) recordInclusion(deps, settings, sink, { row, outcome });
    deps.ledger.submissions.update(row.id, {
      state: outcome.isFinal ? "final" : "included",
      block: outcome.block,
    });
    if (outcome.isFinal) finalise(deps, row);
  });
  return true;
}

/** Writes the fate of each message of a successful transaction, as the host's events tell it. */
function recordInclusion(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  work: { readonly row: SubmissionRow; readonly outcome: Included },
): void {
  const { row, outcome } = work;
  if (row.state === "included") reopen(deps, row);
  const items = deps.ledger.submissions.itemsOf(row.id);
  const ourself = ourselfOn(sink);
  const fates = fatesByEvents(items.map(({ requestCommitment }) => requestCommitment), outcome, ourself);
  for (const [index, item] of items.entries()) {
    applyFate(deps, settings, { row, item, fate: fates[index] ?? "undelivered", ourself, outcome });
  }
}

function ourselfOn(sink: Chain): Uint8Array {
  if (sink.relayer === undefined) throw new Error(`No relayer address on ${sink.id.stateMachine}`);
  return sink.relayer;
}

interface FateWork {
  readonly row: SubmissionRow;
  readonly item: SubmissionItemRow;
  readonly fate: ItemFate;
  readonly ourself: Uint8Array;
  readonly outcome: Included | undefined;
}

/** Applies one fate to the message row, the delivery records and the journal's item. */
function applyFate(deps: PipelineDeps, settings: PipelineSettings, work: FateWork): void {
  const { row, item, fate } = work;
  const message = deps.ledger.messages.find(item.commitment, item.sink);
  if (message === undefined) throw new Error(`Journalled message ${item.commitment} has no row`);
  if (fate === "delivered" || fate === "delivered_by_other") {
    if (fate === "delivered") recordDelivery(deps, message, work);
    deps.ledger.submissions.settleItem(
      row.id,
      item.commitment,
      fate === "delivered" ? "handled" : "by_other",
    );
    const end = endOfFate(fate);
    if (message.state !== end.state) {
      mark(deps, message, end.state, { reason: end.reason, hash: row.submission.hash });
    }
    return;
  }
  deps.ledger.submissions.settleItem(row.id, item.commitment, "not_handled");
  if (message.state !== "submitted" || fate === "undelivered") return;
  const executed = mark(deps, message, "not_executed", { reason: "not_executed", hash: row.submission.hash });
  hold(deps, settings, executed, {
    reason: "not_executed",
    retryClass: message.sink === settings.hub ? "hub_refused" : "failed",
    detail: "mined, but the host recorded no delivery: the receiving module failed",
  });
}

function recordDelivery(deps: PipelineDeps, message: MessageRow, work: FateWork): void {
  const { outcome, row } = work;
  deps.ledger.deliveries.record({
    commitment: message.requestCommitment,
    dest: message.sink,
    source: message.requestSource,
    relayer: work.ourself,
    txHash: row.submission.hash,
    block: outcome === undefined ? { height: row.submission.madeAtHeight, hash: undefined } : outcome.block,
    isFinal: outcome?.isFinal ?? false,
  });
  // Only requests that crossed from a chain to a chain carry a fee that the hub credits.
  if (message.kind !== "post" || message.requestDest !== message.sink) {
    deps.ledger.deliveries.setClaimState(message.requestCommitment, message.sink, "no_fee");
  }
}

/** Marks the deliveries of a final transaction. */
function finalise(deps: PipelineDeps, row: SubmissionRow): void {
  for (const item of deps.ledger.submissions.itemsOf(row.id)) {
    if (item.outcome === "handled") deps.ledger.deliveries.markFinal(item.requestCommitment, item.sink);
  }
}

/** Takes back what was written for a block that is no longer there; the messages count as under way again. */
function reopen(deps: PipelineDeps, row: SubmissionRow): void {
  for (const item of deps.ledger.submissions.itemsOf(row.id)) {
    const message = deps.ledger.messages.find(item.commitment, item.sink);
    if (message === undefined || message.state === "submitted") continue;
    deps.ledger.deliveries.remove(item.requestCommitment, item.sink);
    if (message.state === "timed_out" || message.state === "gone" || message.state === "rejected") continue;
    const ready = message.state === "ready"
      ? message
      : mark(deps, message, "ready", { detail: "block reorganised" });
    mark(deps, ready, "submitted", { hash: row.submission.hash });
  }
  deps.ledger.submissions.reopenItems(row.id);
  deps.ledger.submissions.update(row.id, { state: "broadcast" });
}

/** Neither in a block nor in the pool: hand it over again, or give it up where another one may take its place. */
async function settleUnknown(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  row: SubmissionRow,
  signal: AbortSignal,
): Promise<boolean> {
  if (row.state === "included") {
    deps.log.warn("A block with our transaction was reorganised away", {
      chain: sink.id.stateMachine,
      transaction: row.submission.hash,
    });
    deps.ledger.transaction(() => reopen(deps, row));
    return true;
  }
  if (row.submission.nonce !== undefined) return await broadcastAgain(deps, settings, sink, row, signal);
  const head = await sink.fetchHeight(signal);
  if (head < row.submission.madeAtHeight + EXTRINSIC_PATIENCE_BLOCKS) return false;
  await settleByReceipts(deps, settings, sink, { row, state: "dropped", detail: "left the pool" }, signal);
  return true;
}

async function broadcastAgain(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  row: SubmissionRow,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const result = await sink.broadcast(row.submission, signal);
    if (result.kind === "sent" || result.kind === "alreadyKnown") {
      if (row.state !== "broadcast") deps.ledger.transaction(() => markBroadcast(deps, row));
      return row.state !== "broadcast";
    }
    if (result.kind === "nonceUsed") return false; // the next round sees the receipt or the other transaction
    const detail = result.kind === "refused" ? result.refusal.detail : result.kind;
    await settleByReceipts(deps, settings, sink, { row, state: "dropped", detail }, signal);
    return true;
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    return false;
  }
}

function markBroadcast(deps: PipelineDeps, row: SubmissionRow): void {
  deps.ledger.submissions.update(row.id, { state: "broadcast" });
}

/** Settles a submission without an effect of its own by what the receipts of its messages say now. */
async function settleByReceipts(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  work: {
    readonly row: SubmissionRow;
    readonly state: "failed" | "replaced" | "dropped";
    readonly detail: string;
    readonly block?: Included["block"];
  },
  signal: AbortSignal,
): Promise<void> {
  const { row } = work;
  const items = deps.ledger.submissions.itemsOf(row.id);
  const messages = items.map((item) => {
    const message = deps.ledger.messages.find(item.commitment, item.sink);
    if (message === undefined) throw new Error(`Journalled message ${item.commitment} has no row`);
    return message;
  });
  const receipts = await sink.fetchReceipts(messages.map(messageOf), signal);
  const ourself = ourselfOn(sink);
  const fates = fatesByReceipts(receipts, ourself);
  deps.ledger.transaction(() => {
    for (const [index, item] of items.entries()) {
      const fate = fates[index] ?? "undelivered";
      applyFate(deps, settings, { row, item, fate, ourself, outcome: undefined });
      if (fate === "undelivered") {
        tryAgain(deps, settings, messages[index], { isRace: isLostRace(fates), ...work });
      }
    }
    deps.ledger.submissions.update(row.id, {
      state: work.state,
      detail: work.detail,
      ...(work.block === undefined ? {} : { block: work.block }),
    });
  });
  deps.log.info("Transaction had no effect of its own", {
    chain: sink.id.stateMachine,
    transaction: row.submission.hash,
    outcome: work.state,
    detail: work.detail,
  });
}

/** Gives an undelivered message another try: soon after a lost race or a first revert, later otherwise. */
function tryAgain(
  deps: PipelineDeps,
  settings: PipelineSettings,
  message: MessageRow | undefined,
  why: { readonly isRace: boolean; readonly state: string; readonly detail: string },
): void {
  if (message?.state !== "submitted") return;
  const nowMs = deps.clock.now();
  const pauseMs = Math.round(deps.random.fraction() * RACE_PAUSE_MS);
  if (why.isRace || why.state !== "failed") {
    mark(deps, message, "ready", { reason: "race", detail: why.detail, nextAttemptAtMs: nowMs + pauseMs });
    return;
  }
  const attempts = message.attempts + 1;
  const retryClass = message.sink === settings.hub ? "hub_refused" : "failed";
  const schedule = { retryClass, attempts, nowMs, jitter: deps.random.fraction() } as const;
  const nextAttemptAtMs = attempts <= PROMPT_ATTEMPTS
    ? nowMs + pauseMs
    : nextAttemptMs({ ...schedule, retryFrequencySec: settings.retryFrequencySec });
  mark(deps, message, "held", { reason: "reverted", detail: why.detail, attempts, nextAttemptAtMs });
}
