/**
 * Storage keys of the hub's pallets for Arbitrum chains. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-arbitrum/src/pallet.rs, modules/pallets/fishermen/src/lib.rs.
 */
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { type StateMachineId, stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat, storagePrefix } from "../../../../core/ismp/storage_keys.ts";
import { hash256 } from "../../../../core/encoding/scale.ts";

function byId(pallet: string, item: string, id: StateMachineId): Uint8Array {
  return concatBytes(storagePrefix(pallet, item), blake2Concat(stateMachineIdCodec.enc(id)));
}

/**
 * Key of the rollup contract's address (SCALE `H160`). Absent: the hub accepts every update and ignores it.
 * @param id under the chain's own client, as throughout this file.
 */
export function rollupCoreKey(id: StateMachineId): Uint8Array {
  return byId("IsmpArbitrum", "StateMachinesRollupCoreAddresses", id);
}

/**
 * Key that exists when fishermen blacklisted a claim. @param claim assertion hash, or for nodes their claim hash.
 */
export function blacklistedClaimKey(id: StateMachineId, claim: Hash256): Uint8Array {
  return concatBytes(byId("Fishermen", "BlacklistedArbitrumClaims", id), blake2Concat(hash256.enc(claim)));
}
