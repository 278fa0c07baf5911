/**
 * Beacon states of a node: a prefix of one, or a whole one hashed while it arrives, in bytes or in JSON.
 */
import { DerivationError } from "./spec/sync_committee_error.ts";
import { type BeaconNetwork, epochOfSlot, forkAtEpoch } from "./spec/beacon_network.ts";
import { layoutOfState } from "./spec/state_layout.ts";
import { STATE_PREFIX_BYTES } from "./spec/state_prefix.ts";
import { StateJsonReader } from "./spec/state_json.ts";
import { type BeaconStateParts, BeaconStateReader } from "./spec/state_stream.ts";
import type { BeaconBlockHeader } from "./spec/update.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { TakePiece } from "../../rest/rest_endpoint.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";

/** Fetches the first {@link STATE_PREFIX_BYTES} of a state; the rest is not transferred. @throws {RpcFault} */
export async function fetchStatePrefix(node: BeaconNode, state: string): Promise<Uint8Array> {
  const prefix = new Uint8Array(STATE_PREFIX_BYTES);
  let filled = 0;
  await node.streamState(state, {
    endsItself: false,
    take: (bytes) => {
      const piece = bytes.subarray(0, prefix.length - filled);
      prefix.set(piece, filled);
      filled += piece.length;
      return filled === prefix.length ? "enough" : "more";
    },
  });
  return prefix;
}

/** A state to be read whole, in a network whose forks say how. */
export interface WantedState {
  readonly network: BeaconNetwork;
  readonly header: Pick<BeaconBlockHeader, "stateRoot" | "slot">;
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
  { network, header }: WantedState,
): Promise<BeaconStateParts> {
  const fork = forkAtEpoch(network, epochOfSlot(network, header.slot));
  const layout = layoutOfState(fork.name, Number(network.slotsPerEpoch));
  const route = beaconRoutes.state;
  let reader: BeaconStateReader | StateJsonReader | undefined;
  const takeWith = (make: () => BeaconStateReader | StateJsonReader): TakePiece => (bytes) => {
    const taking = reader ??= make();
    believed(node.endpoint, route, () => taking.write(bytes));
    return "more";
  };
  await node.streamState(state, {
    endsItself: true,
    take: takeWith(() => new BeaconStateReader(layout)),
    takeJson: takeWith(() => new StateJsonReader(layout)),
  });
  return believed(node.endpoint, route, () => {
    const parts = reader?.finish();
    if (parts?.nodes.get(1) !== header.stateRoot) throw new DerivationError("state_root");
    return parts;
  });
}

/** Name of whole states as a source, in the log and in the endpoints' capabilities. */
export const WHOLE_STATE = "whole state";

/** Fault codes of nodes that find a state only by its other identifier. */
const UNKNOWN_STATE_CODES: ReadonlySet<string> = new Set(["not_found", "refused", "server_error"]);

/**
 * Requests a state by its root, and by its slot where that is not found. By root first: for a slot some nodes replay
 * blocks although they hold the state (OffchainLabs/prysm: beacon-chain/rpc/lookup).
 */
export async function byRootOrSlot<T>(
  header: Pick<BeaconBlockHeader, "stateRoot" | "slot">,
  read: (state: string) => Promise<T>,
): Promise<T> {
  try {
    return await read(header.stateRoot);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || !UNKNOWN_STATE_CODES.has(fault.code)) throw fault;
  }
  return await read(String(header.slot));
}
