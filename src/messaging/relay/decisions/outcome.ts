/**
 * Decides what the target's answer means for each message: a refusal before it is sent, the outcome of a transaction,
 * a revert. Pure. Rules: docs/protocol/messaging.md sections 8.4, 10.3, 10.4 and 11.2. A mined transaction is not a
 * delivery; only the host's event or receipt is.
 */
import type { RefusalCode, SubmissionOutcome } from "../../../core/chains/submission.ts";
import { equalBytes, type Hash256 } from "../../../core/encoding/bytes.ts";
import type { HoldReason, TerminalReason } from "../../ledger/ledger.ts";
import type { RetryClass } from "./retry_schedule.ts";

/** Outcome of one message. */
export type DeliveryOutcome =
  /** The host recorded our delivery. */
  | "delivered"
  /** The host recorded another relayer's. */
  | "delivered_by_other"
  /** Mined without effect: the module failed or has no code. */
  | "not_executed"
  /** Nothing was recorded; another attempt may be made. */
  | "undelivered";

/** Decides the outcomes of the items of an included, successful transaction, by what the host recorded in it. */
export function outcomesFromEvents(
  requestCommitments: readonly Hash256[],
  outcome: Extract<SubmissionOutcome, { kind: "included" }>,
  ourself: Uint8Array,
): readonly DeliveryOutcome[] {
  const relayerOf = new Map(outcome.handled.map(({ commitment, relayer }) => [commitment, relayer]));
  return requestCommitments.map((commitment) => {
    const relayer = relayerOf.get(commitment);
    if (relayer === undefined) return "not_executed";
    return equalBytes(relayer, ourself) ? "delivered" : "delivered_by_other";
  });
}

/** Decides the outcomes of the items of a transaction that failed or vanished, by the current receipts on the chain. */
export function outcomesFromReceipts(
  receipts: readonly (Uint8Array | undefined)[],
  ourself: Uint8Array,
): readonly DeliveryOutcome[] {
  return receipts.map((relayer) => {
    if (relayer === undefined) return "undelivered";
    return equalBytes(relayer, ourself) ? "delivered" : "delivered_by_other";
  });
}

/** Refusals that concern the chain, not one of the messages. */
export const ABOUT_THE_CHAIN: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "not_ready",
  "host_frozen",
  "handler_replaced",
  "client_expired",
  "unknown_authority_set",
  "insufficient_funds",
]);

/** Outcome for the message's row. */
export type RefusalVerdict =
  | { readonly kind: "hold"; readonly reason: HoldReason; readonly retryClass: RetryClass }
  /** Ended, or held because no transaction of the chain can carry it, once it is read again. */
  | {
    readonly kind: "for_good";
    readonly to: "held" | "rejected" | "gone";
    readonly reason: HoldReason | TerminalReason;
  };

/** Judges one refusal; `targetIsHub` because the hub's refusals are mostly temporary and retries cost nothing. */
export function judgeRefusal(code: RefusalCode | "not_executed", targetIsHub: boolean): RefusalVerdict {
  switch (code) {
    case "timed_out":
      // Its receipt is read once the target's newest block is past the timeout too.
      return { kind: "hold", reason: "too_close_to_timeout", retryClass: "transient" };
    case "bad_destination":
      return { kind: "for_good", to: "rejected", reason: "bad_destination" };
    case "unknown_message":
      return { kind: "for_good", to: "gone", reason: "request_unknown" };
    case "too_large":
      return { kind: "for_good", to: "held", reason: "too_large" };
    case "duplicate":
      return { kind: "hold", reason: "race", retryClass: "transient" };
    case "bad_proof":
      return { kind: "hold", reason: "proof_unavailable", retryClass: "transient" };
    case "not_ready":
    case "unknown_authority_set":
      return { kind: "hold", reason: "waiting_for_update", retryClass: "transient" };
    case "host_frozen":
      return { kind: "hold", reason: "host_frozen", retryClass: "transient" };
    case "handler_replaced":
      return { kind: "hold", reason: "handler_replaced", retryClass: "transient" };
    case "client_expired":
      return { kind: "hold", reason: "client_expired", retryClass: "transient" };
    case "insufficient_funds":
      return { kind: "hold", reason: "unfunded", retryClass: "unfunded" };
    case "too_expensive":
      // Usually decided again at once, with the current price: see send.ts.
      return { kind: "hold", reason: "unprofitable", retryClass: "transient" };
    case "price_limit":
      return { kind: "hold", reason: "unprofitable", retryClass: "transient" };
    case "untraceable":
      return { kind: "hold", reason: "untraceable", retryClass: "slow" };
    case "no_bandwidth":
    case "blocked_sender":
      return { kind: "hold", reason: code, retryClass: "hub_refused" };
    case "module_failed":
    case "not_executed":
    case "unspecified":
      return targetIsHub
        ? { kind: "hold", reason: "hub_refused", retryClass: "hub_refused" }
        : { kind: "hold", reason: "simulation_failed", retryClass: "failed" };
  }
}

/** Cause of the revert. */
export type RevertVerdict =
  /** The host would have refused any messages, or the proof in front of them. */
  | { readonly kind: "chain" }
  /** Any of the members may be the cause: each is retried in a batch of at most that many. */
  | { readonly kind: "split"; readonly batchLimit: number }
  /** The message was sent alone: it is the cause. */
  | { readonly kind: "alone" };

/**
 * Judges a revert that is not a lost race.
 * @param facts.carried messages of the transaction
 * @param facts.code why it reverted, if known
 */
export function judgeRevert(
  facts: { readonly carried: number; readonly code: RefusalCode | undefined },
): RevertVerdict {
  // Members are proved together, and the simulation took the proof: what the host trusts has changed since.
  const isAboutProof = facts.code === "bad_proof";
  if (isAboutProof || (facts.code !== undefined && ABOUT_THE_CHAIN.has(facts.code))) return { kind: "chain" };
  return facts.carried > 1 ? { kind: "split", batchLimit: Math.ceil(facts.carried / 2) } : { kind: "alone" };
}
