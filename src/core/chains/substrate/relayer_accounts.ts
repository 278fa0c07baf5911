/** Storage of the hub's pallet Relayer: balances, nonces, minimums, rewards and claims. Plain reads. */
import { recover } from "../../encoding/coded_error.ts";
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import type { StateMachine } from "../../ismp/state_machine.ts";
import { relayerKeys } from "../../ismp/storage_keys.ts";
import { bytes, decodeStrict, ScaleError } from "../../encoding/scale.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { ClaimStatus, HubRewards, RelayerAccounts } from "../hub.ts";
import { fetchRequestMetadata } from "./fees.ts";
import { decodeValue, type SubstrateNode } from "./node.ts";
import { fetchStored, pickStored } from "./stored.ts";

/**
 * Default if none is set, whatever the decimals: polytope-labs/hyperbridge: modules/pallets/relayer/src/lib.rs,
 * MinWithdrawal.
 */
const DEFAULT_MINIMUM_WITHDRAWAL = 10n * 10n ** 18n;
/**
 * Maximum number of keys that a node returns at a time (paritytech/polkadot-sdk:
 * substrate/client/rpc/src/state/mod.rs).
 */
const KEYS_PER_PAGE = 1000;
/** Blake2_128 before the key itself (Blake2_128Concat). */
const HASH_BYTES = 16;

/** Accounts and rewards in the pallet's storage. */
export class SubstrateRelayerAccounts implements RelayerAccounts, HubRewards {
  constructor(readonly node: SubstrateNode) {}

  async fetchClaimStatus(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly ClaimStatus[]> {
    const block = await this.node.client.call(calls.finalizedHash(), signal);
    const found = await fetchRequestMetadata(this.node, { commitments, block }, signal);
    return found.map((metadata) => {
      if (metadata === undefined) return "unknown";
      return metadata.claimed ? "claimed" : "unclaimed";
    });
  }

  async fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return await fetchStored(this.node, relayerKeys.fees.of(chain, address), { signal }) ?? 0n;
  }

  async fetchMinimumWithdrawal(chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    const wanted = relayerKeys.minimumWithdrawalAmount.of(chain);
    return await fetchStored(this.node, wanted, { signal }) ?? DEFAULT_MINIMUM_WITHDRAWAL;
  }

  async fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return await fetchStored(this.node, relayerKeys.nonce.of(address, chain), { signal }) ?? 0n;
  }

  async fetchRotationReward(
    chain: StateMachine,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }> {
    const amount = relayerKeys.outboundConsensusDeliveryReward.of(chain);
    const claimed = relayerKeys.outboundConsensusRotationsClaimed(chain, setId);
    const block = await this.node.client.call(calls.finalizedHash(), signal);
    const stored = await this.node.client.call(calls.storageAt([amount.key, claimed], block), signal);
    return {
      amount: pickStored(this.node, { amount }, stored).amount ?? 0n,
      // The value is a unit: no bytes.
      isClaimed: stored.get(toHex(claimed)) !== undefined,
    };
  }

  async fetchIsRequestClaimed(commitment: Hash256, signal: AbortSignal): Promise<boolean> {
    const key = relayerKeys.outboundRequestsClaimed(commitment);
    const block = await this.node.client.call(calls.finalizedHash(), signal);
    return await this.node.client.call(calls.storage(key, block), signal) !== undefined;
  }

  async fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    const { item, value, prefix } = relayerKeys.outboundRequestDeliveryReward;
    const rewards = new Map<string, bigint>();
    let start: Uint8Array | undefined;
    for (;;) {
      const keys = await this.node.client.call(calls.keysPaged(prefix, KEYS_PER_PAGE, start), signal);
      if (keys.length === 0) return rewards;
      const values = await this.node.client.call(calls.storageAt(keys, undefined), signal);
      for (const key of keys) {
        const reward = decodeValue(this.node, values.get(toHex(key)), value, item) ?? 0n;
        const module = this.#readModule(key.slice(prefix.length + HASH_BYTES));
        if (reward > 0n && module !== undefined) rewards.set(toHex(module), reward);
      }
      if (keys.length < KEYS_PER_PAGE) return rewards;
      start = keys.at(-1);
    }
  }

  #readModule(encoded: Uint8Array): Uint8Array | undefined {
    return recover(ScaleError, () => decodeStrict(bytes, encoded, "ModuleId"), () => {
      this.node.log.warn("unknown_met", {
        what: `rewarded module ${toHex(encoded.slice(0, 64))}`,
        cost: "its reward does not count",
      });
      return undefined;
    });
  }
}
