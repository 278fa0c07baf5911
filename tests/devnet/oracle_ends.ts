/** The devnet's chains and hub as the oracle sees them. */
import { toHash256 } from "../../src/core/protocol/bytes.ts";
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
 * An EVM chain, asked over its RPC; the hub's states reach it as consensus proofs that its client verifies.
 * @param advances false: the proofs are left to relayers.
 */
export function evmOracleEnd(
  { stateMachine, host }: { readonly stateMachine: StateMachine; readonly host: IsmpHost },
  advances = true,
): OracleChain {
  return {
    stateMachine,
    async fetchFinalState(): ReturnType<OracleChain["fetchFinalState"]> {
      const { number, timestamp, stateRoot } = await host.reader.getBlock({ blockTag: "finalized" });
      // The header of block 0 does not name the root of its state (anvil).
      if (number === 0n) return undefined;
      return {
        height: number,
        commitment: { timestampSec: timestamp, overlayRoot: undefined, stateRoot: toHash256(stateRoot) },
      };
    },
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
