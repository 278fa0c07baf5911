/**
 * The consensus clients compiled into a runtime, and the chains that each of them proves.
 * Updates of a client (`Message::Consensus`) go to its `verifyConsensus`; clients without one refuse updates.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/*.
 */
import {
  type GrandpaConsensusState,
  grandpaConsensusStateCodec,
  type GrandpaMessage,
} from "../../../src/consensus/clients/grandpa/spec/message.ts";
import {
  decodeGrandpaMessage,
  decodeGrandpaState,
  verifyCommitments,
} from "../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  formatStateMachine,
  isEvm,
  type StateMachine,
  toConsensusClientId,
} from "../../../src/core/ismp/state_machine.ts";
import type { Overlay, StorageReader } from "../storage.ts";
import { checkFinality } from "../verifiers/grandpa_finality.ts";
import {
  arbitrumVerifier,
  beaconVerifier,
  bscVerifier,
  consensusSettings,
  type ConsensusVerifier,
  opStackVerifier,
  polygonVerifier,
  refusing,
} from "./consensus_verifiers.ts";
import { IsmpError } from "./ismp_error.ts";
import { followedParachainsPrefix } from "../../../src/consensus/clients/parachain/spec/parachain_proof.ts";
import { parachainConsensusProofCodec } from "../../../src/core/ismp/proof.ts";
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import { decodeStrict, u32 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import { readFollowedHeads } from "../verifiers/parachain_heads.ts";
import {
  contractClient,
  evmClient,
  type StateMachineClient,
  substrateClient,
  type VerifierHost,
} from "./state_machines.ts";

/**
 * How a chain's GRANDPA client checks updates: finality by code of its own, what it makes of the heads by the relayer's
 * verifier, with the chains that storage says are followed.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/grandpa/src/consensus.rs.
 */

/** GRANDPA: of a relay chain with its parachains, or of a standalone chain. */
const grandpaVerifier: ConsensusVerifier = refusing((host, { stateId, trusted, proof }) => {
  const message = decodeGrandpaMessage(proof);
  const state = decodeGrandpaState(trusted);
  const finality = checkFinality(state, message.value.finalityProof);
  const { consensusState, commitments } = verifyCommitments(state, { message, finality }, {
    consensusStateId: stateId,
    coprocessor: host.coprocessor,
    supported: supported(host.storage, followed(state, message, stateId)),
  });
  return { state: grandpaConsensusStateCodec.enc(consensusState), commitments };
});

/** Chains that a message may be about, under each name that they may have. */
function followed(
  { stateMachine }: GrandpaConsensusState,
  message: GrandpaMessage,
  relay: ConsensusStateId,
): readonly StateMachine[] {
  if (message.tag === "StandaloneChain") return [stateMachine];
  const proofs = [...message.value.parachainHeaders.values()];
  return proofs.flatMap(({ paraIds }) => paraIds).flatMap((paraId) => [
    formatStateMachine({ tag: "Polkadot", value: paraId }),
    formatStateMachine({ tag: "Kusama", value: paraId }),
    formatStateMachine({ tag: "Relay", value: { relay, paraId } }),
  ]);
}

function supported(
  storage: StorageReader,
  chains: readonly StateMachine[],
): ReadonlyMap<StateMachine, bigint> {
  return new Map(chains.flatMap((chain) => {
    const slotMs = consensusSettings.grandpaStateMachine.get(storage, chain);
    return slotMs === undefined ? [] : [[chain, slotMs] as const];
  }));
}

/**
 * The parachain client: sibling chains by their heads in state roots of the relay chain, which the chain learns from its own
 * blocks.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/{lib,consensus}.rs.
 */

/** State roots that are kept. */
const MAX_RELAY_HEIGHTS = 256;

/** A block of the relay chain, as a parachain's own blocks tell of it. */
export interface RelayParent {
  readonly number: number;
  readonly stateRoot: Hash256;
}

/** Keeps the state root of the relay chain block that a block builds on. */
export function recordRelayParent({ overlay }: Execution, parent: RelayParent | undefined): void {
  if (parent === undefined) return;
  if (consensusSettings.relayStateRoot.get(overlay, parent.number) !== undefined) return;
  let known = consensusSettings.knownRelayHeights.get(overlay) ?? [];
  const [oldest] = known;
  if (known.length >= MAX_RELAY_HEIGHTS && oldest !== undefined) {
    consensusSettings.relayStateRoot.remove(overlay, oldest);
    known = known.slice(1);
  }
  consensusSettings.relayStateRoot.put(overlay, parent.stateRoot, parent.number);
  const heights = [...known, parent.number].sort((a, b) => a - b);
  consensusSettings.knownRelayHeights.put(overlay, heights);
}

/** Heads of the parachains that governance named; those without a head bring nothing. */
const parachainVerifier: ConsensusVerifier = refusing((host, { stateId, trusted, proof }) => {
  const { relayHeight, storageProof } = decodeStrict(parachainConsensusProofCodec, proof, "Proof");
  const relayStateRoot = consensusSettings.relayStateRoot.get(host.storage, relayHeight);
  if (relayStateRoot === undefined) {
    throw new IsmpError("consensus_proof_verification_failed", `unknown relay chain height ${relayHeight}`);
  }
  const { stateMachine: chain, coprocessor, storage } = host;
  const commitments = readFollowedHeads(storageProof, {
    chain,
    consensusStateId: stateId,
    coprocessor,
    relayStateRoot,
    paraIds: followedParachains(storage),
    slotMs: (paraId) => consensusSettings.slotDuration.get(storage, paraId),
  });
  return { state: trusted, commitments };
});

function followedParachains(storage: Pick<Overlay, "entries">): readonly number[] {
  return [...storage.entries(followedParachainsPrefix)].map(([key]) =>
    decodeStrict(u32, key.slice(followedParachainsPrefix.length), "ParaId")
  );
}

/** An implementation of a consensus client. */
interface ConsensusClient {
  readonly id: ConsensusClientId;
  /** What proves the state of a chain, undefined where the client does not follow it. */
  stateMachine(host: VerifierHost, chain: StateMachine): StateMachineClient | undefined;
  readonly verifyConsensus: ConsensusVerifier | undefined;
}

/** Client id of the hub's own light client of itself. */
export const beefyClientId: ConsensusClientId = toConsensusClientId("BEEF");

/** Client id of a relay chain's parachains. */
export const parachainClientId: ConsensusClientId = toConsensusClientId("PARA");

/** Client id of chains that are followed by their GRANDPA votes. */
export const grandpaClientId: ConsensusClientId = toConsensusClientId("GRNP");

const evmClients: Readonly<Record<string, ConsensusVerifier | undefined>> = {
  BEAC: beaconVerifier("ethereum"),
  GNOS: beaconVerifier("gnosis"),
  BSCP: bscVerifier,
  ARBC: arbitrumVerifier,
  OPTC: opStackVerifier,
  PLGN: polygonVerifier,
};
/** Clients that prove only chains which governance has listed, the rollups above them included. */
const listedClients: ReadonlySet<string> = new Set(["BEAC", "GNOS"]);
const substrateClients: readonly (readonly [ConsensusClientId, ConsensusVerifier | undefined])[] = [
  [parachainClientId, parachainVerifier],
  [grandpaClientId, grandpaVerifier],
  [beefyClientId, undefined],
];

/** The table: client id to client. */
export const consensusClients: ReadonlyMap<ConsensusClientId, ConsensusClient> = new Map(
  [
    ...Object.entries(evmClients).map(([name, verifyConsensus]): ConsensusClient => ({
      id: toConsensusClientId(name),
      // Ordinary chains are built without them: their messages from EVM chains come through the hub.
      stateMachine: (host, chain) =>
        isEvm(chain) && host.stateMachine === host.coprocessor &&
          (!listedClients.has(name) || host.follows(toConsensusClientId(name), chain))
          ? evmClient
          : undefined,
      verifyConsensus,
    })),
    ...substrateClients.map(([id, verifyConsensus]): ConsensusClient => ({
      id,
      // A parachain that is stored as an EVM chain keeps its contracts in tries of its own.
      // On the coprocessor BEEFY seeds the hub's own commitments and proves nothing else.
      stateMachine: (host, chain) =>
        host.follows(id, chain) && !(id === beefyClientId && host.stateMachine === host.coprocessor)
          ? isEvm(chain) ? contractClient : substrateClient
          : undefined,
      verifyConsensus,
    })),
  ].map((client) => [client.id, client]),
);
