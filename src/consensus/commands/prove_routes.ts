/** Light clients that can be advanced by hand: which prover or host a request means. Pure. */
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import { OperationRefusal } from "../../core/commands/operation.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { HubHost } from "../followers/hub_consensus.ts";
import type { ConsensusProver } from "../prover.ts";
import type { Connections } from "../session.ts";

/** Connections that prove. */
export type ProvingConnections = Pick<Connections, "hub" | "proved" | "receiveOnly" | "hubConsensus">;

/** A light client, by the chains of a request. */
export interface WantedRoute {
  readonly chain: StateMachine;
  /** The chain that stores the light client; absent: the hub. */
  readonly to?: StateMachine | undefined;
}

/** What advances a light client. */
export type ProveRoute =
  /** Updates in extrinsics: of chains on the hub, and of the hub on Substrate chains. */
  | { readonly kind: "prover"; readonly prover: ConsensusProver; readonly target: ConsensusTarget }
  /** Proofs of the hub in transactions of an EVM chain. */
  | { readonly kind: "host"; readonly host: HubHost };

/** Finds what advances a light client. @throws {OperationRefusal} that lists the known ones. */
export function findRoute(connections: ProvingConnections, { chain, to }: WantedRoute): ProveRoute {
  const { hub, proved } = connections;
  const hubName = hub.id.stateMachine;
  if (chain === hubName) return planForFollower(connections, to);
  if (to !== undefined && to !== hubName) {
    throw new OperationRefusal(`${chain} is proved to ${hubName} only: leave out --to.`);
  }
  const prover = proved.find((each) => each.chain === chain);
  if (prover !== undefined) return { kind: "prover", prover, target: hub };
  throw new OperationRefusal(
    connections.receiveOnly.includes(chain)
      ? `${chain} only receives: the hub has no client of it that this program can advance.`
      : `${chain} is not configured. Configured are ${listed(proved.map((each) => each.chain))}.`,
  );
}

/** Finds what proves the hub to a chain. */
function planForFollower(
  { hub, hubConsensus }: ProvingConnections,
  to: StateMachine | undefined,
): ProveRoute {
  const { stateMachine } = hub.id;
  if (hubConsensus === undefined) {
    throw new OperationRefusal(`${stateMachine} is proved to no chain: enable_hub_consensus is false.`);
  }
  const { hosts, followers, skipped, skippedText } = hubConsensus;
  const host = hosts.find(({ id }) => id.stateMachine === to);
  if (host !== undefined) return { kind: "host", host };
  const follower = followers.find(({ target }) => target.id.stateMachine === to);
  if (follower !== undefined) return { kind: "prover", ...follower };
  const known = listed([
    ...hosts.map(({ id }) => id.stateMachine),
    ...followers.map(({ target }) => target.id.stateMachine),
  ]);
  if (to === undefined) {
    throw new OperationRefusal(`Name the chain that ${stateMachine} is proved to, with --to: ${known}.`);
  }
  const why = skipped.includes(to) ? `: ${skippedText}` : "";
  throw new OperationRefusal(`${stateMachine} is not proved to ${to}${why}. It is proved to ${known}.`);
}

function listed(chains: readonly StateMachine[]): string {
  return chains.join(", ") || "none";
}
