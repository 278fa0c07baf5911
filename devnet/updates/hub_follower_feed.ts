/** How the compiled consensus relayer keeps a Substrate chain of a devnet current of the hub. */
import type { Hub } from "../hub/hub.ts";
import type { FeedEnds } from "./program_feed.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";

/** The direction from the hub to a chain. */
export function followerEnds(hub: Hub, { node, stateMachine }: DevnetSubstrateChain): FeedEnds {
  return {
    direction: { from: hub.identity.stateMachine, to: stateMachine },
    receiver: node,
    last: () => node.latestHeight(hub.identity) ?? 0n,
    newest: () => BigInt(hub.finalized.number),
  };
}
