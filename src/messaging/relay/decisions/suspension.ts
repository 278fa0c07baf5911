/**
 * Decides when messages between two modules are delivered again after a delivery that cost gas and had no effect. Pure.
 * Rules: docs/protocol/messaging.md section 10.3: all messages of the pair are held, at most two retries follow, then
 * only an operator may allow more. A simulation cannot detect a module that only succeeds in simulations.
 */
import type { SuspensionRow } from "../../ledger/ledger.ts";
import { equalBytes, type Hash256 } from "../../../core/encoding/bytes.ts";
import { DAY_MS } from "../../../core/pricing/loss_bound.ts";
import { lowest } from "../../../core/chains/evm/gas.ts";
import { costUsd18 } from "./gas_price.ts";
import { NEVER_MS } from "./retry_schedule.ts";

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

/** Pause of a message while another one of its pair is being retried, ms. */
const BEHIND_TRY_MS = 10 * 60_000;

/**
 * Judges one message of a suspended pair: the end of its wait, Unix milliseconds; 0: it is the retry, or may become it.
 * @param facts.isTryOpen whether the pair's retry is another message that is submitted, or was just chosen
 */
export function judgeSuspended(
  pair: Pick<SuspensionRow, "nextTryAtMs">,
  facts: { readonly nowMs: number; readonly isTryOpen: boolean },
): number {
  if (pair.nextTryAtMs > facts.nowMs) return pair.nextTryAtMs;
  return facts.isTryOpen ? facts.nowMs + BEHIND_TRY_MS : 0;
}

/**
 * End of the pause of a receiver towards senders that we have delivered nothing of: a day after its last failure at
 * most, since anybody may make it fail. 0: it has none.
 */
export function receiverPauseEndMs(
  active: readonly Pick<SuspensionRow, "to" | "nextTryAtMs" | "updatedAtMs">[],
  receiver: Uint8Array,
): number {
  return active.filter(({ to }) => equalBytes(to, receiver))
    .reduce((end, pair) => Math.max(end, Math.min(pair.nextTryAtMs, pair.updatedAtMs + DAY_MS)), 0);
}

/** What strangers lost and may lose on a chain, and what the next transaction of theirs may cost. */
export interface Risk {
  /** Lost within a day, millionths of a dollar. */
  readonly lostMicroUsd: bigint;
  /** Maximum cost of their transactions under way, wei. */
  readonly pendingWei: bigint;
  readonly plannedWei: bigint;
  /** `undefined`: the price is unknown. */
  readonly price27: bigint | undefined;
  /** `maximum_daily_loss`, of which proven pairs keep most; `undefined`: none, or there is no such pair yet. */
  readonly sharedMicroUsd: bigint | undefined;
}

/** Most that strangers may lose on a chain within a day, millionths of a dollar: 10 dollars. */
const STRANGER_RISK_MICRO_USD = 10_000_000n;

/**
 * True when strangers may lose this too: together at most {@link STRANGER_RISK_MICRO_USD}, and a quarter of what they
 * share with proven pairs. One transaction may always be under way, however dear, while nothing was lost.
 */
export function isWithinRisk({ lostMicroUsd, pendingWei, plannedWei, ...rule }: Risk): boolean {
  if (lostMicroUsd === 0n && pendingWei === 0n) return true;
  const planned18 = costUsd18({ gas: 0n, dataCostWei: pendingWei + plannedWei }, {
    gasPriceWei: 0n,
    price27: rule.price27,
  });
  if (planned18 === undefined) return false;
  const share = rule.sharedMicroUsd === undefined ? undefined : rule.sharedMicroUsd / 4n;
  return lostMicroUsd * 10n ** 12n + planned18 <= lowest(STRANGER_RISK_MICRO_USD, share) * 10n ** 12n;
}
