/**
 * Decides what the outcome of a transaction means for each message it carried. Pure.
 * Rules: docs/protocol/messaging.md sections 10.3 and 10.4. A mined transaction is not a delivery; only the host's
 * event or receipt is.
 */
import type { SubmissionOutcome } from "../../../core/chains/port.ts";
import { equalBytes, type Hash256 } from "../../../core/encoding/bytes.ts";

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

/** True when a failed delivery lost a race: one of its messages was delivered by another relayer meanwhile. */
export function isLostRace(outcomes: readonly DeliveryOutcome[]): boolean {
  return outcomes.includes("delivered_by_other");
}
