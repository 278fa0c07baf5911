/** What compiled consensus relayers do on a devnet: which processes there are, and which directions each serves. */
import type { ConsensusChanges } from "../programs/consensus_config.ts";
import { ConsensusProcess, type ConsensusProcessOptions } from "../programs/consensus_process.ts";
import type { DevnetOptions } from "../devnet_options.ts";
import type { Hub } from "../hub/hub.ts";
import { grandpaClientId } from "../hub/pallets/consensus_clients.ts";
import type { UpdateFeed } from "./oracle.ts";
import { ProgramFeed } from "./program_feed.ts";
import { provenEnds } from "./proven_chain_feed.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";
import { followerEnds } from "./hub_follower_feed.ts";

/** Whether the devnet itself leaves to relayers every chain that they can keep current of the hub. */
export function isLeftToOthers({ hubFeed = "devnet" }: DevnetOptions): boolean {
  return hubFeed !== "devnet";
}

/** Chains that the consensus relayer can keep current of the hub. */
export function grandpaFollowers(chains: readonly DevnetSubstrateChain[]): readonly DevnetSubstrateChain[] {
  return chains.filter(({ hubClientId }) => hubClientId === grandpaClientId);
}

/** What consensus relayers do: a feed for each EVM chain, and for each Substrate chain that they keep current of the hub. */
export function feedsOf(
  { feeds, hubFeed, consensusRelayer }: DevnetOptions,
  { hub, endpoints, substrateChains, onFault }:
    & Pick<ConsensusProcessOptions, "endpoints" | "onFault">
    & { readonly hub: Hub; readonly substrateChains: readonly DevnetSubstrateChain[] },
): readonly UpdateFeed[] {
  const { signer, ...settings } = consensusRelayer ?? {};
  const open = (changes: ConsensusChanges): ConsensusProcess =>
    new ConsensusProcess({
      ...settings,
      endpoints,
      changes: { ...changes, ...signer && { signer } },
      onFault,
    });
  const servesFollowers = hubFeed === "program";
  const followers = servesFollowers ? grandpaFollowers(substrateChains) : [];
  const only = followers.map(({ stateMachine }) => stateMachine);
  const grandpa = followers.length > 0 ? open({ hubType: "grandpa", only }) : undefined;
  const shared = feeds === "together" ? open({ enablesHubConsensus: servesFollowers }) : undefined;
  return [
    ...feeds === "none" || feeds === "planted"
      ? []
      : endpoints.chains.map(({ proven }) =>
        new ProgramFeed(provenEnds(hub, proven), shared ?? open({ only: [proven.stateMachine] }))
      ),
    ...grandpa === undefined
      ? []
      : followers.map((chain) => new ProgramFeed(followerEnds(hub, chain), grandpa)),
  ];
}
