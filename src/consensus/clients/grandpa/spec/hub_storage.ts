/**
 * Storage of a relay chain and of a verifying chain for GRANDPA: keys and values. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/grandpa/src/lib.rs (SupportedStateMachines); paritytech/polkadot-sdk:
 * substrate/frame/grandpa/src/lib.rs.
 */
import { concatBytes } from "../../../../core/encoding/bytes.ts";
import { type StateMachine, stateMachineCodec } from "../../../../core/ismp/state_machine.ts";
import { storagePrefix, twoxConcat } from "../../../../core/ismp/storage_keys.ts";
import { type Codec, u64 } from "../../../../core/encoding/scale.ts";

/** On the verifying chain: duration of a chain's slots in milliseconds; absent: the chain is not followed. */
export function supportedStateMachineKey(chain: StateMachine): Uint8Array {
  const prefix = storagePrefix("IsmpGrandpa", "SupportedStateMachines");
  return concatBytes(prefix, twoxConcat(stateMachineCodec.enc(chain)));
}

/** On the relay chain: id of the current voter set. */
export function currentSetIdKey(): Uint8Array {
  return storagePrefix("Grandpa", "CurrentSetId");
}

/** SCALE of both values. */
export const grandpaNumberCodec: Codec<bigint> = u64;
