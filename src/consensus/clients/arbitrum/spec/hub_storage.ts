/**
 * Storage keys of the hub's pallets for Arbitrum chains. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-arbitrum/src/pallet.rs, modules/pallets/fishermen/src/lib.rs.
 */
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import type { StateMachineId } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat } from "../../../../core/ismp/storage_keys.ts";
import { rollupKey } from "../../../rollup/spec/rollup_client.ts";
import { hash256 } from "../../../../core/encoding/scale.ts";

/**
 * Key of the rollup contract's address (SCALE `H160`). Absent: the hub accepts every update and ignores it.
 * @param id under the chain's own client, as throughout this file.
 */
export function rollupCoreKey(id: StateMachineId): Uint8Array {
  return rollupKey("IsmpArbitrum", "StateMachinesRollupCoreAddresses", id);
}

/**
 * Key that exists when fishermen blacklisted a claim. @param claim assertion hash, or for nodes their claim hash.
 */
export function blacklistedClaimKey(id: StateMachineId, claim: Hash256): Uint8Array {
  return concatBytes(
    rollupKey("Fishermen", "BlacklistedArbitrumClaims", id),
    blake2Concat(hash256.enc(claim)),
  );
}
