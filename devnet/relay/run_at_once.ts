/** Calculations that the programs run in slices, run at once. */

/** Runs all steps of a calculation without a rest and returns its result; throws what it throws. */
export function runAtOnce<T>(steps: Generator<undefined, T, undefined>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
