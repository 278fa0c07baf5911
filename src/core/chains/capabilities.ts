/** What a chain can do and how much it takes, as data: the programs ask these values, never for the type of a chain. */

/** Limits of one chain that shape queries and deliveries. */
export interface ChainLimits {
  /** Maximum number of messages in one delivery step: 100 for EVM chains, 200 for others. */
  readonly maxMessagesPerStep: number;
  /** Maximum size of one transaction's call data, bytes. */
  readonly maxCallBytes: number;
  /** Maximum number of blocks for one `fetchEvents` call; `undefined`: no limit. */
  readonly blocksPerEventQuery: bigint | undefined;
}

/** Rules and abilities in which chains differ. */
export interface ChainCapabilities {
  /**
   * Age at which a stored commitment may be used: when the challenge period is `reached`, or strictly later (`strict`).
   */
  readonly challengeRule: "reached" | "strict";
  /** True: a delivery that arrives second costs its sender gas. Refused unsigned extrinsics cost nothing. */
  readonly losesGasOnRace: boolean;
  /** True: responses to GET requests are delivered to this chain. */
  readonly acceptsGetResponses: boolean;
  /** Form in which the hub proves messages to this chain. */
  readonly hubProofs: "mmr" | "state";
  /** What governance freezes to stop deliveries: the whole host, or the light client of one source. */
  readonly freezes: "host" | "client";
  /** True: nodes refuse transactions above a size of their own, which may be lower than the limit of the chain. */
  readonly hasNodeSizeLimit: boolean;
}
