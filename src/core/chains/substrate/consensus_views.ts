/** Light clients of the target: plain reads of its storage. */
import { concatBytes, type Hash256, toHex } from "../../encoding/bytes.ts";
import { type StateCommitment, stateCommitmentCodec } from "../../ismp/state_commitment.ts";
import {
  consensusClientIdCodec,
  type ConsensusStateId,
  type StateMachineHeight,
  stateMachineHeightCodec,
  type StateMachineId,
} from "../../ismp/state_machine.ts";
import { blake2Concat, ismpKeys, otherKeys, storagePrefix } from "../../ismp/storage_keys.ts";
import { bool, bytes, u64 } from "../../encoding/scale.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { ConsensusClientView, HubBlock } from "../consensus_target.ts";
import type { SubstrateNode } from "./node.ts";
import { decodeValue, Values } from "./views.ts";

/** Light client with its trusted state, and the clock that decides whether it accepts updates. */
export interface ClientSnapshot {
  /** `undefined`: the hub has no such client. */
  readonly client: ConsensusClientView | undefined;
  /** Clock of the target, Unix seconds. */
  readonly nowSec: bigint;
}

/** Fetches a light client and the clock, at one block. One round trip, two for the final block. */
export async function fetchClientSnapshot(
  node: SubstrateNode,
  id: ConsensusStateId,
  block: HubBlock,
  signal: AbortSignal,
): Promise<ClientSnapshot> {
  const keys = {
    state: ismpKeys.consensusStates(id),
    clientId: ismpKeys.consensusStateClient(id),
    updated: ismpKeys.consensusClientUpdateTime(id),
    unbonding: ismpKeys.unbondingPeriod(id),
    frozen: ismpKeys.frozenConsensusClients(id),
    now: otherKeys.timestampNow(),
  };
  const at = await fetchHash(node, block, signal);
  const values = new Values(node, await node.client.readStorage(Object.values(keys), at, signal));
  const nowSec = (values.read(keys.now, u64, "Timestamp.Now") ?? 0n) / 1000n;
  const clientId = values.read(keys.clientId, consensusClientIdCodec, "ConsensusStateClient");
  const state = values.read(keys.state, bytes, "ConsensusStates");
  if (clientId === undefined || state === undefined) return { client: undefined, nowSec };
  const client: ConsensusClientView = {
    clientId,
    state,
    updatedSec: values.read(keys.updated, u64, "ConsensusClientUpdateTime") ?? 0n,
    unbondingSec: values.read(keys.unbonding, u64, "UnbondingPeriod") ?? 0n,
    isFrozen: values.read(keys.frozen, bool, "FrozenConsensusClients") ?? false,
  };
  return { client, nowSec };
}

/** `undefined` stands for the best block. */
async function fetchHash(
  node: SubstrateNode,
  block: HubBlock,
  signal: AbortSignal,
): Promise<Hash256 | undefined> {
  return block === "final" ? await node.client.call(calls.finalizedHash(), signal) : undefined;
}

/** Fetches the latest stored height of a chain. One round trip. */
export async function fetchLatestHeight(
  node: SubstrateNode,
  of: StateMachineId,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const stored = await node.client.call(calls.storage(ismpKeys.latestStateMachineHeight(of)), signal);
  return decodeValue(node, stored, u64, "LatestStateMachineHeight");
}

/**
 * Fetches the commitment of one height. Releases up to July 2025 keep it in `StateCommitments` (Blake2_128Concat of
 * the height): docs/protocol/hub.md section 6.
 */
export async function fetchCommitment(
  node: SubstrateNode,
  of: StateMachineHeight,
  signal: AbortSignal,
): Promise<StateCommitment | undefined> {
  const runtime = await node.runtimes.current(signal);
  const isBounded = runtime.hasStorage("Ismp", "BoundedStateCommitments") ||
    !runtime.hasStorage("Ismp", "StateCommitments");
  const key = isBounded ? ismpKeys.boundedStateCommitments(of.id, of.height) : olderCommitmentKey(of);
  const stored = await node.client.call(calls.storage(key), signal);
  return decodeValue(node, stored, stateCommitmentCodec, "StateCommitment");
}

function olderCommitmentKey(of: StateMachineHeight): Uint8Array {
  const key = blake2Concat(stateMachineHeightCodec.enc(of));
  return concatBytes(storagePrefix("Ismp", "StateCommitments"), key);
}

/** Fetches the clock of the target, Unix seconds. One round trip. */
export async function fetchNowSec(node: SubstrateNode, signal: AbortSignal): Promise<bigint> {
  const stored = await node.client.call(calls.storage(otherKeys.timestampNow()), signal);
  return (decodeValue(node, stored, u64, "Timestamp.Now") ?? 0n) / 1000n;
}

/** Fetches values at one block, in the order of the keys. One round trip, two for the final block. */
export async function fetchStorage(
  node: SubstrateNode,
  { keys, block }: { readonly keys: readonly Uint8Array[]; readonly block: HubBlock },
  signal: AbortSignal,
): Promise<readonly (Uint8Array | undefined)[]> {
  if (keys.length === 0) return [];
  const values = await node.client.readStorage(keys, await fetchHash(node, block, signal), signal);
  return keys.map((key) => values.get(toHex(key)));
}
