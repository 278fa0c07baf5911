/**
 * Ids of rollup clients on the public hubs. Source: documentation of the networks (docs/protocol/evm-consensus.md
 * section 3); ids are chosen by the hub's governance.
 */
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  evmChainId,
  type StateMachineId,
  toConsensusStateId,
} from "../../../core/ismp/state_machine.ts";

const knownIds: ReadonlyMap<number, string> = new Map([
  [42161, "ARB0"],
  [421614, "ARB0"],
  [10, "OPT0"],
  [11155420, "OPT0"],
  [8453, "BASE"],
  [84532, "BASE"],
  [130, "UNI0"],
  [1868, "SON0"],
]);

/** Origin of a rollup client's id. */
export type RollupClientName =
  /** The configured one. */
  | { readonly kind: "configured"; readonly id: ConsensusStateId }
  /** The configured one is no rollup client: replaced by the known one of this chain. */
  | { readonly kind: "replaced"; readonly id: ConsensusStateId }
  /** The configured one is no rollup client, and none is known for this chain. */
  | { readonly kind: "unknown" };

/**
 * Resolves the id of a rollup's own client. Configurations often name the id of its commitments instead, which is the
 * L1's. @param rollup as configured. @param clientOnHub client of the configured id on the hub
 * (`Ismp.ConsensusStateClient`); undefined when the hub has no such id.
 */
export function rollupClientName(
  rollup: StateMachineId,
  l1ConsensusStateId: ConsensusStateId,
  clientOnHub: ConsensusClientId | undefined,
): RollupClientName {
  const isRollupClient = clientOnHub === consensusClientIds.opStack ||
    clientOnHub === consensusClientIds.arbitrum;
  if (rollup.consensusStateId !== l1ConsensusStateId && isRollupClient) {
    return { kind: "configured", id: rollup.consensusStateId };
  }
  const known = knownIds.get(evmChainId(rollup.stateMachine));
  return known === undefined ? { kind: "unknown" } : { kind: "replaced", id: toConsensusStateId(known) };
}
