/**
 * Finds out what became of every submission of one sink and writes it down: outcome and delivery records in one
 * ledger transaction (invariant I4). Works from the journal alone, so it also settles what an earlier run sent.
 */
import type { Chain, SubmissionOutcome } from "../../core/chains/chain.ts";
import type { SubmissionRow } from "../../core/ledger/ledger.ts";
import { RpcFault, type RpcFaultCode } from "../../core/rpc/fault.ts";
import { fatesByEvents, fatesByReceipts, isLostRace } from "../decisions/outcome.ts";
import { confirmFoundReceipts } from "./confirm.ts";
import { applyFate, finalise, messageRowOf, reopen, tryAgain } from "./fate.ts";
import type { PipelineDeps, PipelineSettings } from "./leg.ts";
import { messageOf } from "./message_row.ts";
import { rememberRivals, rememberWin } from "./rivals.ts";

type Included = Extract<SubmissionOutcome, { kind: "included" }>;

/** Blocks after which an extrinsic that is neither in a block nor in the pool is given up. */
const EXTRINSIC_PATIENCE_BLOCKS = 3n;

/** Time that handing over bytes may take: until then a signed submission without a verdict is left alone, ms. */
const BROADCAST_MS = 60_000;

/** Faults after which asking for another submission is pointless for now. */
const ABOUT_THE_ENDPOINT: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>([
  "timeout",
  "unreachable",
  "throttled",
]);

/** What settling shares. */
interface Settling {
  readonly deps: PipelineDeps;
  readonly settings: PipelineSettings;
  readonly sink: Chain;
  readonly signal: AbortSignal;
}

/** What a round of settling found. */
export interface SettleRound {
  /** Submissions still open, included ones that are not final left out. */
  readonly waiting: number;
  /** True when something changed that a leg may want to know. */
  readonly hasNews: boolean;
}

/** Looks at every unresolved submission of the sink once. A fault about one of them does not hold up the others. */
export async function settleAll(
  deps: PipelineDeps,
  settings: PipelineSettings,
  sink: Chain,
  signal: AbortSignal,
): Promise<SettleRound> {
  const work: Settling = { deps, settings, sink, signal };
  const rows = deps.ledger.submissions.listUnresolved(sink.id.stateMachine)
    .filter(({ kind }) => kind === "delivery");
  const needsFinal = rows.some(({ state }) => state === "included");
  const finalHeight = needsFinal ? await sink.fetchFinalHeight(signal) : 0n;
  let waiting = 0;
  let hasNews = false;
  let fault: RpcFault | undefined;
  for (const row of rows) {
    if (row.state === "included" && (row.block?.height ?? 0n) > finalHeight) continue;
    try {
      if (await settleOne(work, row)) hasNews = true;
      else if (row.state !== "included") waiting++;
    } catch (error) {
      if (!(error instanceof RpcFault) || ABOUT_THE_ENDPOINT.has(error.code)) throw error;
      fault ??= error;
    }
  }
  if (await confirmFoundReceipts(deps, sink, signal)) hasNews = true;
  if (fault !== undefined) throw fault;
  return { waiting, hasNews };
}

/** True when something changed. */
async function settleOne(work: Settling, row: SubmissionRow): Promise<boolean> {
  const outcome = await work.sink.fetchOutcome(row.submission, work.signal);
  switch (outcome.kind) {
    case "included":
      return outcome.succeeded ? settleSuccess(work, row, outcome) : await settleRevert(work, row, outcome);
    case "pending":
      return noteInPool(work.deps, row);
    case "replaced":
      await settleByReceipts(work, row, { state: "replaced", detail: "nonce used" });
      return true;
    case "unknown":
      return await settleUnknown(work, row);
  }
}

/** In the pool (again): a block that held it is gone, or the answer to the broadcast was lost. */
function noteInPool(deps: PipelineDeps, row: SubmissionRow): boolean {
  if (row.state === "broadcast") return false;
  deps.ledger.transaction(() => reopen(deps, row));
  return true;
}

/** True when the block is the one that the journal knows. */
function isKnownBlock(row: SubmissionRow, outcome: Included): boolean {
  return row.state === "included" && row.block?.hash === outcome.block.hash;
}

function settleSuccess(work: Settling, row: SubmissionRow, outcome: Included): boolean {
  const { deps } = work;
  const isKnown = isKnownBlock(row, outcome);
  if (isKnown && !outcome.isFinal) return false;
  deps.ledger.transaction(() => {
    if (!isKnown) recordInclusion(work, row, outcome);
    deps.ledger.submissions.update(row.id, {
      state: outcome.isFinal ? "final" : "included",
      block: outcome.block,
    });
    if (outcome.isFinal) finalise(deps, row);
  });
  return true;
}

/** Writes the fate of each message of a successful transaction, as the host's events tell it. */
function recordInclusion({ deps, settings, sink }: Settling, row: SubmissionRow, outcome: Included): void {
  if (row.state === "included") reopen(deps, row);
  const items = deps.ledger.submissions.itemsOf(row.id);
  const ourself = ourselfOn(sink);
  const fates = fatesByEvents(items.map(({ requestCommitment }) => requestCommitment), outcome, ourself);
  const seen = { kind: "included", block: outcome.block, isFinal: outcome.isFinal } as const;
  for (const [index, item] of items.entries()) {
    applyFate(deps, settings, { sink, row, item, fate: fates[index] ?? "undelivered", ourself, seen });
  }
  rememberWin(deps, sink);
}

function ourselfOn(sink: Chain): Uint8Array {
  if (sink.relayer === undefined) throw new Error(`No relayer address on ${sink.id.stateMachine}`);
  return sink.relayer;
}

/** Reverted: it stays under observation until that is final, since another block may let it succeed. */
async function settleRevert(work: Settling, row: SubmissionRow, outcome: Included): Promise<boolean> {
  const detail = outcome.refusal?.detail ?? "reverted";
  const state = outcome.isFinal ? "failed" : "included";
  if (!isKnownBlock(row, outcome)) {
    await settleByReceipts(work, row, { state, detail, block: outcome.block });
    return true;
  }
  if (!outcome.isFinal) return false;
  const { deps } = work;
  deps.ledger.transaction(() => void deps.ledger.submissions.update(row.id, { state, block: outcome.block }));
  return true;
}

/** Neither in a block nor in the pool: hand it over again, or give it up where another one may take its place. */
async function settleUnknown(work: Settling, row: SubmissionRow): Promise<boolean> {
  const { deps, sink, signal } = work;
  if (row.state === "included") {
    deps.log.warn("A block with our transaction was reorganised away", {
      chain: sink.id.stateMachine,
      transaction: row.submission.hash,
    });
    deps.ledger.transaction(() => reopen(deps, row));
    return true;
  }
  if (isBeingSent(deps, row)) return false;
  if (row.submission.nonce !== undefined) return await broadcastAgain(work, row);
  const head = await sink.fetchHeight(signal);
  if (head < row.submission.madeAtHeight + EXTRINSIC_PATIENCE_BLOCKS) return false;
  await settleByReceipts(work, row, { state: "dropped", detail: "left the pool" });
  return true;
}

/** True while the leg may still wait for the answer to the broadcast. */
function isBeingSent(deps: PipelineDeps, row: SubmissionRow): boolean {
  const isNew = deps.clock.now() - row.createdAtMs < BROADCAST_MS;
  return row.state === "signed" && row.detail === undefined && isNew;
}

/**
 * True when later transactions of the account wait for this one: its nonce must be used up, or none of them is ever
 * mined.
 */
function holdsNonceForOthers(deps: PipelineDeps, row: SubmissionRow): boolean {
  const { account, chain, nonce } = row.submission;
  if (nonce === undefined) return false;
  const waiting = deps.ledger.submissions.listUnresolved(chain)
    .filter(({ id, state, submission }) =>
      id !== row.id && state !== "included" && submission.account === account
    ).flatMap(({ submission }) => submission.nonce === undefined ? [] : [submission.nonce]);
  return waiting.some((other) => other > nonce) && !waiting.includes(nonce);
}

/**
 * Hands the same bytes over again, unless one of the messages has been delivered meanwhile: it would revert, which
 * is right only if other transactions wait for its nonce.
 */
async function broadcastAgain(work: Settling, row: SubmissionRow): Promise<boolean> {
  const { deps, sink, signal } = work;
  const messages = deps.ledger.submissions.itemsOf(row.id).map((item) => messageOf(messageRowOf(deps, item)));
  const receipts = await sink.fetchReceipts(messages, signal);
  const mustStay = holdsNonceForOthers(deps, row);
  if (!mustStay && receipts.some((receipt) => receipt !== undefined)) {
    await settleByReceipts(work, row, { state: "dropped", detail: "delivered meanwhile" });
    return true;
  }
  const result = await sink.broadcast(row.submission, signal);
  switch (result.kind) {
    case "sent":
    case "alreadyKnown":
      deps.ledger.transaction(() => void deps.ledger.submissions.update(row.id, { state: "broadcast" }));
      return row.state !== "broadcast";
    case "nonceUsed":
      return false; // the next round sees the receipt or the other transaction
    case "underpriced":
    case "refused": {
      if (mustStay) return false;
      const detail = result.kind === "refused" ? result.refusal.detail : result.kind;
      await settleByReceipts(work, row, { state: "dropped", detail });
      return true;
    }
  }
}

/** How a submission without an effect of its own ends. */
interface EndWithoutEffect {
  readonly state: "failed" | "included" | "replaced" | "dropped";
  readonly detail: string;
  /** Block in which it was reverted. */
  readonly block?: Included["block"];
}

/** Settles a submission without an effect of its own by what the receipts of its messages say now. */
async function settleByReceipts(work: Settling, row: SubmissionRow, end: EndWithoutEffect): Promise<void> {
  const { deps, settings, sink, signal } = work;
  const items = deps.ledger.submissions.itemsOf(row.id);
  const receipts = await sink.fetchReceipts(items.map((item) => messageOf(messageRowOf(deps, item))), signal);
  const head = await sink.fetchHeight(signal);
  const ourself = ourselfOn(sink);
  const fates = fatesByReceipts(receipts, ourself);
  const isRace = isLostRace(fates);
  const isReverted = end.block !== undefined;
  const others = receipts.filter((relayer, index) =>
    relayer !== undefined && fates[index] === "delivered_by_other"
  ).flatMap((relayer) => relayer === undefined ? [] : [relayer]);
  deps.ledger.transaction(() => {
    // What an earlier block had written for it does not hold any more.
    if (row.state === "included") reopen(deps, row);
    rememberRivals(deps, sink, others, isReverted);
    for (const [index, item] of items.entries()) {
      const fate = fates[index] ?? "undelivered";
      applyFate(deps, settings, { sink, row, item, fate, ourself, seen: { kind: "receipt", head } });
      if (fate === "undelivered") {
        tryAgain(deps, settings, { sink, row, item, isRace, isReverted, detail: end.detail });
      }
    }
    deps.ledger.submissions.update(row.id, end);
  });
  deps.log.info("Transaction had no effect of its own", {
    chain: sink.id.stateMachine,
    transaction: row.submission.hash,
    outcome: isReverted ? "reverted" : end.state,
    detail: end.detail,
  });
}
