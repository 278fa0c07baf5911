/**
 * Rollups of the public hubs: ids of their clients, which the hub's governance chooses, and the contracts of the L1 in which
 * claims are made. Source: docs/protocol/evm-consensus.md section 3.
 */
import type { Address } from "../../../core/evm/address.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_client_ids.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  evmChainId,
  type StateMachineId,
  toConsensusStateId,
} from "../../../core/ismp/state_machine.ts";

const known: ReadonlyMap<number, { readonly id: string; readonly contract: Address }> = new Map([
  [42161, { id: "ARB0", contract: "0x4dceb440657f21083db8add07665f8ddbe1dcfc0" }],
  [421614, { id: "ARB0", contract: "0x042b2e6c5e99d4c521bd49beed5e99651d9b0cf4" }],
  [10, { id: "OPT0", contract: "0xe5965ab5962edc7477c8520243a95517cd252fa9" }],
  [11155420, { id: "OPT0", contract: "0x05f9613adb30026ffd634f38e5c4dfd30a197fa1" }],
  [8453, { id: "BASE", contract: "0x43edb88c4b80fdd2adff2412a7bebf9df42cb40e" }],
  [84532, { id: "BASE", contract: "0xd6e6dbf4f7ea0ac412fd8b65ed297e64bb7a06e1" }],
  [130, { id: "UNI0", contract: "0x2f12d621a16e2d3285929c9996f478508951dfe4" }],
  [1868, { id: "SON0", contract: "0x512a3d2c7a43bd9261d2b8e8c9c70d4bd4d503c0" }],
]);

/** Contract of the L1 in which claims about a rollup are made; `undefined` where it is not known here. */
export function knownClaimContract(chainId: number): Address | undefined {
  return known.get(chainId)?.contract;
}

/**
 * Finds the id of a rollup's own client; `undefined`: none is known. Configurations often name the id of its commitments
 * instead, which is the L1's: then the one known for the chain. @param rollup as configured. @param clientOnHub client of
 * the configured id on the hub (`Ismp.ConsensusStateClient`); undefined when the hub has no such id.
 */
export function findRollupClient(
  { stateMachine, consensusStateId }: StateMachineId,
  l1ConsensusStateId: ConsensusStateId,
  clientOnHub: ConsensusClientId | undefined,
): ConsensusStateId | undefined {
  const isRollupClient = clientOnHub === consensusClientIds.opStack ||
    clientOnHub === consensusClientIds.arbitrum;
  if (consensusStateId !== l1ConsensusStateId && isRollupClient) return consensusStateId;
  const id = known.get(evmChainId(stateMachine))?.id;
  return id === undefined ? undefined : toConsensusStateId(id);
}
