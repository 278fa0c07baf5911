/** Verdicts of verifiers, whose errors have a code for the rule that was broken. */

/** The code of the error that refuses the work, or "accepted". Any other error is thrown on. */
export function verdictOf(
  refusal: new (...parts: never[]) => Error & { readonly code: string },
  work: () => unknown,
): string {
  try {
    work();
  } catch (error) {
    if (error instanceof refusal) return error.code;
    throw error;
  }
  return "accepted";
}
