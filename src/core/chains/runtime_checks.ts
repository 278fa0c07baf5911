/** Runtime of a chain, which governance may upgrade at any time. */

/** Checks of the newest runtime. */
export interface RuntimeChecks {
  /**
   * Explains why nothing can be sent to the chain: its runtime lacks what this program needs, or has it in another form;
   * `undefined`: it fits. Asks the node only while it does not fit. @throws {RpcFault}
   */
  findUnsupported(signal: AbortSignal): Promise<string | undefined>;
}
