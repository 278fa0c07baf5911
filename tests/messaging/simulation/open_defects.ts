/**
 * What the simulation finds and the program does not do right yet. Each row names the kind and a seed that shows it, and
 * excuses nothing else; whoever fixes the cause removes the row, after which every seed of the kind has to pass.
 */
import type { AttackKind } from "./attacks.ts";
import type { Course } from "./course.ts";

/** A kind of failure that is known. */
export interface OpenDefect {
  readonly kind: string;
  /** Shows it when the row is removed. */
  readonly seed: number;
  readonly cause: string;
  /** Whether a failure of a course is of this kind. */
  readonly excuses: (course: Course, failure: string) => boolean;
}

/** Loss for each dollar of an attack that is possible today, where it is above what is wanted. */
export const OPEN_LOSSES: Partial<Readonly<Record<AttackKind, number>>> = {
  failing: 6,
  spoiling: 8,
  burning: 6,
  "burning openly": 1,
  large: 3,
  untraceable: 1,
  "front-running": 20,
  "front-running by many": 20,
};

const isUnsettled = (failure: string): boolean =>
  failure.includes("is not over") || failure.startsWith("World (a)");

/** The rows. */
export const OPEN_DEFECTS: readonly OpenDefect[] = [
  {
    kind: "honest messages are judged in the company of hostile ones",
    seed: 30_003,
    cause:
      "deliver/profitability.ts and core/chains/evm/message_gas.ts: call data and the rest of a batch's gas are " +
      "charged in equal shares, and a held message is tried again with the same ones; what runs out of gas beside a " +
      "burner counts as failing (unprofitable, not_executed, simulation_failed, suspended)",
    excuses: ({ plan: { attack } }, failure) => attack !== undefined && isUnsettled(failure),
  },
  {
    kind: "a module that takes more gas in a block than in a simulation",
    seed: 30_228,
    cause:
      "deliver/profitability.ts: the rule counts the simulated gas, while a third more may be used and paid for up " +
      "to the gas limit",
    excuses: ({ plan: { attack } }, failure) => attack !== undefined && failure.startsWith("I15"),
  },
  {
    kind: "what did not pay once, without a retry frequency",
    seed: 40_064,
    cause:
      "relay/scan.ts (reviveFunded) and decisions/retry_schedule.ts: a raised fee, or a price that has fallen, wakes " +
      "a held message only where unprofitable_retry_frequency is set",
    excuses: ({ plan: { settings } }, failure) =>
      settings.retryFrequencySec === undefined && failure.includes("is not over") && failure.includes("held"),
  },
  {
    kind: "receipts without logs, or with a false status, from one endpoint",
    seed: 30_022,
    cause:
      "core/chains/evm/outcomes.ts: one endpoint's receipt counts as not executed, and suspends the pair for a day",
    excuses: ({ plan }, failure) =>
      plan.troubles.some((each) =>
        each.kind === "endpoint" && each.does.how === "lies" && each.does.about === "receipt"
      ) && failure.includes("is not over"),
  },
  {
    kind: "a transaction of a lost database that offers too little blocks its account",
    seed: 30_124,
    cause:
      "relay/decisions/nonces.ts: a pending nonce that the journal does not know is passed by, whatever it offers " +
      "and however long it waits; nothing replaces it and nothing above it is mined",
    excuses: (course, failure) =>
      course.losses > 0 && failure.includes("After ") && course.isBlockedByOldTransaction,
  },
];
