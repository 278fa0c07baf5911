/**
 * The consensus clients compiled into a runtime, and the chains that each of them proves.
 * Updates of a client (`Message::Consensus`) go to its `verifyConsensus`; clients without one refuse updates.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/*.
 */
import {
  type ConsensusClientId,
  isEvm,
  type StateMachine,
  toConsensusClientId,
} from "../../../src/core/ismp/state_machine.ts";
import {
  arbitrumVerifier,
  beaconVerifier,
  bscVerifier,
  type ConsensusVerifier,
  opStackVerifier,
  polygonVerifier,
} from "./consensus_verifiers.ts";
import { grandpaVerifier } from "./grandpa_verifier.ts";
import { parachainVerifier } from "./parachain_client.ts";
import {
  contractClient,
  evmClient,
  type StateMachineClient,
  substrateClient,
  type VerifierHost,
} from "./state_machines.ts";

/** An implementation of a consensus client. */
export interface ConsensusClient {
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
