/**
 * What governance sets for relayers, and what tests read of their accounts. Changes take effect in the next block.
 */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { requestMetadataCodec } from "../../src/core/ismp/host_state.ts";
import type { StateMachine } from "../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeStrict } from "../../src/core/encoding/scale.ts";
import type { AdminAction } from "./blocks.ts";
import type { BlockName } from "./hub_options.ts";
import type { BalancesPallet } from "./pallets/balances.ts";
import { type RelayerParts } from "./pallets/relayer_storage.ts";
import type { RuntimeChange } from "./runtime_metadata.ts";
import type { Snapshot } from "./storage.ts";
import type { EvmHostParam } from "./pallets/host_executive.ts";

/** Runs an action in the next block. */
export type Enqueue = (run: AdminAction) => Promise<BlockName>;

/** What is governed; chains other than the hub have no relayer accounts. */
export interface GovernedPallets {
  readonly balances: BalancesPallet;
  readonly relayer: RelayerParts | undefined;
}

/** Pallets Relayer, HostExecutive, Balances and those of the consensus clients from the side of governance. */
export class Governance {
  readonly #pallets: GovernedPallets;
  readonly #enqueue: Enqueue;
  readonly #bestState: () => Snapshot;

  constructor(pallets: GovernedPallets, enqueue: Enqueue, bestState: () => Snapshot) {
    this.#pallets = pallets;
    this.#enqueue = enqueue;
    this.#bestState = bestState;
  }

  get #relayer(): RelayerParts {
    const { relayer } = this.#pallets;
    if (relayer === undefined) throw new Error("This chain has no pallet Relayer");
    return relayer;
  }

  /** Sets the parameters of an EVM host: without them nothing is withdrawn to its chain. */
  setHostParams(chain: StateMachine, params: EvmHostParam): Promise<BlockName> {
    const { hostParams } = this.#relayer.hostExecutive;
    return this.#enqueue(hostParams.to({ tag: "EvmHostParam", value: params }, chain));
  }

  /** Lets the relayers' pallet read slots of an EVM chain as words, as a later runtime would. */
  readWordsOf(chain: StateMachine): Promise<BlockName> {
    return this.#enqueue(() => {
      this.#relayer.wordChains.add(chain);
    });
  }

  /** Sets the decimals of a Substrate chain's fee token. */
  setFeeTokenDecimals(chain: StateMachine, decimals: number): Promise<BlockName> {
    return this.#enqueue(this.#relayer.hostExecutive.feeTokenDecimals.to(decimals, chain));
  }

  /** Sets the smallest amount that is paid out, in units of the chain's fee token. */
  setMinimumWithdrawal(chain: StateMachine, amount: bigint): Promise<BlockName> {
    return this.#enqueue(this.#relayer.storage.minimumWithdrawal.to(amount, chain));
  }

  /** Sets the reward for delivering a rotation to a chain, in native units (12 decimals); 0 offers none. */
  setConsensusReward(chain: StateMachine, amount: bigint): Promise<BlockName> {
    return this.#enqueue(this.#relayer.storage.consensusReward.to(amount, chain));
  }

  /** Sets the reward for delivering a request of a module of the hub, in native units; 0 offers none. */
  setRequestReward(moduleId: Uint8Array, amount: bigint): Promise<BlockName> {
    return this.#enqueue(this.#relayer.storage.requestReward.to(amount, moduleId));
  }

  /** Sets what an account owns, in native units. Rewards come from `treasuryAccount` of `pallets/balances.ts`. */
  setBalance(account: Hash256, free: bigint): Promise<BlockName> {
    return this.#enqueue((execution) => this.#pallets.balances.set(execution.overlay, account, free));
  }

  /** Upgrades the runtime. The block that brings the new one is still executed by the old one. */
  upgradeRuntime(change: RuntimeChange): Promise<BlockName> {
    return this.#enqueue((execution) => {
      execution.upgrade = execution.metadata.upgraded(change);
    });
  }

  /** Fees credited to an address for requests paid on `chain`. */
  feesOf(chain: StateMachine, address: Uint8Array): bigint {
    return this.#relayer.storage.fees.get(this.#bestState().main, chain, address) ?? 0n;
  }

  /** Nonce that the next signature of an address for `chain` must carry. */
  nonceOf(address: Uint8Array, chain: StateMachine): bigint {
    return this.#relayer.storage.nonce.get(this.#bestState().main, address, chain) ?? 0n;
  }

  /** What an account owns, in native units. */
  balanceOf(account: Hash256): bigint {
    return this.#pallets.balances.free(this.#bestState().main, account);
  }

  /** Whether the fee of a request was accumulated; undefined for requests that the hub does not know. */
  isClaimed(commitment: Hash256): boolean | undefined {
    const stored = this.#bestState().child.get(childTrieKeys.requestCommitment(commitment));
    return stored && decodeStrict(requestMetadataCodec, stored, "RequestMetadata").claimed;
  }
}
