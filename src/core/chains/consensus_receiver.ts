/**
 * An EVM host as a receiver of the hub's consensus: what its BEEFY client trusts, and whether it takes proofs now.
 * Source of the rules: docs/protocol/hub-consensus.md sections 5.7, 5.10 and 9.
 */
import type { Address } from "../evm/address.ts";
import type { BeefyClientState } from "../evm/beefy_client_state.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";

/** A host's view of the hub, all of it read at the newest block. */
export interface HostConsensusView {
  /** `undefined`: the stored bytes are no state of a BEEFY client. */
  readonly state: BeefyClientState | undefined;
  /** The contract that verifies proofs; governance may change it at any moment. */
  readonly consensusClient: Address;
  /** Newest height of the hub that is stored here; 0: none yet. */
  readonly hubHeight: bigint;
  /** False: the host stores no height of this hub, whatever is proved. */
  readonly acceptsHub: boolean;
  /** Clock of the chain, Unix seconds. */
  readonly nowSec: bigint;
  /** When the client was last updated, Unix seconds. */
  readonly updatedSec: bigint;
  /** Seconds without an update after which the client takes nothing any more. */
  readonly unstakingSec: bigint;
  /** Age that a height must reach before messages are proved against it, seconds. */
  readonly challengePeriodSec: bigint;
  /** True: the host takes nothing in. */
  readonly isFrozen: boolean;
  /**
   * Newest relay chain block that the client will know once the transactions in the node's pool are mined; at least
   * `state.latestHeight`. Nodes without a view of their pool tell the same as for the newest block.
   */
  readonly pendingHeight: bigint;
  /** Id of the current set likewise; at least `state.current.id`. */
  readonly pendingSetId: bigint;
}

/** Which interface the host's consensus client has. */
export type ConsensusClientKind =
  /** Proofs begin with a byte for their kind (`ConsensusRouter`). */
  | "router"
  /** A client of 2025 or of another chain: what we send would revert. */
  | "other";

/** An EVM chain whose host follows the hub. */
export interface ConsensusReceiver {
  /** One round trip. */
  fetchConsensusView(hub: StateMachineId, signal: AbortSignal): Promise<HostConsensusView>;
  /** One round trip. */
  fetchClientKind(client: Address, signal: AbortSignal): Promise<ConsensusClientKind>;
}
