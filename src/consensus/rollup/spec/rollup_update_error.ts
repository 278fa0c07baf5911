/** What the clients of all kinds of rollups throw for an update that the hub would refuse. */
export abstract class RollupUpdateError<Code extends string = string> extends Error {
  protected constructor(message: string, readonly code: Code, options?: ErrorOptions) {
    super(message, options);
  }
}
