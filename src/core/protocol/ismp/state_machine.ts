/**
 * Names of chains and of the light clients that follow them.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/host.rs (StateMachine, its text form and parsing).
 */

/**
 * Canonical text of a state machine, e.g. `EVM-1`, `POLKADOT-3367`, `SUBSTRATE-cere`. Made only by
 * {@link parseStateMachine} (or a decoder), so two equal chains are equal strings.
 */
export type StateMachine = string & { readonly __brand: "StateMachine" };

/** Four bytes that name one instance of a consensus client on a host, as text, e.g. `ETH0`. */
export type ConsensusStateId = string & { readonly __brand: "ConsensusStateId" };

/** A state machine as one light client knows it. */
export interface StateMachineId {
  readonly stateMachine: StateMachine;
  readonly consensusStateId: ConsensusStateId;
}

/** A height of a state machine as one light client knows it. */
export interface StateMachineHeight {
  readonly id: StateMachineId;
  readonly height: bigint;
}
