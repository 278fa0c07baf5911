/**
 * Ids of the consensus clients that the hub and other Substrate chains have, one per implementation. Source:
 * docs/protocol/evm-consensus.md section 3, docs/protocol/polygon.md section 5 and docs/protocol/hub-consensus.md
 * section 2.
 */
import { toConsensusClientId } from "./state_machine.ts";

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
