/**
 * Light client of the hub in an EVM host: the state of the BEEFY client, and whether it accepts proofs now. Source of
 * the rules: docs/protocol/hub-consensus.md sections 5.7, 5.10 and 9.
 */
import type { Address } from "../evm/address.ts";
import type { BeefyClientState } from "../evm/beefy_client_state.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";

/** Host's view of the hub, read at the newest block. */
export interface HostConsensusView {
  /** `undefined`: the stored bytes are no state of a BEEFY client in a known layout. */
  readonly state: BeefyClientState | undefined;
  /** Number of the stored bytes. */
  readonly stateBytes: number;
  /** Contract that verifies proofs; governance may change it at any time. */
  readonly consensusClient: Address;
  /** Latest height of the hub stored here; 0: none yet. */
  readonly hubHeight: bigint;
  /** False: the host stores no height of this hub, whatever proof it gets. */
  readonly acceptsHub: boolean;
  /** Clock of the chain, Unix seconds. */
  readonly nowSec: bigint;
  /** When the client was last updated, Unix seconds. */
  readonly updatedSec: bigint;
  /** Seconds without an update after which the client rejects everything. */
  readonly unstakingSec: bigint;
  /** Minimum age of a height before messages can be proved against it, seconds. */
  readonly challengePeriodSec: bigint;
  /** True: the host rejects all incoming messages. */
  readonly isFrozen: boolean;
  /**
   * Latest relay chain block the client will know once the node's mempool is mined; at least `state.latestHeight`.
   * Nodes that do not expose their mempool answer as for the newest block.
   */
  readonly pendingHeight: bigint;
  /** Id of the current authority set after the mempool is mined; at least `state.current.id`. */
  readonly pendingSetId: bigint;
}

/** Interface of the host's consensus client. */
export type ConsensusClientKind =
  /** Proofs start with a byte for their kind (`ConsensusRouter`). */
  | "router"
  /** A client of 2025 or of another chain: our calls would revert. */
  | "other";

/** Authority set in the state of a host's client. */
export interface StoredAuthoritySet {
  /** `undefined`: the stored bytes are no state of a BEEFY client in a known layout. */
  readonly setId: bigint | undefined;
  /** Number of the stored bytes. */
  readonly stateBytes: number;
}

/** Light client of the hub in a host that takes consensus proofs of the hub as part of deliveries. */
export interface HubLightClient {
  /** Id of the current authority set of the host's client; one round trip. */
  fetchAuthoritySet(signal: AbortSignal): Promise<StoredAuthoritySet>;
  /** True when the handler has `batchCall`: proofs of the hub and messages fit into one transaction. */
  fetchHasBatchCall(signal: AbortSignal): Promise<boolean>;
  /** One round trip. */
  fetchConsensusView(hub: StateMachineId, signal: AbortSignal): Promise<HostConsensusView>;
  /** One round trip. */
  fetchClientKind(client: Address, signal: AbortSignal): Promise<ConsensusClientKind>;
}
