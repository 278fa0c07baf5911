/** Where a payment of the hub can be proved to its chain. */

/** A height of the hub that the chain knows, or will know by the consensus proofs in front of the message. */
export interface ProvableHeight {
  readonly height: bigint;
  /** Consensus proofs; empty where the chain knows the height already. */
  readonly consensusProofs: readonly Uint8Array[];
}
