/** Profiles by their names. */
import { BEACON_PROFILES } from "./beacon_profiles.ts";
import { EVM_PROFILES } from "./evm_profiles.ts";
import type { Profile, RestBehaviour } from "./profile.ts";
import type { RpcBehaviour } from "./rpc_behaviour.ts";
import { SUBSTRATE_PROFILES } from "./substrate_profiles.ts";

/** The profile of an EVM node. @throws {RangeError} for a name that there is not. */
export function evmProfile(name: string): Profile<RpcBehaviour> {
  return find(EVM_PROFILES, name);
}

/** The profile of a Substrate node. @throws {RangeError} for a name that there is not. */
export function substrateProfile(name: string): Profile<RpcBehaviour> {
  return find(SUBSTRATE_PROFILES, name);
}

/** The profile of a beacon node. @throws {RangeError} for a name that there is not. */
export function beaconProfile(name: string): Profile<RestBehaviour> {
  return find(BEACON_PROFILES, name);
}

function find<T extends { readonly name: string }>(profiles: readonly T[], name: string): T {
  const found = profiles.find((profile) => profile.name === name);
  if (found === undefined) throw new RangeError(`No profile ${name}`);
  return found;
}
