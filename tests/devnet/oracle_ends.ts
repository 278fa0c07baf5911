/** The devnet's chains and hub as the oracle sees them. */
import type { ConsensusStateId, StateMachine } from "../../src/core/protocol/ismp/state_machine.ts";
import type { IsmpHost } from "./evm/deploy.ts";
import { advanceHub } from "./evm/host_admin.ts";
import type { Hub } from "./hub/hub.ts";
import { ownHeaderOf } from "./hub/own_proofs.ts";
import type { HubState, OracleChain, OracleHub } from "./oracle.ts";

/** A chain with the name under which the hub stores it. */
interface KnownChain {
  readonly stateMachine: StateMachine;
  readonly consensusStateId: ConsensusStateId;
}

/** The hub, entered in its own process: its commitments are stored without a consensus proof. */
export function hubOracleEnd(hub: Hub, chains: readonly KnownChain[]): OracleHub {
  const ids = new Map(chains.map(({ stateMachine, consensusStateId }) => [stateMachine, consensusStateId]));
  return {
    stateMachine: hub.identity.stateMachine,
    fetchFinalState: () => Promise.resolve(finalStateOf(hub)),
    async storeCommitment(stateMachine, height, commitment): Promise<void> {
      const consensusStateId = ids.get(stateMachine);
      if (consensusStateId === undefined) throw new Error(`The hub has no light client of ${stateMachine}`);
      await hub.storeStateCommitment({ stateMachine, consensusStateId }, height, commitment);
    },
  };
}

/**
 * An EVM chain, to which the hub's states come as consensus proofs that its client verifies. Its own states are proved
 * to the hub by others.
 * @param advances false: the hub's proofs are left to relayers, too.
 */
export function evmOracleEnd(
  { stateMachine, host }: { readonly stateMachine: StateMachine; readonly host: IsmpHost },
  advances = true,
): OracleChain {
  return {
    stateMachine,
    ...advances && {
      advance: async (state: HubState): Promise<void> => {
        await advanceHub(host, state);
      },
    },
  };
}

function finalStateOf(hub: Hub): HubState | undefined {
  const { finalizedHeader } = hub;
  const own = ownHeaderOf(finalizedHeader);
  if (own === undefined) return undefined;
  const { timestampSec, mmrRoot, childTrieRoot } = own;
  return { height: BigInt(finalizedHeader.number), timestampSec, mmrRoot, childTrieRoot };
}
