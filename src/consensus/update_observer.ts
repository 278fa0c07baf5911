/** What the workers report of their polls and updates, for metrics and the status page. Nothing depends on it. */
import type { PollResult } from "./schedule.ts";

/** A light client: of `chain`, on `target`. */
export interface UpdateRoute {
  readonly chain: string;
  readonly target: string;
}

/** One attempt to advance a light client, as it ended. */
export interface ObservedUpdate {
  readonly kind: "update" | "rotation" | "hub_proofs";
  /** `overtaken`: another relayer was first, at no cost; `wasted`: at the cost of gas. */
  readonly result: "accepted" | "overtaken" | "refused" | "lost" | "wasted";
  readonly bytes: number;
  /** Height of the chain that the target knows now, where it was accepted and proves one. */
  readonly height?: number | undefined;
  /** Time of the poll until there was something to submit, milliseconds. */
  readonly findMs: number;
  /** Time from there to the outcome, milliseconds. */
  readonly submitMs: number;
  /** What was proved, or why it failed; may hold text of nodes. */
  readonly detail: string;
}

/** Observer of the workers. Must not throw. */
export interface UpdateObserver {
  noteUpdate(route: UpdateRoute, update: ObservedUpdate): void;
  /** @param reason why there is nothing to prove, where the prover says so. */
  notePoll(route: UpdateRoute, result: PollResult, reason?: string): void;
}
