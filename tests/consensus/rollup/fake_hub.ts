/**
 * A hub in memory for the provers of rollups: it holds clients, contracts and commitments, and takes an update when the
 * hub's rules (the pure verifiers) do.
 */
import assert from "node:assert/strict";
import type { ConsensusClientView } from "../../../src/core/chains/consensus_target.ts";
import { type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { arbitrumConsensusStateCodec } from "../../../src/consensus/clients/arbitrum/spec/consensus_state.ts";
import {
  blacklistedClaimKey,
  rollupCoreKey,
} from "../../../src/consensus/clients/arbitrum/spec/hub_storage.ts";
import {
  claimOf,
  decodeArbitrumState,
  decodeArbitrumUpdate,
  verifyArbitrumUpdate,
} from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { opStackConsensusStateCodec } from "../../../src/consensus/clients/op_stack/spec/consensus_state.ts";
import {
  blacklistedGameKey,
  disputeGameRulesCodec,
  disputeGameRulesKey,
  outputOracleKey,
} from "../../../src/consensus/clients/op_stack/spec/hub_storage.ts";
import {
  decodeOpStackState,
  decodeOpStackUpdate,
  verifyOpStackUpdate,
} from "../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { OP_STACK_CLIENT_ID } from "../../../src/consensus/rollup/spec/known_rollups.ts";
import type { RollupClientState } from "../../../src/consensus/rollup/spec/rollup_client.ts";
import { addressCodec } from "../../../src/core/evm/address.ts";
import type { IntermediateState, StateCommitment } from "../../../src/core/ismp/state_commitment.ts";
import {
  type ConsensusStateId,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdKey,
} from "../../../src/core/ismp/state_machine.ts";
import type { RollupHub } from "../../../src/consensus/rollup/rollup_options.ts";

/** What the hub says to an update. */
export type Verdict =
  /** Taken; the height that it stored, `undefined` when the hub knew as much before. */
  | { readonly kind: "accepted"; readonly stored: bigint | undefined }
  | { readonly kind: "refused"; readonly code: string };

/** The hub. */
export class FakeHub implements RollupHub {
  readonly clients = new Map<ConsensusStateId, ConsensusClientView>();
  /** Raw values by hex of the key. */
  readonly storage = new Map<string, Uint8Array>();
  /** Its clock, Unix seconds. */
  nowSec = 0n;
  readonly #commitments = new Map<string, StateCommitment>();
  readonly #latest = new Map<string, bigint>();

  get reads(): this {
    return this;
  }

  fetchClient(id: ConsensusStateId): Promise<ConsensusClientView | undefined> {
    return Promise.resolve(this.clients.get(id));
  }

  fetchNowSec(): Promise<bigint> {
    return Promise.resolve(this.nowSec);
  }

  fetchLatestHeight(of: StateMachineId): Promise<bigint | undefined> {
    return Promise.resolve(this.#latest.get(stateMachineIdKey(of)));
  }

  fetchCommitment(of: StateMachineHeight): Promise<StateCommitment | undefined> {
    return Promise.resolve(this.#commitments.get(heightKey(of)));
  }

  fetchStorage(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    return Promise.resolve(keys.map((key) => this.storage.get(toHex(key))));
  }

  /** Creates a client. */
  addClient(id: ConsensusStateId, clientId: ConsensusClientView["clientId"], state: Uint8Array): void {
    this.clients.set(id, { clientId, state, updatedSec: 0n, unbondingSec: 2n ** 64n - 1n, isFrozen: false });
  }

  /** Sets or removes a stored value. */
  store(key: Uint8Array, value: Uint8Array | undefined): void {
    if (value === undefined) this.storage.delete(toHex(key));
    else this.storage.set(toHex(key), value);
  }

  /** Stores a commitment, unless the hub knows as much. */
  commit({ height, commitment }: IntermediateState): bigint | undefined {
    const latest = this.#latest.get(stateMachineIdKey(height.id));
    if (latest !== undefined && latest >= height.height) return undefined;
    this.#commitments.set(heightKey(height), commitment);
    this.#latest.set(stateMachineIdKey(height.id), height.height);
    return height.height;
  }

  /** Forgets a commitment, as the hub does with old ones. */
  forget(height: StateMachineHeight): void {
    this.#commitments.delete(heightKey(height));
  }

  /** Another hub block is the best one, at which an older height was the newest. */
  rewind({ id, height }: StateMachineHeight): void {
    this.#latest.set(stateMachineIdKey(id), height);
  }

  /** What the runtime makes of a consensus message. */
  submit(id: ConsensusStateId, proof: Uint8Array): Verdict {
    const client = this.clients.get(id);
    assert.ok(client, `the hub has no client ${id}`);
    try {
      const { state, commitment } = client.clientId === OP_STACK_CLIENT_ID
        ? this.#verifyOpStack(client.state, proof)
        : this.#verifyArbitrum(client.state, proof);
      this.clients.set(id, { ...client, state });
      return { kind: "accepted", stored: commitment && this.commit(commitment) };
    } catch (error) {
      if (error instanceof Error && "code" in error) return { kind: "refused", code: String(error.code) };
      throw error;
    }
  }

  #verifyOpStack(
    stored: Uint8Array,
    proof: Uint8Array,
  ): { readonly state: Uint8Array; readonly commitment: IntermediateState | undefined } {
    const trusted = decodeOpStackState(stored);
    const update = decodeOpStackUpdate(proof);
    const id = trusted.stateMachineId;
    const rules = this.storage.get(toHex(disputeGameRulesKey(id)));
    const oracle = this.storage.get(toHex(outputOracleKey(id)));
    const games = update.proof.tag === "OpFaultProofGames" ? [update.proof.value.proxy] : [];
    const verified = verifyOpStackUpdate(trusted, update, {
      l1StateRoot: this.#l1Root(trusted, update.l1Height),
      disputeGames: rules && disputeGameRulesCodec.dec(rules),
      outputOracle: oracle && addressCodec.dec(oracle),
      blacklistedGames: new Set(
        games.filter((game) => this.storage.has(toHex(blacklistedGameKey(id, game)))),
      ),
    });
    return {
      state: opStackConsensusStateCodec.enc(verified.consensusState),
      commitment: verified.commitment,
    };
  }

  #verifyArbitrum(
    stored: Uint8Array,
    proof: Uint8Array,
  ): { readonly state: Uint8Array; readonly commitment: IntermediateState | undefined } {
    const trusted = decodeArbitrumState(stored);
    const update = decodeArbitrumUpdate(proof);
    const id = trusted.stateMachineId;
    const rollup = this.storage.get(toHex(rollupCoreKey(id)));
    const claims = [claimOf(update.proof)];
    const verified = verifyArbitrumUpdate(trusted, update, {
      l1StateRoot: this.#l1Root(trusted, update.l1Height),
      rollupCore: rollup && addressCodec.dec(rollup),
      blacklistedClaims: new Set(
        claims.filter((each) => this.storage.has(toHex(blacklistedClaimKey(id, each)))),
      ),
    });
    return {
      state: arbitrumConsensusStateCodec.enc(verified.consensusState),
      commitment: verified.commitment,
    };
  }

  #l1Root(trusted: RollupClientState, height: bigint): Hash256 | undefined {
    return this.#commitments.get(heightKey({ id: trusted.l1StateMachineId, height }))?.stateRoot;
  }
}

function heightKey({ id, height }: StateMachineHeight): string {
  return `${stateMachineIdKey(id)}/${height}`;
}
