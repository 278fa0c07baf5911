/**
 * Substrate chains of a devnet: the hub's simulator run as ordinary chains. Start reading at
 * {@link startSubstrateChain}.
 */
import { consensusSettings } from "../hub/pallets/consensus_verifiers.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  stateMachineParts,
  toConsensusStateId,
  toParaId,
} from "../../src/core/ismp/state_machine.ts";
import type { ChildTrieName } from "../../src/core/ismp/storage_keys.ts";
import type { InitialConsensusState } from "../../src/consensus/prover.ts";
import { type Hub, type HubOptions, startHub } from "../hub/hub.ts";
import { clientOf } from "../hub/initial_clients.ts";
import type { HubIdentity } from "../hub/node.ts";
import { relayerFeeAccount } from "../hub/pallets/balances.ts";
import { grandpaClientId, parachainClientId, type RelayParent } from "../hub/pallets/consensus_clients.ts";
import type { RelayChainNode } from "../relay/relay_chain.ts";

/** What can be chosen about a Substrate chain. */
export interface DevnetSubstrateOptions {
  /** `KUSAMA-2000`, `POLKADOT-2000`, `SUBSTRATE-abcd`, ... */
  readonly stateMachine: string;
  /** Name of a standalone chain's client on the hub. Default `SUB0`; a devnet numbers them. */
  readonly consensusStateId?: string;
  /**
   * On a devnet: how it follows the hub. Default `PARA` for siblings of the hub, by the relay chain that both build on,
   * and `GRNP` for standalone chains, by the votes of the hub's relay chain, which siblings may choose as well.
   */
  readonly followsHubBy?: "PARA" | "GRNP";
  /** Default `Blake2`. */
  readonly hashing?: HashAlgorithm;
  /** Default `ISMPv2`. */
  readonly childTrie?: ChildTrieName;
  /** Of the token that fees are paid in. Default 12. */
  readonly feeTokenDecimals?: number;
  /** Default 1000. */
  readonly blockTimeMs?: number | "manual";
  /**
   * What the chain trusts of the hub from the start, as a prover tells it: then it follows the hub by GRANDPA votes alone.
   * Default: it has a client that nobody can advance.
   */
  readonly hubFinality?: InitialConsensusState;
  /**
   * The relay chain that a sibling of the hub builds on: then it follows the hub by proofs of its head alone. Not
   * together with {@link hubFinality}.
   */
  readonly relay?: Pick<RelayChainNode, "best" | "header">;
}

/** A Substrate chain of the devnet. */
export interface DevnetSubstrateChain {
  readonly name: string;
  readonly stateMachine: StateMachine;
  /** Under which the hub stores it. */
  readonly consensusStateId: ConsensusStateId;
  /** Which client of the hub follows it. */
  readonly clientId: ConsensusClientId;
  /** Which client of its own follows the hub. */
  readonly hubClientId: ConsensusClientId;
  readonly hashing: HashAlgorithm;
  readonly feeTokenDecimals: number;
  readonly node: Hub;
}

/** Who pays the fees of messages from Substrate chains. */
export const substrateUser: Hash256 = `0x${"55".repeat(32)}`;

/** Native units that user and fee account have from the start. */
const faucet = 10n ** 24n;
/** 21 days. */
const unbondingPeriodSec = 1_814_400n;
/** Slots of chains that are followed by GRANDPA: nobody looks at them, since their headers tell the time. */
export const followedSlotMs = 6000n;
/** Voters of a standalone chain. */
const voters = 4;

/** Starts a chain that trusts the hub; neither knows a height of the other yet. */
export async function startSubstrateChain(
  name: string,
  hub: HubIdentity,
  options: DevnetSubstrateOptions,
): Promise<DevnetSubstrateChain> {
  const stateMachine = parseStateMachine(options.stateMachine);
  const isSibling = isSiblingOf(hub, stateMachine);
  const consensusStateId = isSibling
    ? hub.consensusStateId
    : toConsensusStateId(options.consensusStateId ?? "SUB0");
  const clientId = isSibling ? parachainClientId : grandpaClientId;
  const hubClientId = options.hubFinality === undefined ? parachainClientId : grandpaClientId;
  const hashing = options.hashing ?? "Blake2";
  // Clients of GRANDPA chains hash headers with BLAKE2 only.
  const canVote = stateMachineParts(stateMachine).tag === "Substrate" && hashing === "Blake2";
  const node = await startHub({
    chain: {
      stateMachine,
      consensusStateId,
      hashing,
      coprocessor: hub.stateMachine,
      ...canVote && { voters },
      ...options.childTrie === undefined ? {} : { childTrie: options.childTrie },
    },
    blockTimeMs: options.blockTimeMs ?? 1000,
    ...followedHub(hub, hubClientId, options),
    balances: new Map([[substrateUser, faucet], [relayerFeeAccount, faucet]]),
  });
  const feeTokenDecimals = options.feeTokenDecimals ?? 12;
  return { name, stateMachine, consensusStateId, clientId, hubClientId, hashing, feeTokenDecimals, node };
}

/** The chain's client of the hub; by GRANDPA it also needs to be told that it may take the hub. */
function followedHub(
  { stateMachine, consensusStateId: stateId }: HubIdentity,
  clientId: ConsensusClientId,
  { hubFinality: initial, relay }: DevnetSubstrateOptions,
): Pick<HubOptions, "clients" | "consensus" | "relayParent"> {
  const challengePeriodsSec = new Map([[stateMachine, 0n]]);
  if (initial === undefined) {
    const clients = [{ stateId, clientId, unbondingPeriodSec, challengePeriodsSec }];
    if (relay === undefined) return { clients };
    return {
      clients,
      relayParent: () => relayParentOf(relay),
      consensus: [consensusSettings.followedParachain.to(undefined, toParaId(stateMachine))],
    };
  }
  return {
    clients: [{ ...clientOf(stateId, initial), challengePeriodsSec }],
    consensus: [consensusSettings.grandpaStateMachine.to(followedSlotMs, stateMachine)],
  };
}

/** What a block of a parachain tells of the relay chain. */
export function relayParentOf(relay: Pick<RelayChainNode, "best" | "header">): RelayParent {
  const { number } = relay.best;
  return { number, stateRoot: relay.header(number).stateRoot };
}

/** Whether a chain builds on the relay chain of the hub. */
export function isSiblingOf(hub: Pick<HubIdentity, "stateMachine">, stateMachine: StateMachine): boolean {
  return stateMachineParts(stateMachine).tag === stateMachineParts(hub.stateMachine).tag;
}

/** The chain with that name or state machine. */
export function named<Chain extends { readonly name: string; readonly stateMachine: string }>(
  chains: readonly Chain[],
  wanted: string,
): Chain | undefined {
  return chains.find(({ name, stateMachine }) => name === wanted || stateMachine === wanted);
}
