/** Refusals of data: one class per kind of data, with a code per rule. */

/** What rules refuse, by a code of its class. */
export abstract class CodedError<Code extends string = string> extends Error {
  constructor(readonly code: Code, options?: ErrorOptions) {
    super(`refused: ${code}`, options);
  }
}

/** A class of errors. */
type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

/** A handler of rejected promises, for the errors of a class. @throws all else that a promise was rejected with */
export function onError<E extends Error, T>(
  of: ErrorClass<E>,
  handle: (error: E) => T,
): (error: unknown) => T {
  return (error) => {
    if (error instanceof of) return handle(error);
    throw error;
  };
}

/** What `read` gives, or what `handle` makes of an error of a class. @throws all other errors */
export function recover<T, U, E extends Error>(
  from: ErrorClass<E>,
  read: () => T,
  handle: (error: E) => U,
): T | U {
  try {
    return read();
  } catch (error) {
    return onError(from, handle)(error);
  }
}

/** Runs `read`; errors of a class become others. */
export function mapError<T, E extends Error>(
  from: ErrorClass<E>,
  read: () => T,
  to: (cause: E) => Error,
): T {
  return recover(from, read, (cause) => {
    throw to(cause);
  });
}

/** What `read` gives; `undefined` when it throws, as libraries do for whatever they cannot read. */
export function readOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
