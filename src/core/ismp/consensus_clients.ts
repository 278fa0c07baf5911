/**
 * Ids of the consensus clients that the hub and other Substrate chains have, one per implementation. Source:
 * docs/protocol/evm-consensus.md section 3, docs/protocol/polygon.md section 5 and docs/protocol/hub-consensus.md
 * section 2.
 */
import {
  type ConsensusClientId,
  type StateMachine,
  stateMachineCodec,
  toConsensusClientId,
} from "./state_machine.ts";
import { bool } from "../encoding/scale.ts";
import { stored, type StoredItem, twox } from "./storage_keys.ts";

/** By what the client verifies. */
export const consensusClientIds = {
  /** Ethereum's beacon chain and its testnets. */
  ethereum: toConsensusClientId("BEAC"),
  /** Gnosis' beacon chain. */
  gnosis: toConsensusClientId("GNOS"),
  bsc: toConsensusClientId("BSCP"),
  opStack: toConsensusClientId("OPTC"),
  arbitrum: toConsensusClientId("ARBC"),
  polygon: toConsensusClientId("PLGN"),
  parachain: toConsensusClientId("PARA"),
  grandpa: toConsensusClientId("GRNP"),
  beefy: toConsensusClientId("BEEF"),
} as const;

/** Location of a client's list, as messages name it. */
export interface AcceptedChains {
  /** Pallet and storage item. */
  readonly name: string;
  /** Call by which governance adds a chain. */
  readonly addCall: string;
  /** There is an entry for every chain of the list. */
  readonly entry: StoredItem<[chain: StateMachine], boolean>;
}

function listOf(pallet: string): AcceptedChains {
  const name = `${pallet}.SupportedStatemachines` as const;
  return {
    name,
    addCall: `${pallet}.add_state_machine`,
    entry: stored(name, bool, twox(stateMachineCodec)),
  };
}

/** Clients that have a list: of Ethereum and of Gnosis. */
export const acceptedLists: ReadonlyMap<ConsensusClientId, AcceptedChains> = new Map([
  [consensusClientIds.ethereum, listOf("IsmpSyncCommitteeEth")],
  [consensusClientIds.gnosis, listOf("IsmpSyncCommitteeGno")],
]);

/** List of a client; `undefined`: it accepts messages of every chain that it knows heights of. */
export function findAcceptedChains(client: ConsensusClientId): AcceptedChains | undefined {
  return acceptedLists.get(client);
}

/** Text for an operator about a chain that is not listed; completes "the hub ...". */
export function describeUnlisted(chain: StateMachine, list: AcceptedChains): string {
  return `does not accept messages of ${chain} yet: ${list.name} does not list it. ` +
    `Governance adds it with ${list.addCall}`;
}
