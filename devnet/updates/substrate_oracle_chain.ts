/**
 * How the Substrate chains of a devnet and its hub prove themselves to each other: siblings by the heads that the relay
 * chain has of them, standalone chains by their own votes, the hub to these by the votes of the relay chain.
 */
import { parseStateMachine, type StateMachineId, toParaId } from "../../src/core/ismp/state_machine.ts";
import { grandpaStateOf, GrandpaUpdater, type VotingChain } from "./grandpa_updater.ts";
import type { Hub } from "../hub/hub.ts";
import type { HubOptions } from "../hub/hub_options.ts";
import type { HubIdentity } from "../hub/node.ts";
import { clientOf } from "../hub/initial_clients.ts";
import { grandpaClientId, parachainClientId } from "../hub/pallets/consensus_clients.ts";
import type { NewConsensusClient } from "../hub/pallets/ismp.ts";
import type { OracleChain } from "./oracle.ts";
import { ParachainUpdater } from "./parachain_updater.ts";
import type { RelayChainNode } from "../relay/relay_chain.ts";
import {
  type DevnetSubstrateChain,
  type DevnetSubstrateOptions,
  followedSlotMs,
  isSiblingOf,
  relayParentOf,
} from "../chains/substrate_chains.ts";
import type { Receiver } from "./update_sender.ts";

/** A Substrate chain was asked for that no devnet can follow. */
export class UnsupportedChain extends Error {
  override readonly name = "UnsupportedChain";
  readonly code = "unsupported_chain";
}

/**
 * What a chain trusts of the hub from its first block on: a relay chain, or the voters of one.
 * @throws {UnsupportedChain}
 */
export async function followingHub(
  relay: RelayChainNode,
  hub: HubIdentity,
  { stateMachine, hashing, followsHubBy }: DevnetSubstrateOptions,
): Promise<Pick<DevnetSubstrateOptions, "relay" | "hubFinality">> {
  const isSibling = isSiblingOf(hub, parseStateMachine(stateMachine));
  if (!isSibling && followsHubBy === "PARA") {
    throw new UnsupportedChain(`${stateMachine} does not build on the relay chain of the hub`);
  }
  if (!isSibling && !stateMachine.startsWith("SUBSTRATE-")) {
    throw new UnsupportedChain(`${stateMachine} has no relay chain here`);
  }
  if (!isSibling && hashing === "Keccak") {
    throw new UnsupportedChain("GRANDPA clients take BLAKE2 headers of standalone chains only");
  }
  if (isSibling && followsHubBy !== "GRNP") return { relay };
  return { hubFinality: await grandpaStateOf(relay, hub) };
}

/** The hub's clients of the chains: what they trust, and which chains they take. */
export async function substrateClients(
  relay: RelayChainNode,
  hub: HubIdentity,
  { chains, polkadotHubs, challengePeriodSec, unbondingPeriodSec }: {
    readonly chains: readonly DevnetSubstrateChain[];
    /** Siblings that the hub stores as EVM chains. */
    readonly polkadotHubs: readonly Pick<StateMachineId, "stateMachine">[];
    readonly challengePeriodSec: bigint;
    readonly unbondingPeriodSec: bigint;
  },
): Promise<Pick<HubOptions, "clients" | "consensus" | "relayParent">> {
  const siblings = chains.filter(({ clientId }) => clientId === parachainClientId);
  const standalone = chains.filter(({ clientId }) => clientId === grandpaClientId);
  const periods = (
    of: readonly Pick<StateMachineId, "stateMachine">[],
  ): NewConsensusClient["challengePeriodsSec"] =>
    new Map(of.map(({ stateMachine }) => [stateMachine, challengePeriodSec]));
  return {
    clients: [
      // There from the start: also under its name the hub's own heights are stored.
      {
        stateId: hub.consensusStateId,
        clientId: parachainClientId,
        unbondingPeriodSec,
        challengePeriodsSec: periods([...siblings, ...polkadotHubs]),
      },
      ...await Promise.all(standalone.map(async (chain) => ({
        ...clientOf(chain.consensusStateId, await grandpaStateOf(chain.node, chain.node.identity)),
        challengePeriodsSec: periods([chain]),
      }))),
    ],
    consensus: {
      parachains: siblings.map(({ stateMachine }) => toParaId(stateMachine)),
      grandpaStateMachines: new Map(standalone.map(({ stateMachine }) => [stateMachine, followedSlotMs])),
    },
    ...siblings.length + polkadotHubs.length > 0 && { relayParent: () => relayParentOf(relay) },
  };
}

/** The chains as the oracle sees them. */
export function substrateOracleChains(
  { relay, finalityLag, hub, chains, others, started }: {
    readonly relay: RelayChainNode;
    readonly finalityLag: number;
    readonly hub: Hub;
    readonly chains: readonly DevnetSubstrateChain[];
    /** Those among them that others prove the hub to. */
    readonly others: readonly DevnetSubstrateChain[];
    /** What has to be closed. */
    readonly started: AsyncDisposableStack;
  },
): readonly OracleChain[] {
  const { stateMachine, consensusStateId } = hub.identity;
  const hubId = { stateMachine, consensusStateId };
  const atHub: Receiver = { node: hub, hashing: "Keccak", makesBlocks: false };
  const voting: VotingChain = {
    wsUrl: relay.wsUrl,
    cover: () => void relay.produceBlocks(finalityLag + 1),
  };
  const siblings = started.use(
    new ParachainUpdater({ relay, receiver: atHub, hub: stateMachine }),
  );
  return chains.map((chain) => {
    const { node, hashing, clientId, hubClientId } = chain;
    const receiver = { node, hashing, makesBlocks: true };
    const proveToHub = clientId === parachainClientId
      ? siblings.update(idOf(chain))
      : started.use(new GrandpaUpdater({ voting: node, followed: idOf(chain), receiver: atHub })).update;
    if (others.includes(chain)) return { stateMachine: chain.stateMachine, proveToHub };
    const proveHub = hubClientId === parachainClientId
      ? started.use(new ParachainUpdater({ relay, receiver, hub: stateMachine })).update(hubId)
      : started.use(new GrandpaUpdater({ voting, followed: hubId, receiver })).update;
    return { stateMachine: chain.stateMachine, proveToHub, proveHub };
  });
}

/** How the hub names a chain. */
function idOf({ stateMachine, consensusStateId }: DevnetSubstrateChain): StateMachineId {
  return { stateMachine, consensusStateId };
}
