/**
 * The light clients that the program knows: one line each. Configuration sections, provers, `log-consensus-state`,
 * examples and reference come from the definitions; nothing else imports from `clients/`.
 */
import type { ChainClient, ChainClientSection, HubClient, ParachainClient } from "./client.ts";
import { arbitrumClient } from "./clients/arbitrum/client.ts";
import { beefyClient } from "./clients/beefy/client.ts";
import { bscClient } from "./clients/bsc/client.ts";
import { grandpaClient } from "./clients/grandpa/client.ts";
import { opStackClient } from "./clients/op_stack/client.ts";
import { parachainClient, substrateEvmClient } from "./clients/parachain/client.ts";
import { polygonClient } from "./clients/polygon/client.ts";
import { syncCommitteeClient } from "./clients/sync_committee/client.ts";

const ofChains = {
  evm: syncCommitteeClient,
  op_stack: opStackClient,
  arbitrum_orbit: arbitrumClient,
  bsc: bscClient,
  polygon: polygonClient,
  substrate_evm: substrateEvmClient,
};

const ofHubs = {
  grandpa: grandpaClient,
  beefy: beefyClient,
};

/** Client of parachains, which needs no configuration. */
export const parachains: ParachainClient = parachainClient;

/** Types of chains whose finality is proved to the hub. */
export type ChainType = keyof typeof ofChains;

/** Values of the host sections by type. */
export type ChainHosts = {
  readonly [T in ChainType]: (typeof ofChains)[T] extends ChainClient<T, infer H> ? H : never;
};

/** Section of a chain whose finality is proved. */
export type ProvedChainConfig<T extends ChainType = ChainType> = {
  [K in T]: ChainClientSection<K, ChainHosts[K]>;
}[T];

/** Clients of chains by the type of the chain's section. */
export const chainClients: { readonly [T in ChainType]: ChainClient<T, ChainHosts[T]> } = ofChains;

/** Types of hubs. */
export type HubType = keyof typeof ofHubs;

/** Values of the sections of hubs by type. */
export type HubValues = {
  readonly [T in HubType]: (typeof ofHubs)[T] extends HubClient<T, infer V> ? V : never;
};

/** Finality of the hub: its type, and the values of the section that belongs to it. */
export type HubConsensusConfig<T extends HubType = HubType> = {
  [K in T]: { readonly type: K; readonly values: HubValues[K] };
}[T];

/** Finality of hubs by the type of `[hub]`. */
export const hubClients: { readonly [T in HubType]: HubClient<T, HubValues[T]> } = ofHubs;

/** Types of {@link chainClients}, in their order. */
export const CHAIN_TYPES: readonly ChainType[] = typesOf(ofChains);

/** Types of {@link hubClients}, in their order. */
export const HUB_TYPES: readonly HubType[] = typesOf(ofHubs);

function typesOf<T extends string>(clients: Readonly<Record<T, { readonly type: T }>>): readonly T[] {
  return Object.values<{ readonly type: T }>(clients).map(({ type }) => type);
}
