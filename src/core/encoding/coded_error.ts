/** Refusals of data: one class per kind of data, with a code per rule. */

/** What rules refuse, by a code of its class. */
export abstract class CodedError<Code extends string = string> extends Error {
  constructor(readonly code: Code, options?: ErrorOptions) {
    super(`refused: ${code}`, options);
  }
}

/** Runs `read`; errors of a class become others. */
export function mapError<T, E extends Error>(
  from: abstract new (...args: never[]) => E,
  read: () => T,
  to: (cause: E) => Error,
): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof from ? to(cause) : cause;
  }
}

/** What `read` gives; `undefined` when it throws, as libraries do for whatever they cannot read. */
export function readOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
