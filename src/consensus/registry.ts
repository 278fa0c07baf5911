/**
 * The light clients that the program knows: an import and an entry each. Configuration sections, provers, `log-consensus-state`, examples and
 * reference come from their definitions; nothing else imports from `clients/`.
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

const ofHubs = { grandpa: grandpaClient, beefy: beefyClient };

/** Client of parachains, which needs no configuration. */
export const parachains: ParachainClient = parachainClient;

/** Types of chains whose finality is proved to the hub. */
export type ChainType = keyof typeof ofChains;

/** Section of a chain whose finality is proved. */
export type ProvedChainConfig = ChainClientSection & { readonly type: ChainType };

/** Clients of chains by the type of the chain's section. */
export const chainClients: Readonly<Record<ChainType, ChainClient>> = ofChains;

/** Types of {@link chainClients}, in their order. */
export const CHAIN_TYPES: readonly ChainType[] = keysOf(chainClients);

/** Types of hubs. */
export type HubType = keyof typeof ofHubs;

/** Finality of the hub: its type, and the values of the section that belongs to it. */
export interface HubConsensusConfig {
  readonly type: HubType;
  readonly values: unknown;
}

/** Finality of hubs by the type of `[hub]`. */
export const hubClients: Readonly<Record<HubType, HubClient>> = ofHubs;

/** Types of {@link hubClients}, in their order. */
export const HUB_TYPES: readonly HubType[] = keysOf(hubClients);

function keysOf<T extends string>(clients: Readonly<Record<T, unknown>>): readonly T[] {
  const isKey = (name: string): name is T => name in clients;
  return Object.keys(clients).filter(isKey);
}
