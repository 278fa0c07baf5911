/** Height at which a payment of the hub can be proved to its chain. */

/** Height of the hub that the chain knows, or will know through the consensus proofs in front of the message. */
export interface ProvableHeight {
  readonly height: bigint;
  /** Consensus proofs; empty when the chain already knows the height. */
  readonly consensusProofs: readonly Uint8Array[];
}
