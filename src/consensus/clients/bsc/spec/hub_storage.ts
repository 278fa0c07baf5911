/**
 * Storage of the hub's BSC pallet: key and value. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/bsc/src/pallet.rs.
 */
import { storagePrefix } from "../../../../core/ismp/storage_keys.ts";
import { type Codec, u64 } from "../../../../core/encoding/scale.ts";

/** Key of the number of blocks of an epoch. Absent: the hub refuses every update. */
export function epochLengthKey(): Uint8Array {
  return storagePrefix("IsmpBsc", "EpochLength");
}

/** SCALE of the value of {@link epochLengthKey}. */
export const epochLengthCodec: Codec<bigint> = u64;
