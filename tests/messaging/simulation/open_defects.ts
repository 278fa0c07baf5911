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
  "front-running": 15,
  "front-running by many": 15,
};

/** The rows. */
export const OPEN_DEFECTS: readonly OpenDefect[] = [
  {
    kind: "a module that takes more gas in a block than in a simulation",
    seed: 30_228,
    cause:
      "deliver/profitability.ts: the rule counts the simulated gas, while a third more may be used and paid for up " +
      "to the gas limit",
    excuses: ({ plan: { attack } }, failure) => attack !== undefined && failure.startsWith("I15"),
  },
  {
    kind: "messages that only together pay for proofs wait for hours while somebody runs ahead of batches",
    seed: 3_000_018,
    cause:
      "relay/limits/competitors.ts: after lost batches messages go alone until no other relayer was seen for an hour",
    excuses: ({ plan: { attack } }, failure) =>
      attack !== undefined && attack.frontRunPercent > 0 && failure.startsWith("World (a)"),
  },
];
