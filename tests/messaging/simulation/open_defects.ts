/**
 * What the simulation finds and the program does not do right yet. Each row names the kind and a seed that shows it, and
 * excuses nothing else; whoever fixes the cause removes the row, after which every seed of the kind has to pass.
 */
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

/** The rows. */
export const OPEN_DEFECTS: readonly OpenDefect[] = [];
