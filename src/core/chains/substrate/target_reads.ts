/** Light clients of the target: plain reads of its storage. */
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import {
  consensusClientIdCodec,
  type ConsensusStateId,
  type StateMachineId,
} from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys } from "../../ismp/storage_keys.ts";
import { bool, bytes, u64 } from "../../encoding/scale.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { ConsensusClientView, HubBlock, TargetReads } from "../consensus_target.ts";
import type { SubstrateNode } from "./node.ts";
import { decodeValue, Values } from "./storage_values.ts";
import { SubstrateReads } from "./reads.ts";

/** Light client with its trusted state, and the clock that decides whether it accepts updates. */
export interface ClientSnapshot {
  /** `undefined`: the hub has no such client. */
  readonly client: ConsensusClientView | undefined;
  /** Clock of the target, Unix seconds. */
  readonly nowSec: bigint;
}

/** Reads of a chain with light clients that this relayer updates. */
export class SubstrateTargetReads extends SubstrateReads implements TargetReads {
  readonly #node: SubstrateNode;

  constructor(node: SubstrateNode) {
    super(node);
    this.#node = node;
  }

  async fetchClient(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ConsensusClientView | undefined> {
    return (await this.fetchClientSnapshot(id, block, signal)).client;
  }

  /** Fetches a light client and the clock, at one block. One round trip, two for the final block. */
  async fetchClientSnapshot(
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
    const at = await this.#fetchHash(block, signal);
    const values = new Values(
      this.#node,
      await this.#node.client.readStorage(Object.values(keys), at, signal),
    );
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

  /** Fetches the latest stored height of a chain. One round trip. */
  async fetchLatestHeight(
    of: StateMachineId,
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    const stored = await this.#node.client.call(calls.storage(ismpKeys.latestStateMachineHeight(of)), signal);
    return decodeValue(this.#node, stored, u64, "LatestStateMachineHeight");
  }

  /** Fetches the clock of the target, Unix seconds. One round trip. */
  async fetchNowSec(signal: AbortSignal): Promise<bigint> {
    const stored = await this.#node.client.call(calls.storage(otherKeys.timestampNow()), signal);
    return (decodeValue(this.#node, stored, u64, "Timestamp.Now") ?? 0n) / 1000n;
  }

  /** Fetches values at one block, in the order of the keys. One round trip, two for the final block. */
  async fetchStorage(
    keys: readonly Uint8Array[],
    signal: AbortSignal,
    block: HubBlock = "best",
  ): Promise<readonly (Uint8Array | undefined)[]> {
    if (keys.length === 0) return [];
    const values = await this.#node.client.readStorage(keys, await this.#fetchHash(block, signal), signal);
    return keys.map((key) => values.get(toHex(key)));
  }

  /** `undefined` stands for the best block. */
  async #fetchHash(
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<Hash256 | undefined> {
    return block === "final" ? await this.#node.client.call(calls.finalizedHash(), signal) : undefined;
  }
}
