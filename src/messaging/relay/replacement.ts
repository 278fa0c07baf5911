/**
 * Replacement of transactions that are not mined in time: a higher price at the same nonce, up to three times and while
 * it is profitable, then a cancelling transfer. Each is in the journal before it is sent
 * (docs/architecture/messaging.md, I3). When and at which price is decided in `core/chains/replacement_policy.ts` and
 * `decisions/price_cap.ts`.
 */
import type { BroadcastResult, SignedSubmission } from "../../core/chains/port.ts";
import { expectedGas, highestPriceWei } from "../../core/chains/evm/gas.ts";
import type { ReplacementState } from "../../core/chains/replaceable.ts";
import { type SubmissionRow, unresolvedSubmissionStates } from "../ledger/ledger.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import {
  bumpPrice,
  decideReplacement,
  type ReplacementDecision,
  STUCK_AFTER_MS,
} from "../../core/chains/replacement_policy.ts";
import { type PriceCapInput, priceCaps, shortfallWei } from "./decisions/price_cap.ts";
import { noteRefusedFunds, suspendUnfunded } from "./gas_balance.ts";
import { readTransactionRevenue } from "./batch_revenue.ts";
import { isSpendingStopped } from "./loss_limit.ts";
import type { ReplacementContext } from "./replacement_context.ts";
import { noteNoAnswer } from "./send.ts";
import type { Settling } from "./settlement.ts";

/** Nonce whose transactions are pending. */
interface Place {
  readonly nonce: bigint;
  /** Newest transaction that may still be mined according to the journal. */
  readonly newest: SubmissionRow;
  /** Newest transaction ever signed, with the highest price. */
  readonly dearest: SubmissionRow;
  /** Number of deliveries after the first open one. */
  readonly replacements: number;
}

/**
 * Replaces a transaction that has been pending too long. True when it did; false when it is too early or there is
 * nothing to do.
 * @param rows everything of one nonce, oldest first; at least one is unresolved and none is known to be mined
 */
export async function replaceStuck(work: Settling, rows: readonly SubmissionRow[]): Promise<boolean> {
  const { deps, replacing, signal } = work;
  const place = placeOf(rows);
  if (replacing === undefined || place === undefined) return false;
  const { nonce, newest, dearest } = place;
  if (deps.clock.now() < dearest.createdAtMs + STUCK_AFTER_MS) return false;
  if (isSpendingStopped(deps, work.target)) return false;
  const terms = await replacing.chain.fetchReplacementState(dearest.submission, signal);
  // It waits for lower nonces, not for a better price.
  if (terms.nonces.latest < nonce) return false;
  const facts = await readPriceCapInput(work, replacing, { newest, dearest, terms });
  if (facts === undefined) return false;
  const decision = decideReplacement({
    nonce,
    price: terms.offered,
    isCancel: newest.kind === "cancel",
    isHandlerReplaced: await isHandlerReplaced(work, replacing, { newest, dearest, terms }),
    replacements: place.replacements,
    sentAtMs: dearest.createdAtMs,
    nowMs: deps.clock.now(),
    latestNonce: terms.nonces.latest,
    market: terms.market,
    ...priceCaps(facts),
  });
  reportShortfall(work, facts, terms);
  return await act(work, replacing, place, decision);
}

function placeOf(rows: readonly SubmissionRow[]): Place | undefined {
  const open = rows.filter(({ state }) => unresolvedSubmissionStates.some((other) => other === state));
  const [first] = open;
  const newest = open.at(-1);
  const dearest = rows.at(-1);
  const nonce = newest?.submission.nonce;
  if (first === undefined || newest === undefined || dearest === undefined || nonce === undefined) {
    return undefined;
  }
  const replacements = rows.filter(({ id, kind }) => id > first.id && kind === "delivery").length;
  return { nonce, newest, dearest, replacements };
}

/**
 * True when the transaction to be replaced calls a handler that no longer exists; the terms report it for the
 * highest-priced one.
 */
async function isHandlerReplaced(
  { signal }: Settling,
  { chain }: ReplacementContext,
  { newest, dearest, terms }: Pick<Place, "newest" | "dearest"> & { readonly terms: ReplacementState },
): Promise<boolean> {
  const ofNewest = newest.id === dearest.id
    ? terms
    : await chain.fetchReplacementState(newest.submission, signal);
  return ofNewest.isHandlerReplaced;
}

/** Reads the input of the price caps; `undefined`: not known yet. */
async function readPriceCapInput(
  work: Settling,
  replacing: ReplacementContext,
  at: { readonly newest: SubmissionRow; readonly dearest: SubmissionRow; readonly terms: ReplacementState },
): Promise<PriceCapInput | undefined> {
  const { newest, terms } = at;
  const gasLimit = newest.submission.gasLimit ?? 0n;
  const income = newest.kind === "cancel"
    ? { kind: "none" as const }
    : await readTransactionRevenue(work, replacing, newest);
  if (income === undefined) return undefined;
  const dataCostWei = income.kind === "fees" || income.kind === "reward"
    ? await replacing.chain.fetchDataCost(newest.submission.raw, work.signal)
    : 0n;
  const marketWei = highestPriceWei(terms.market);
  return {
    income,
    gas: expectedGas(gasLimit),
    gasLimit,
    dataCostWei,
    marketWei,
    balanceWei: terms.balanceWei,
  };
}

/** Reports the shortfall when the account cannot pay for the next higher price. */
function reportShortfall({ deps, target }: Settling, facts: PriceCapInput, terms: ReplacementState): void {
  if (facts.income.kind === "none") return;
  const wanted = bumpPrice(terms.offered, terms.market, { capWei: undefined });
  if (wanted === undefined) return;
  const missingWei = shortfallWei(facts, highestPriceWei(wanted));
  if (missingWei === 0n) return;
  suspendUnfunded(
    deps,
    target,
    `a pending transaction needs a higher price: ${missingWei} wei are missing in addition to ${facts.balanceWei} wei`,
  );
}

async function act(
  work: Settling,
  { chain }: ReplacementContext,
  { newest }: Place,
  decision: ReplacementDecision,
): Promise<boolean> {
  switch (decision.kind) {
    case "wait":
    case "look_up":
      return false; // the next round sees what was mined
    case "replace": {
      const submission = await chain.resign(newest.submission, decision.price);
      await sendReplacement(work, {
        old: newest,
        submission,
        kind: "delivery",
        why: `attempt ${decision.number}`,
      });
      return true;
    }
    case "cancel": {
      const submission = await chain.cancel(newest.submission, decision.price, work.signal);
      await sendReplacement(work, { old: newest, submission, kind: "cancel", why: decision.why });
      return true;
    }
    case "rebroadcast":
      await work.target.broadcast(newest.submission, work.signal);
      return false;
  }
}

/** Transaction that replaces another one. */
export interface Successor {
  readonly old: SubmissionRow;
  readonly submission: SignedSubmission;
  readonly kind: "delivery" | "cancel";
  readonly why: string;
}

/** Journals a replacement transaction, then broadcasts it. */
export async function sendReplacement(work: Settling, successor: Successor): Promise<void> {
  const { deps, target, signal } = work;
  const { old, submission, kind } = successor;
  signal.throwIfAborted();
  const { submissions } = deps.ledger;
  // A reorganised transaction may hold messages that another one carries by now: they stay there.
  const items = kind === "cancel" ? [] : submissions.itemsOf(old.id)
    .filter(({ outcome }) => outcome === undefined)
    .map(({ commitment, requestCommitment, target: to }) => ({ commitment, requestCommitment, target: to }));
  const { legSource } = old;
  const id = deps.ledger.transaction(() =>
    submissions.record({ submission, kind, items, replaces: old.id, legSource })
  );
  deps.log.info(
    kind === "cancel" ? "nonce_cleared" : "transaction_replaced",
    {
      chain: target.id.stateMachine,
      nonce: submission.nonce,
      replaced: old.submission.hash,
      transaction: submission.hash,
      why: successor.why,
      ...(submission.gasPriceWei === undefined ? {} : { gasPriceWei: submission.gasPriceWei }),
    },
  );
  let result: BroadcastResult;
  try {
    result = await target.broadcast(submission, signal);
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    deps.ledger.transaction(() => noteNoAnswer(deps, id));
    return;
  }
  takeAnswer(work, id, result);
}

function takeAnswer(work: Settling, id: number, result: BroadcastResult): void {
  const { deps } = work;
  const { submissions } = deps.ledger;
  switch (result.kind) {
    case "sent":
    case "alreadyKnown":
      deps.ledger.transaction(() => void submissions.update(id, { state: "broadcast" }));
      return;
    case "nonceUsed":
      deps.ledger.transaction(() => noteNoAnswer(deps, id));
      return;
    case "underpriced":
    case "refused":
      if (result.kind === "refused") noteRefusedFunds(deps, work.target, result.refusal);
      // The previous one is still pending; the next increase starts from this price.
      deps.ledger.transaction(() => {
        for (const { commitment } of submissions.itemsOf(id)) {
          submissions.settleItem(id, commitment, "not_handled");
        }
        const detail = result.kind === "refused" ? result.refusal.detail : result.kind;
        submissions.update(id, { state: "dropped", detail });
      });
  }
}
