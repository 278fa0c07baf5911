/** Error of all rollup clients for an update that the hub would refuse. */
export abstract class RollupUpdateError<Code extends string = string> extends Error {
  protected constructor(message: string, readonly code: Code, options?: ErrorOptions) {
    super(message, options);
  }
}
