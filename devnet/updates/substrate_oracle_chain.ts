/**
 * How the Substrate chains of a devnet and its hub prove themselves to each other: siblings by the heads that the relay
 * chain has of them, standalone chains by their own votes, the hub to these by the votes of the relay chain.
 */
import { consensusSettings } from "../hub/pallets/consensus_verifiers.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  type StateMachineId,
  stateMachineParts,
  toParaId,
} from "../../src/core/ismp/state_machine.ts";
import { connectConsensus, type ConsensusConnection } from "../hub/consensus_work.ts";
import type { Hub } from "../hub/hub.ts";
import { waitUntil } from "../waiting.ts";
import {
  GrandpaProver,
  type GrandpaProverOptions,
} from "../../src/consensus/clients/grandpa/grandpa_prover.ts";
import type { ConsensusProver, InitialConsensusState } from "../../src/consensus/prover.ts";
import type { HubIdentity } from "../hub/node.ts";
import { connectRelay, type RelayConnection } from "../relay/relay_reader.ts";
import { ParachainProver } from "../../src/consensus/clients/parachain/parachain_prover.ts";
import type { ServedDirection, UpdateStep } from "./oracle.ts";
import type { RelayChainNode } from "../relay/relay_chain.ts";
import type { HubOptions } from "../hub/hub_options.ts";
import { clientOf } from "../hub/initial_clients.ts";
import { grandpaClientId, parachainClientId } from "../hub/pallets/consensus_clients.ts";
import type { NewConsensusClient } from "../hub/pallets/ismp.ts";
import {
  type DevnetSubstrateChain,
  type DevnetSubstrateOptions,
  followedSlotMs,
  isSiblingOf,
  relayParentOf,
} from "../chains/substrate_chains.ts";

/** A chain with pallet-ismp that follows another one. */
interface Receiver {
  readonly node: Hub;
  readonly hashing: HashAlgorithm;
  /** True: a block is made for each update. False: it waits for the next one, as on a live chain. */
  readonly makesBlocks: boolean;
}

const POLL_EVERY_MS = 20;

const never = new AbortController().signal;

/** The consensus relayer's own adapter, connected to a receiver. */
function connectReceiver({ node, hashing }: Receiver): ConsensusConnection {
  const { stateMachine, consensusStateId } = node.identity;
  return connectConsensus(node, { id: { stateMachine, consensusStateId }, hashing });
}

/**
 * Submits proofs of one client and waits until they are in a block.
 * @param atOnce a block is made for them, whatever the receiver does otherwise.
 * @throws {Error} when they are not taken.
 */
async function sendUpdate(
  { node, makesBlocks }: Receiver,
  { hub }: ConsensusConnection,
  { client, proofs, atOnce }: {
    readonly client: ConsensusStateId;
    readonly proofs: readonly Uint8Array[];
    readonly atOnce: boolean;
  },
): Promise<void> {
  const where = node.identity.stateMachine;
  const submission = await hub.updates.prepareUpdates({ id: client, proofs }, never);
  const { kind } = await hub.sender.broadcast(submission, never);
  if (kind !== "sent") {
    throw new Error(`The pool of ${where} said ${kind}: ${node.rejections.at(-1)?.detail ?? "no reason"}`);
  }
  if (atOnce || makesBlocks) node.produceBlock();
  const isIncluded = async (): Promise<boolean> => {
    const outcome = await hub.outcomes.fetchOutcome(submission, never);
    if (outcome.kind !== "included") return false;
    if (outcome.succeeded) return true;
    throw new Error(`${where} did not take an update of ${client}`);
  };
  await waitUntil(`${where} made a block for an update of ${client}`, isIncluded, { everyMs: POLL_EVERY_MS });
}

/** Submits all that the prover of the consensus relayer finds. @param cover lets all that is final now be proved. */
function updateBy(
  prover: ConsensusProver,
  { receiver, connection, cover }: {
    readonly receiver: Receiver;
    readonly connection: ConsensusConnection;
    readonly cover: (() => void) | undefined;
  },
): UpdateStep {
  return async (last, isAsked) => {
    if (isAsked) cover?.();
    for (;;) {
      const finding = await prover.next(never);
      if (finding.kind !== "updates") break;
      const { proofs, hasMore } = finding;
      await sendUpdate(receiver, connection, { client: prover.consensusStateId, proofs, atOnce: isAsked });
      if (!hasMore) break;
    }
    return receiver.node.latestHeight(prover.commitmentId) ?? last;
  };
}

/** A chain that votes: that of the followed one, or the followed one itself. */
interface VotingChain {
  readonly wsUrl: string;
  /** Makes blocks until what is final on the followed chain now can be proved. */
  readonly cover?: () => void;
}

/** What a chain trusts that begins to follow another one now. */
export async function grandpaStateOf(
  { wsUrl }: VotingChain,
  followed: HubIdentity,
): Promise<InitialConsensusState> {
  await using reader = connectRelay(wsUrl);
  // The first state needs no receiver: nothing is sent there.
  await using nowhere = connectConsensus({ identity: followed, wsUrl });
  const prover = new GrandpaProver({ relay: reader.chain, target: nowhere.hub }, grandpaOptions(followed));
  return await prover.fetchInitialState(never);
}

/**
 * Keeps one chain current of another one by GRANDPA votes: the hub of a devnet on its Substrate chains by those of the
 * relay chain, a standalone chain on the hub by its own.
 */
export class GrandpaUpdater implements AsyncDisposable {
  /** Submits all that is final. */
  readonly update: UpdateStep;
  readonly #prover: ConsensusProver;

  constructor(
    { voting, followed, receiver }: {
      readonly voting: VotingChain;
      /** As the receiver knows it. */
      readonly followed: StateMachineId;
      readonly receiver: Receiver;
    },
  ) {
    const connection = connectReceiver(receiver);
    this.#prover = new GrandpaProver(
      { relay: connectRelay(voting.wsUrl).chain, target: connection.hub },
      grandpaOptions(followed),
    );
    this.update = updateBy(this.#prover, { receiver, connection, cover: voting.cover });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#prover.close();
  }
}

function grandpaOptions({ stateMachine, consensusStateId }: StateMachineId): GrandpaProverOptions {
  const isStandalone = stateMachineParts(stateMachine).tag === "Substrate";
  return {
    stateMachine,
    consensusStateId,
    paraIds: isStandalone ? [] : [toParaId(stateMachine)],
    maxBlockRange: 2400,
    slotDurationMs: 6000,
    intervalMs: 1000,
  };
}

/** Keeps one chain current of siblings by their heads in the state of the relay chain that all of them build on. */
class ParachainUpdater implements AsyncDisposable {
  readonly #relay: RelayChainNode;
  readonly #receiver: Receiver;
  readonly #hub: StateMachine;
  readonly #reader: RelayConnection;
  readonly #connection: ConsensusConnection;
  /** Proofs are sent one after the other, whichever parachain they are for. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(relay: RelayChainNode, receiver: Receiver, hub: StateMachine) {
    this.#relay = relay;
    this.#receiver = receiver;
    this.#hub = hub;
    this.#reader = connectRelay(relay.wsUrl);
    this.#connection = connectReceiver(receiver);
  }

  /** Update step for one of them. */
  update(of: StateMachineId): UpdateStep {
    const connection = this.#connection;
    const prover = new ParachainProver(
      { relay: this.#reader.chain, target: connection.hub },
      { ...of, intervalMs: 1_000, hub: this.#hub, quietHeadSec: 0n },
    );
    const cover = (): void => this.#cover();
    const step = updateBy(prover, { receiver: this.#receiver, connection, cover });
    return (last, isAsked) => {
      const mine = this.#running.then(() => step(last, isAsked));
      this.#running = mine.catch(() => undefined);
      return mine;
    };
  }

  /** Blocks until a final one of the receiver builds on what the relay chain has now. */
  #cover(): void {
    const { node } = this.#receiver;
    this.#relay.produceBlocks(1);
    const { number } = node.produceBlock();
    while (node.finalized.number < number) node.produceBlock();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running;
    await Promise.all([this.#reader[Symbol.asyncDispose](), this.#connection[Symbol.asyncDispose]()]);
  }
}

/** A Substrate chain was asked for that no devnet can follow. */
class UnsupportedChain extends Error {
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
  { chains, polkadotHubs, unbondingPeriodSec }: {
    readonly chains: readonly DevnetSubstrateChain[];
    /** Siblings that the hub stores as EVM chains. */
    readonly polkadotHubs: readonly Pick<StateMachineId, "stateMachine">[];
    readonly unbondingPeriodSec: bigint;
  },
): Promise<Pick<HubOptions, "clients" | "consensus" | "relayParent">> {
  const siblings = chains.filter(({ clientId }) => clientId === parachainClientId);
  const standalone = chains.filter(({ clientId }) => clientId === grandpaClientId);
  const periods = (
    of: readonly Pick<StateMachineId, "stateMachine">[],
  ): NewConsensusClient["challengePeriodsSec"] => new Map(of.map(({ stateMachine }) => [stateMachine, 0n]));
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
    consensus: [
      ...siblings.map((chain) =>
        consensusSettings.followedParachain.to(undefined, toParaId(chain.stateMachine))
      ),
      ...standalone.map((chain) =>
        consensusSettings.grandpaStateMachine.to(followedSlotMs, chain.stateMachine)
      ),
    ],
    ...siblings.length + polkadotHubs.length > 0 && { relayParent: () => relayParentOf(relay) },
  };
}

/** How each chain is proved to the hub, and the hub to it. */
export function substrateDirections(
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
): readonly ServedDirection[] {
  const { stateMachine, consensusStateId } = hub.identity;
  const hubId = { stateMachine, consensusStateId };
  const atHub: Receiver = { node: hub, hashing: "Keccak", makesBlocks: false };
  const voting: VotingChain = {
    wsUrl: relay.wsUrl,
    cover: () => void relay.produceBlocks(finalityLag + 1),
  };
  const siblings = started.use(
    new ParachainUpdater(relay, atHub, stateMachine),
  );
  return chains.flatMap((chain) => {
    const { node, hashing, clientId, hubClientId } = chain;
    const toHub = { from: chain.stateMachine, to: stateMachine };
    const toChain = { from: stateMachine, to: chain.stateMachine };
    const receiver = { node, hashing, makesBlocks: true };
    const proveToHub = clientId === parachainClientId
      ? siblings.update(idOf(chain))
      : started.use(new GrandpaUpdater({ voting: node, followed: idOf(chain), receiver: atHub })).update;
    if (others.includes(chain)) return [{ direction: toHub, update: proveToHub }];
    const proveHub = hubClientId === parachainClientId
      ? started.use(new ParachainUpdater(relay, receiver, stateMachine)).update(hubId)
      : started.use(new GrandpaUpdater({ voting, followed: hubId, receiver })).update;
    return [{ direction: toHub, update: proveToHub }, { direction: toChain, update: proveHub }];
  });
}

/** How the hub names a chain. */
function idOf({ stateMachine, consensusStateId }: DevnetSubstrateChain): StateMachineId {
  return { stateMachine, consensusStateId };
}
