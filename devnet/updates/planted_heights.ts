/**
 * Heights of EVM chains that the hub is given without a proof: for tests of what happens to messages, in which nobody
 * looks at how a chain becomes final. Start reading at {@link plantedHeights}.
 */
import { toHash256 } from "../../src/core/encoding/bytes.ts";
import { type StateMachineId, toConsensusClientId } from "../../src/core/ismp/state_machine.ts";
import { chainKinds, type ProvenChain } from "../chains/proven_chains.ts";
import type { IsmpHost } from "../evm/deploy.ts";
import type { Hub } from "../hub/hub.ts";
import type { UpdateStep } from "./oracle.ts";
import { makeFinal } from "./feeds.ts";

/** A chain whose heights are planted. */
export interface PlantedChain extends StateMachineId {
  readonly host: Pick<IsmpHost, "reader">;
  readonly proven: Pick<ProvenChain, "beacon" | "kind" | "node" | "parachain">;
}

/**
 * Blocks between two heights that are planted. Light clients skip blocks, so relayers must not count on each of them; a
 * beacon chain of the devnet proves every second one.
 */
const STEP = 2n;

/** Creates clients without a state of their own, which trust nobody and take no update. */
export async function createPlantedClients(
  hub: Hub,
  chains: readonly Pick<PlantedChain, "stateMachine" | "consensusStateId" | "proven">[],
  unbondingPeriodSec: bigint,
): Promise<void> {
  const byClient = Map.groupBy(chains, ({ consensusStateId }) => consensusStateId);
  await Promise.all([...byClient].flatMap(([stateId, followed]) => {
    const [first] = followed;
    const reader = first && chainKinds[first.proven.kind].reader;
    if (reader === undefined) return [];
    const clientId = toConsensusClientId(reader);
    const challengePeriodsSec = new Map(
      followed.map(({ stateMachine }) => [stateMachine, 0n]),
    );
    return [
      hub.createConsensusClient({ stateId, clientId, unbondingPeriodSec, challengePeriodsSec }),
      ...followed.map(({ stateMachine }) => hub.acceptMessages(clientId, stateMachine)),
    ];
  }));
}

/** Stores what the chain's node calls final on the hub, as a light client's update does. */
export function plantedHeights(hub: Hub, chain: PlantedChain): UpdateStep {
  const { stateMachine, consensusStateId, host: { reader } } = chain;
  return async (last, isAsked) => {
    if (isAsked) await makeFinal(chain.proven, await reader.getBlockNumber());
    const { number, stateRoot, timestamp } = await reader.getBlock({ blockTag: "finalized" });
    if (number < last + (isAsked ? 1n : STEP)) return last;
    const { parachain } = chain.proven;
    const own = parachain?.finalHeader(Number(number));
    // Its relay chain has not seen that block yet.
    if (parachain !== undefined && own === undefined) return last;
    const commitment = {
      timestampSec: timestamp,
      overlayRoot: undefined,
      stateRoot: own?.stateRoot ?? toHash256(stateRoot),
    };
    const stored = hub.plantCommitment({ stateMachine, consensusStateId }, number, commitment);
    if (isAsked) hub.produceBlock();
    await stored;
    return number;
  };
}
