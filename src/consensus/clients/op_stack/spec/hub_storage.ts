/**
 * Storage of the hub's pallets for OP stack chains: keys and values. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-optimism/src/pallet.rs, modules/pallets/fishermen/src/lib.rs.
 */
import { enhanceCodec } from "scale-ts";
import { concatBytes } from "../../../../core/encoding/bytes.ts";
import { type Address, addressCodec } from "../../../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat, storagePrefix } from "../../../../core/ismp/storage_keys.ts";
import { type Codec, list, pair } from "../../../../core/encoding/scale.ts";
import { type GameTypeConfig, gameTypeConfigCodec } from "./consensus_state.ts";

/** The contract in which games are created, and the types of games that count. */
export interface DisputeGameRules {
  readonly factory: Address;
  readonly gameTypes: readonly GameTypeConfig[];
}

/** SCALE of {@link DisputeGameRules}, value of {@link disputeGameRulesKey}. */
export const disputeGameRulesCodec: Codec<DisputeGameRules> = enhanceCodec(
  pair(addressCodec, list(gameTypeConfigCodec)),
  ({ factory, gameTypes }) => [factory, gameTypes] as const,
  ([factory, gameTypes]) => ({ factory, gameTypes }),
);

function byId(pallet: string, item: string, id: StateMachineId): Uint8Array {
  return concatBytes(storagePrefix(pallet, item), blake2Concat(stateMachineIdCodec.enc(id)));
}

/**
 * Key of the rules of a chain. Absent: the hub accepts every dispute game and ignores it.
 * @param id under the chain's own client, as throughout this file.
 */
export function disputeGameRulesKey(id: StateMachineId): Uint8Array {
  return byId("IsmpOptimism", "StateMachinesDisputeGameFactoriesTypes", id);
}

/** Key of the oracle's address (SCALE `H160`). Absent: the hub accepts every output and ignores it. */
export function outputOracleKey(id: StateMachineId): Uint8Array {
  return byId("IsmpOptimism", "StateMachinesOracleAddresses", id);
}

/** Key that exists when fishermen blacklisted a game. */
export function blacklistedGameKey(id: StateMachineId, proxy: Address): Uint8Array {
  return concatBytes(
    byId("Fishermen", "BlacklistedDisputeGames", id),
    blake2Concat(addressCodec.enc(proxy)),
  );
}
