/** What is thrown when a node answers something else than its method does. */

/** Answer that does not have the shape of its method. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code = "unexpected_shape";
  constructor(
    /** Method or part of the answer, and the field that does not fit. */
    readonly place: string,
    options?: ErrorOptions,
  ) {
    super(`Unexpected shape at ${place}`, options);
  }
}
