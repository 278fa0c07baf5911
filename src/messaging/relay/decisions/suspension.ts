/**
 * Decides when messages between two modules travel again after a delivery that was paid for and had no effect. Pure.
 * Rules: docs/protocol/messaging.md section 10.3: all messages of the pair are held, two tries follow at
 * most, then only somebody may allow more. A simulation cannot tell a module that behaves in simulations only.
 */
import type { SuspensionRow } from "../../ledger/ledger.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { NEVER_MS } from "./retry_schedule.ts";

const DAY_MS = 86_400_000;

/** Pause before each automatic try, by the number of failures so far. */
const PAUSES_MS: readonly number[] = [DAY_MS, 3 * DAY_MS];

/** After so long without a failure a pair that was released starts again. */
const MEMORY_MS = 30 * DAY_MS;

/** What is remembered of a pair. */
export type PairHistory = Omit<SuspensionRow, "target" | "from" | "to" | "updatedAtMs">;

/**
 * The history after a transaction that was mined without effect for messages of the pair. A transaction counts once,
 * however many messages of the pair it carries and however often a reorganisation moves it.
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

/** The history after the try was delivered: messages travel again, the failures are not forgotten yet. */
export function afterSuccess(before: SuspensionRow): PairHistory {
  return { ...before, isActive: false, nextTryAtMs: 0, trial: undefined };
}

/** What becomes of a message of a suspended pair now. */
export type PairVerdict =
  /** It is the try, or may become it. */
  | { readonly kind: "try" }
  | { readonly kind: "wait"; readonly untilMs: number };

/** Pause before a message is checked again while another one of its pair is the try, ms. */
const BEHIND_TRY_MS = 10 * 60_000;

/**
 * Judges one message of a suspended pair.
 * @param facts.isTryOpen whether the pair's try is another message that is under way, or was chosen just now
 */
export function judgeSuspended(
  pair: Pick<SuspensionRow, "nextTryAtMs">,
  facts: { readonly nowMs: number; readonly isTryOpen: boolean },
): PairVerdict {
  if (pair.nextTryAtMs > facts.nowMs) return { kind: "wait", untilMs: pair.nextTryAtMs };
  return facts.isTryOpen ? { kind: "wait", untilMs: facts.nowMs + BEHIND_TRY_MS } : { kind: "try" };
}
