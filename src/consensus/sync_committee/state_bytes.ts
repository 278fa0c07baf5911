/**
 * Beacon states as bytes: the beginning of one, or a whole one hashed while it arrives.
 */
import type { Hash256 } from "../../core/protocol/bytes.ts";
import { DerivationError } from "../../core/protocol/consensus/sync_committee/derivation_error.ts";
import { STATE_PREFIX_BYTES } from "../../core/protocol/consensus/sync_committee/state_prefix.ts";
import {
  type BeaconStateParts,
  BeaconStateReader,
} from "../../core/protocol/consensus/sync_committee/state_stream.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";

/** The first {@link STATE_PREFIX_BYTES} of a state; the rest is not transferred. @throws {RpcFault} */
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

/** The state with this root, read to its end. @throws {RpcFault} `malformed` when its root is another one. */
export async function fetchWholeState(
  node: BeaconNode,
  state: string,
  expected: { readonly root: Hash256; readonly slotsPerEpoch: bigint },
): Promise<BeaconStateParts> {
  const route = beaconRoutes.state;
  const reader = new BeaconStateReader(expected.slotsPerEpoch);
  await node.streamState(state, {
    endsItself: true,
    take: (bytes) => {
      believed(node.endpoint, route, () => reader.write(bytes));
      return "more";
    },
  });
  return believed(node.endpoint, route, () => {
    const parts = reader.finish();
    if (parts.nodes[1] !== expected.root) throw new DerivationError("state_root");
    return parts;
  });
}
