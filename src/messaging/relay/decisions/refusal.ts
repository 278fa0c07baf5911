/**
 * Decides what happens to a message that its destination refuses. Pure.
 * Rules: docs/protocol/messaging.md sections 8.4, 10.3 and 11.2.
 */
import type { RefusalCode } from "../../../core/chains/port.ts";
import type { HoldReason, TerminalReason } from "../../ledger/ledger.ts";
import type { RetryClass } from "./retry_schedule.ts";

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
  | {
    readonly kind: "end";
    readonly state: "rejected" | "gone";
    readonly reason: TerminalReason;
  }
  /** Held for good: no transaction of the chain can carry it. */
  | { readonly kind: "park"; readonly reason: HoldReason };

/** Judges one refusal; `targetIsHub` because the hub's refusals are mostly temporary and retries cost nothing. */
export function judgeRefusal(code: RefusalCode | "not_executed", targetIsHub: boolean): RefusalVerdict {
  switch (code) {
    case "timed_out":
      // Its receipt is read once the target's newest block is past the timeout too.
      return { kind: "hold", reason: "too_close_to_timeout", retryClass: "transient" };
    case "bad_destination":
      return { kind: "end", state: "rejected", reason: "bad_destination" };
    case "unknown_message":
      return { kind: "end", state: "gone", reason: "request_unknown" };
    case "too_large":
      return { kind: "park", reason: "too_large" };
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
