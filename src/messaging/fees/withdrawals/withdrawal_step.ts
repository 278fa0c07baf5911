/**
 * State machine of one withdrawal, from the request to the payment: the observation decides the next state and action.
 * Pure. Rules: docs/protocol/messaging.md section 16.4. Rows are independent; a failing one never blocks another.
 */
import type { WithdrawalDispatch, WithdrawalRow } from "../../ledger/ledger.ts";

/** Fields of the row needed for a step. */
export type WithdrawalView = Pick<
  WithdrawalRow,
  "state" | "nonce" | "hubBlock" | "dispatch" | "attempts" | "nextAttemptAtMs" | "createdAtMs"
>;

/** Status of the request's extrinsic. `unsent`: it was never broadcast; `refused`: the hub rejects it. */
export type OrderStatus = "unsent" | "pending" | "included" | "finalized" | "refused" | "gone";

/** Observation, by the state in which it is made. */
export type WithdrawalObservation =
  | {
    readonly of: "requested";
    readonly nowMs: number;
    readonly order: OrderStatus;
    /** `Relayer.Nonce` at the hub's final head. */
    readonly hubNonce: bigint;
    /**
     * The payment found in the hub's final blocks from `hubBlock` on; `none`: all those blocks were scanned without
     * finding one; `undefined`: they were not scanned yet.
     */
    readonly payment: WithdrawalDispatch | "none" | undefined;
  }
  | {
    readonly of: "dispatched";
    readonly nowMs: number;
    readonly receipt: ReceiptSeen;
    /** Newest block of the hub for which the chain accepts proofs, or would with a bundled consensus proof. */
    readonly provableHubBlock: bigint;
    /** Native tokens of the account that pays for the delivery; `undefined`: not compared. */
    readonly funds?: { readonly balanceWei: bigint; readonly neededWei: bigint } | undefined;
    /** Cost of the delivery and its limit, dollars x 10^18; `undefined`: not compared. */
    readonly worth?: DeliveryWorth | undefined;
  }
  | {
    readonly of: "delivering";
    readonly nowMs: number;
    readonly receipt: ReceiptSeen;
    /** `failed`: reverted, mined without effect, dropped or refused. */
    readonly submission: "pending" | "handled" | "failed";
    /** `withdrawal_frequency`, seconds. */
    readonly frequencySec: number;
  };

/** Cost of a delivery (`undefined`: the price is unknown) and its limit, dollars x 10^18. */
export interface DeliveryWorth {
  readonly cost18: bigint | undefined;
  readonly budget18: bigint;
}

/** Receipt on the paying chain: none, in a block that may be reorganised, or final. From any relayer. */
export type ReceiptSeen = "none" | "seen" | "final";

/** Next action. */
export type WithdrawalAction =
  /** Broadcast the request's journalled bytes (again): its nonce makes a duplicate harmless. */
  | { readonly kind: "send_order" }
  /** Scan the hub's final blocks from here on for the payment. */
  | { readonly kind: "search_payment"; readonly fromHubBlock: bigint }
  /** Read the receipt and, without one, deliver: journal, then broadcast. */
  | { readonly kind: "deliver" }
  /** Poll again, at a given time (Unix milliseconds) or in the next round. */
  | { readonly kind: "wait"; readonly for: WithdrawalWait; readonly untilMs?: number | undefined }
  /** The account cannot pay for gas; report the shortfall. */
  | { readonly kind: "report_shortfall"; readonly shortfallWei: bigint; readonly untilMs: number }
  /** Delivering would cost a tenth of the amount or more; it never times out, so it waits for a lower price. */
  | { readonly kind: "report_too_dear"; readonly worth: DeliveryWorth; readonly untilMs: number }
  | { readonly kind: "none" };

/** Reason of a wait. */
export type WithdrawalWait =
  | "order_finality"
  | "order_fate"
  | "hub_height"
  | "next_attempt"
  | "delivery"
  | "receipt_finality";

/** Next state with the change of the row, and the action. */
export interface WithdrawalStep {
  readonly change: {
    readonly state: WithdrawalRow["state"];
    readonly dispatch?: WithdrawalDispatch | undefined;
    readonly attempts?: number | undefined;
    readonly nextAttemptAtMs?: number | undefined;
    readonly detail?: string | undefined;
  };
  readonly action: WithdrawalAction;
}

/** Pause of a payment whose delivery costs too much, ms: each check costs a proof and a simulation. */
const TOO_DEAR_PAUSE_MS = 600_000;

/** Time after which a request that the hub does not know is dropped, ms. */
export const ORDER_PATIENCE_MS = 600_000;

/** Number of attempts per round; below, the pauses after the first and the second, ms. */
export const ATTEMPTS_PER_ROUND = 3;

const PAUSES_MS: readonly number[] = [10_000, 60_000];

/**
 * Decides one step. The caller records `change` before it acts.
 * @throws {Error} a defect: the observation is not of the row's state.
 */
export function stepWithdrawal(row: WithdrawalView, seen: WithdrawalObservation): WithdrawalStep {
  if (row.state !== seen.of) throw new Error(`Withdrawal in state ${row.state} was observed as ${seen.of}`);
  switch (seen.of) {
    case "requested":
      return stepRequested(row, seen);
    case "dispatched":
      return stepDispatched(row, seen);
    case "delivering":
      return stepDelivering(row, seen);
  }
}

type Observed<State> = Extract<WithdrawalObservation, { readonly of: State }>;

function stepRequested(row: WithdrawalView, seen: Observed<"requested">): WithdrawalStep {
  const stay = (action: WithdrawalAction): WithdrawalStep => ({ change: { state: "requested" }, action });
  const giveUp = (detail: string): WithdrawalStep => ({
    change: { state: "void", detail },
    action: { kind: "none" },
  });
  const { payment } = seen;
  if (payment !== undefined && payment !== "none") {
    return {
      change: { state: "dispatched", dispatch: payment, attempts: 0, nextAttemptAtMs: seen.nowMs },
      action: { kind: "deliver" },
    };
  }
  const isNonceUsed = row.nonce !== undefined && seen.hubNonce > row.nonce;
  if (seen.order === "finalized" || isNonceUsed) {
    if (payment === undefined) return stay({ kind: "search_payment", fromHubBlock: row.hubBlock });
    // The nonce is also used by claims with a beneficiary; a request that lost it can never be included.
    return giveUp(seen.order === "finalized" ? "the hub refused the order" : "its nonce was used otherwise");
  }
  if (seen.order === "included") return stay({ kind: "wait", for: "order_finality" });
  if (seen.order === "refused") return giveUp("the hub refused the order");
  if (seen.order === "pending") return stay({ kind: "wait", for: "order_fate" });
  if (seen.nowMs - row.createdAtMs >= ORDER_PATIENCE_MS) {
    return giveUp("the hub has not taken the order for ten minutes");
  }
  return stay({ kind: "send_order" });
}

function stepDispatched(row: WithdrawalView, seen: Observed<"dispatched">): WithdrawalStep {
  if (row.dispatch === undefined) throw new Error("Dispatched withdrawal without its payment");
  const stay = (action: WithdrawalAction): WithdrawalStep => ({ change: { state: "dispatched" }, action });
  if (seen.receipt === "final") return done();
  if (seen.receipt === "seen") return stay({ kind: "wait", for: "receipt_finality" });
  if (seen.nowMs < row.nextAttemptAtMs) {
    return stay({ kind: "wait", for: "next_attempt", untilMs: row.nextAttemptAtMs });
  }
  if (seen.provableHubBlock < row.dispatch.hubBlock) return stay({ kind: "wait", for: "hub_height" });
  const { worth } = seen;
  if (worth !== undefined && (worth.cost18 === undefined || worth.cost18 > worth.budget18)) {
    const untilMs = seen.nowMs + TOO_DEAR_PAUSE_MS;
    const detail = "waits until its delivery costs less than a tenth of it";
    return {
      change: { state: "dispatched", nextAttemptAtMs: untilMs, detail },
      action: { kind: "report_too_dear", worth, untilMs },
    };
  }
  const shortfallWei = seen.funds === undefined ? 0n : seen.funds.neededWei - seen.funds.balanceWei;
  if (shortfallWei > 0n) {
    const untilMs = seen.nowMs + (PAUSES_MS[1] ?? 0);
    return {
      change: {
        state: "dispatched",
        nextAttemptAtMs: untilMs,
        detail: `short of ${shortfallWei} wei for gas`,
      },
      action: { kind: "report_shortfall", shortfallWei, untilMs },
    };
  }
  return { change: { state: "delivering" }, action: { kind: "deliver" } };
}

function stepDelivering(row: WithdrawalView, seen: Observed<"delivering">): WithdrawalStep {
  if (seen.receipt === "final") return done();
  const stay = (wait: WithdrawalWait): WithdrawalStep => ({
    change: { state: "delivering" },
    action: { kind: "wait", for: wait },
  });
  if (seen.receipt === "seen" || seen.submission === "handled") return stay("receipt_finality");
  if (seen.submission === "pending") return stay("delivery");
  const attempts = row.attempts + 1;
  const untilMs = seen.nowMs + pauseAfter(attempts, seen.frequencySec);
  return {
    change: {
      state: "dispatched",
      attempts,
      nextAttemptAtMs: untilMs,
      detail: `attempt ${attempts} had no effect`,
    },
    action: { kind: "wait", for: "next_attempt", untilMs },
  };
}

function done(): WithdrawalStep {
  return { change: { state: "done" }, action: { kind: "none" } };
}

/** Computes the pause after failed attempts, ms: short ones within a round, then `withdrawal_frequency`. */
export function pauseAfter(attempts: number, frequencySec: number): number {
  return PAUSES_MS[(attempts - 1) % ATTEMPTS_PER_ROUND] ?? frequencySec * 1000;
}
