/** Several updates in one extrinsic, as the hub checks them. */
import type { BscConsensusState } from "../../../../../src/consensus/clients/bsc/spec/consensus_state.ts";
import type { BscUpdate } from "../../../../../src/consensus/clients/bsc/spec/update.ts";
import {
  type BscHubView,
  verifyBscUpdate,
} from "../../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import type { IntermediateState } from "../../../../../src/core/ismp/state_commitment.ts";

/**
 * Verifies several updates of one extrinsic as the hub does: each against the state that its predecessor leaves; all
 * are refused when one is. @throws {BscError} of the first that is refused
 */
export function verifyBscUpdates(
  trusted: BscConsensusState,
  updates: readonly BscUpdate[],
  hub: BscHubView,
): { readonly consensusState: BscConsensusState; readonly commitments: readonly IntermediateState[] } {
  let consensusState = trusted;
  const commitments: IntermediateState[] = [];
  for (const update of updates) {
    const verified = verifyBscUpdate(consensusState, update, hub);
    consensusState = verified.consensusState;
    commitments.push(verified.commitment);
  }
  return { consensusState, commitments };
}
