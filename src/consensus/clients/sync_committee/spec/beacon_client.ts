/**
 * The hub's sync committee client as a function of bytes: stored state and consensus proof in, new state and state
 * commitments out. Start reading at `verify_update.ts` for the rules.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/sync-committee/src/beacon_client.rs.
 */
import type { IntermediateState } from "../../../../core/ismp/state_commitment.ts";
import { type ConsensusStateId, evmStateMachine } from "../../../../core/ismp/state_machine.ts";
import { type Codec, decodeStrict, ScaleError } from "../../../../core/encoding/scale.ts";
import type { BeaconNetwork } from "./beacon_network.ts";
import { type BeaconConsensusState, beaconConsensusStateCodec } from "./consensus_state.ts";
import { SyncCommitteeError, type SyncCommitteeErrorCode } from "./sync_committee_error.ts";
import { type StateUpdate, stateUpdateCodecs, type UpdateLayout } from "./update.ts";
import { verifyUpdate } from "./verify_update.ts";

/** Result of an accepted update. */
export interface VerifiedBeaconUpdate {
  readonly consensusState: BeaconConsensusState;
  /** Of the execution chain, under the id of the client itself. */
  readonly commitment: IntermediateState;
}

/**
 * Decodes a consensus state as the hub stores it. @throws {SyncCommitteeError} `undecodable_state`
 */
export function decodeBeaconConsensusState(bytes: Uint8Array): BeaconConsensusState {
  return decode(beaconConsensusStateCodec, bytes, "undecodable_state");
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {SyncCommitteeError}
 * `undecodable_update`
 */
export function decodeBeaconUpdate(bytes: Uint8Array, layout: UpdateLayout = "flat"): StateUpdate {
  return decode(stateUpdateCodecs[layout], bytes, "undecodable_update");
}

function decode<T>(codec: Codec<T>, bytes: Uint8Array, code: SyncCommitteeErrorCode): T {
  try {
    return decodeStrict(codec, bytes, code);
  } catch (cause) {
    if (cause instanceof ScaleError) throw new SyncCommitteeError(code, { cause });
    throw cause;
  }
}

/** A client on the hub. */
export interface BeaconClient {
  readonly network: BeaconNetwork;
  /** Id under which the client and its commitments are stored, e.g. `ETH0`. */
  readonly consensusStateId: ConsensusStateId;
}

/**
 * Verifies an update as the hub does. @throws {SyncCommitteeError}
 */
export function verifyBeaconUpdate(
  { network, consensusStateId }: BeaconClient,
  trusted: BeaconConsensusState,
  update: StateUpdate,
): VerifiedBeaconUpdate {
  const lightClientState = verifyUpdate(network, trusted.lightClientState, update);
  const { blockNumber, timestampSec, stateRoot } = update.executionPayload;
  return {
    consensusState: { ...trusted, frozenHeight: undefined, lightClientState },
    commitment: {
      height: {
        id: { stateMachine: evmStateMachine(trusted.chainId), consensusStateId },
        height: blockNumber,
      },
      commitment: { timestampSec, overlayRoot: undefined, stateRoot },
    },
  };
}
