/**
 * Decides when messages between two modules are delivered again after a delivery that cost gas and had no effect. Pure.
 * Rules: docs/protocol/messaging.md section 10.3: all messages of the pair are held, at most two retries follow, then
 * only an operator may allow more. A simulation cannot detect a module that only succeeds in simulations.
 */
import type { SuspensionRow } from "../../ledger/ledger.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { NEVER_MS } from "./retry_schedule.ts";

const DAY_MS = 86_400_000;

/** Pause before each automatic retry, by the number of failures so far, ms. */
const PAUSES_MS: readonly number[] = [DAY_MS, 3 * DAY_MS];

/** Time without a failure after which a released pair starts over, ms. */
const MEMORY_MS = 30 * DAY_MS;

/** History of a pair. */
export type PairHistory = Omit<SuspensionRow, "target" | "from" | "to" | "updatedAtMs">;

/**
 * Updates the history after a transaction that was mined without effect for messages of the pair. A transaction counts
 * once, however many messages of the pair it carries and however often a reorganisation moves it.
 */
export function afterFailure(
  before: SuspensionRow | undefined,
  { transaction, nowMs }: { readonly transaction: Hash256; readonly nowMs: number },
): PairHistory {
  if (before?.lastTransaction === transaction && before.isActive) return before;
  const isForgotten = before === undefined || (!before.isActive && nowMs - before.updatedAtMs > MEMORY_MS);
  const failures = isForgotten ? 1 : before.failures + 1;
  const pauseMs = PAUSES_MS[failures - 1];
  return {
    failures,
    isActive: true,
    nextTryAtMs: pauseMs === undefined ? NEVER_MS : nowMs + pauseMs,
    trial: undefined,
    lastTransaction: transaction,
  };
}

/** Updates the history after the retry was delivered: messages are released, the failures are kept for a while. */
export function afterSuccess(before: SuspensionRow): PairHistory {
  return { ...before, isActive: false, nextTryAtMs: 0, trial: undefined };
}

/** Decision on a message of a suspended pair. */
export type PairVerdict =
  /** It is the retry, or may become it. */
  | { readonly kind: "try" }
  | { readonly kind: "wait"; readonly untilMs: number };

/** Pause of a message while another one of its pair is being retried, ms. */
const BEHIND_TRY_MS = 10 * 60_000;

/**
 * Judges one message of a suspended pair.
 * @param facts.isTryOpen whether the pair's retry is another message that is submitted, or was just chosen
 */
export function judgeSuspended(
  pair: Pick<SuspensionRow, "nextTryAtMs">,
  facts: { readonly nowMs: number; readonly isTryOpen: boolean },
): PairVerdict {
  if (pair.nextTryAtMs > facts.nowMs) return { kind: "wait", untilMs: pair.nextTryAtMs };
  return facts.isTryOpen ? { kind: "wait", untilMs: facts.nowMs + BEHIND_TRY_MS } : { kind: "try" };
}
