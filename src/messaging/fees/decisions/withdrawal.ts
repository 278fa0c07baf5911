/**
 * Decides when fees are withdrawn, from which accounts, and whether the amount is worth it. Pure.
 * Rules: docs/protocol/messaging.md section 16.1; `withdrawal_frequency` and `minimum_withdrawal_amount` of the
 * specification. The steps after a request are in `withdrawal_step.ts`.
 */
import { equalBytes } from "../../../core/encoding/bytes.ts";
import { toTokenUnits } from "../../relay/decisions/money.ts";

/** Lower bound of the operator's minimum, whole currency units. */
export const MIN_WITHDRAWAL = 10;

/** Default of `Relayer.MinimumWithdrawalAmount`, in the token's smallest units, whatever its decimals. */
export const HUB_MINIMUM_UNITS = 10n ** 19n;

/** Pause between the start of the program and the first withdrawals, ms. */
export const FIRST_WITHDRAWAL_MS = 60_000;

/**
 * Computes when the next round of withdrawals is due, Unix milliseconds: a minute after the start at the earliest, and
 * a full period after the last completed round, so that restarts neither delay nor repeat it.
 * @param facts.lastCompletedMs of this or an earlier run; a time in the future counts as now
 */
export function nextWithdrawalMs(facts: {
  readonly startedMs: number;
  readonly lastCompletedMs: number | undefined;
  readonly frequencySec: number;
  readonly nowMs: number;
}): number {
  const earliestMs = facts.startedMs + FIRST_WITHDRAWAL_MS;
  if (facts.lastCompletedMs === undefined) return earliestMs;
  const lastMs = Math.min(facts.lastCompletedMs, facts.nowMs);
  return Math.max(earliestMs, lastMs + facts.frequencySec * 1000);
}

/** Numbers of a threshold decision, units of the chain's fee token. */
export interface WithdrawalNumbers {
  readonly available: bigint;
  /** Operator's minimum. */
  readonly configuredMinimum: bigint;
  /** Hub's minimum. */
  readonly hubMinimum: bigint;
}

/** Decision on one balance. */
export type WithdrawalDecision =
  | { readonly kind: "withdraw"; readonly numbers: WithdrawalNumbers }
  | {
    readonly kind: "skip";
    /** `below_hub_minimum`: above the operator's minimum, but the hub would refuse it. */
    readonly reason: "empty" | "below_configured" | "below_hub_minimum";
    readonly numbers: WithdrawalNumbers;
  };

/**
 * Compares a balance with both minimums; equal is enough.
 * @param facts.minimumAmount whole currency units; ignored (10 counts) when the operator asked with `--withdraw`
 * @param facts.hubMinimum the hub's entry for the chain; `undefined`: it has none, so its default counts
 */
export function decideWithdrawal(facts: {
  readonly available: bigint;
  readonly feeTokenDecimals: number;
  readonly minimumAmount: number;
  readonly hubMinimum: bigint | undefined;
  readonly isAskedFor: boolean;
}): WithdrawalDecision {
  const whole = facts.isAskedFor ? MIN_WITHDRAWAL : Math.max(facts.minimumAmount, MIN_WITHDRAWAL);
  const numbers = {
    available: facts.available,
    configuredMinimum: toTokenUnits(whole, facts.feeTokenDecimals),
    hubMinimum: facts.hubMinimum ?? HUB_MINIMUM_UNITS,
  };
  if (facts.available === 0n) return { kind: "skip", reason: "empty", numbers };
  if (facts.available < numbers.configuredMinimum) {
    return { kind: "skip", reason: "below_configured", numbers };
  }
  if (facts.available < numbers.hubMinimum) return { kind: "skip", reason: "below_hub_minimum", numbers };
  return { kind: "withdraw", numbers };
}

/** Account on the hub that may hold fees of a chain. */
export interface FeeAccount {
  readonly address: Uint8Array;
  /** Recipient of the payment; `undefined`: the address itself. */
  readonly beneficiary: Uint8Array | undefined;
}

/** Accounts to withdraw from for one chain, and addresses without a key. */
export interface FeeAccounts {
  /** Our address on the chain first. Each is withdrawn by its own request, signed with its own key. */
  readonly accounts: readonly FeeAccount[];
  /** Addresses of earlier deliveries whose key is no longer configured. */
  readonly withoutKey: readonly Uint8Array[];
}

/**
 * Lists the accounts to which fees of a chain may have been credited: our address there, the hub account, and other
 * addresses that delivered for us. All pay out to our address on the chain.
 */
export function listFeeAccounts(facts: {
  /** Our address on the chain that pays. */
  readonly ownAddress: Uint8Array;
  readonly hubAccount: Uint8Array | undefined;
  /** Relayer addresses found in delivery records for requests of that chain. */
  readonly recorded: readonly Uint8Array[];
  canSignAs(address: Uint8Array): boolean;
}): FeeAccounts {
  const accounts: FeeAccount[] = [{ address: facts.ownAddress, beneficiary: undefined }];
  const withoutKey: Uint8Array[] = [];
  const others = [...(facts.hubAccount === undefined ? [] : [facts.hubAccount]), ...facts.recorded];
  for (const address of others) {
    const isKnown = accounts.some((account) => equalBytes(account.address, address)) ||
      withoutKey.some((known) => equalBytes(known, address));
    if (isKnown) continue;
    if (facts.canSignAs(address)) accounts.push({ address, beneficiary: facts.ownAddress });
    else withoutKey.push(address);
  }
  return { accounts, withoutKey };
}
