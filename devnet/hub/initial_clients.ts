/** Clients of the hub as governance creates them from what a prover says about its chain. */
import type { InitialConsensusState } from "../../src/consensus/prover.ts";
import type { ConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import type { NewConsensusClient } from "./pallets/ismp.ts";

/** A client with the state that `log-consensus-state` prints. @param stateId its name on the hub. */
export function clientOf(stateId: ConsensusStateId, initial: InitialConsensusState): NewConsensusClient {
  return {
    stateId,
    clientId: initial.clientId,
    unbondingPeriodSec: initial.unbondingSec,
    challengePeriodsSec: initial.challengePeriods,
    state: initial.state,
    commitments: initial.commitments.map(({ height: { id, height }, commitment }) => ({
      id,
      at: { height, commitment },
    })),
  };
}
