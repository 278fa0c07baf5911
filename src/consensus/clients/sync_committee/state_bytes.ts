/**
 * Beacon states of a node: a prefix of one, or a whole one hashed while it arrives, in bytes or in JSON.
 */
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { type BeaconNetwork, epochOfSlot, forkAtEpoch } from "./spec/beacon_network.ts";
import { type BeaconStateParts, BeaconStateReader } from "./spec/field_roots.ts";
import { StateJsonReader } from "./spec/state_json.ts";
import { type StateType, stateTypeOf } from "./spec/state_type.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";
import type { BeaconBlockHeader } from "./spec/update.ts";
import type { TakePiece } from "../../rest/rest_endpoint.ts";
import { onFault } from "../../../core/rpc/call.ts";

/** A state to be read, in a network whose forks say how. */
export interface WantedState {
  readonly network: BeaconNetwork;
  readonly header: Pick<BeaconBlockHeader, "stateRoot" | "slot">;
}

/** Type of a wanted state. */
function typeOf({ network, header: { slot } }: WantedState): StateType {
  return stateTypeOf(forkAtEpoch(network, epochOfSlot(network, slot)).name, Number(network.slotsPerEpoch));
}

/**
 * Fetches the fields of fixed size at the beginning of a state (2.7 MB); the rest is not transferred. @returns a reader
 * that has their roots. @throws {RpcFault}
 */
export async function fetchStatePrefix(
  node: BeaconNode,
  state: string,
  wanted: WantedState,
): Promise<Pick<BeaconStateReader, "rootOf">> {
  const type = typeOf(wanted);
  const reader = new BeaconStateReader(type);
  let left = type.fixedEnd;
  await node.streamState(state, {
    endsItself: false,
    take: (received) => {
      const piece = received.subarray(0, left);
      left -= piece.length;
      believed(node.endpoint, beaconRoutes.state, () => reader.write(piece));
      return left === 0 ? "enough" : "more";
    },
  });
  return reader;
}

/**
 * Fetches the state of a block, read to its end, by its root or its slot. @throws {RpcFault} `malformed` when its root
 * is another one.
 */
export function fetchWholeState(node: BeaconNode, wanted: WantedState): Promise<BeaconStateParts> {
  return byRootOrSlot(wanted.header, (state) => readWholeState(node, state, wanted));
}

async function readWholeState(
  node: BeaconNode,
  state: string,
  wanted: WantedState,
): Promise<BeaconStateParts> {
  const type = typeOf(wanted);
  const route = beaconRoutes.state;
  let reader: BeaconStateReader | StateJsonReader | undefined;
  const takeWith = (make: () => BeaconStateReader | StateJsonReader): TakePiece => (bytes) => {
    const taking = reader ??= make();
    believed(node.endpoint, route, () => taking.write(bytes));
    return "more";
  };
  await node.streamState(state, {
    endsItself: true,
    take: takeWith(() => new BeaconStateReader(type)),
    takeJson: takeWith(() => new StateJsonReader(type)),
  });
  return believed(node.endpoint, route, () => {
    const parts = reader?.finish();
    if (parts?.tree.node(1) !== wanted.header.stateRoot) throw new DerivationError("state_root");
    return parts;
  });
}

/** Name of whole states as a source, in the log and in the endpoints' capabilities. */
export const WHOLE_STATE = "whole state";

/** Fault codes of nodes that find a state only by its other identifier. */
const UNKNOWN_STATE_CODES = ["not_found", "refused", "server_error"] as const;

/**
 * Requests a state by its root, and by its slot where that is not found. By root first: for a slot some nodes replay
 * blocks although they hold the state (OffchainLabs/prysm: beacon-chain/rpc/lookup).
 */
export async function byRootOrSlot<T>(
  header: Pick<BeaconBlockHeader, "stateRoot" | "slot">,
  read: (state: string) => Promise<T>,
): Promise<T> {
  return await read(header.stateRoot).catch(onFault(() => read(String(header.slot)), ...UNKNOWN_STATE_CODES));
}
