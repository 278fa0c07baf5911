/** State of this chain about the height of a proof: whether it would check the proof at all. */
import { acceptedLists, describeUnlisted, findAcceptedChains } from "../../ismp/accepted_chains.ts";
import { consensusClientIdCodec, type StateMachineHeight } from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys } from "../../ismp/storage_keys.ts";
import { bool, u64 } from "../../encoding/scale.ts";
import type { SubstrateNode } from "./node.ts";
import type { ProofContext } from "./refusal.ts";
import { updateTimeKey } from "./reads.ts";
import { Values } from "./storage_values.ts";

/** Fetches the state at the best block; one round trip. */
export async function fetchProofContext(
  node: SubstrateNode,
  height: StateMachineHeight,
  signal: AbortSignal,
): Promise<ProofContext> {
  const keys = {
    now: otherKeys.timestampNow(),
    frozen: ismpKeys.frozenConsensusClients(height.id.consensusStateId),
    period: ismpKeys.challengePeriod(height.id),
    updated: await updateTimeKey(node, height, signal),
    client: ismpKeys.consensusStateClient(height.id.consensusStateId),
  };
  const { stateMachine } = height.id;
  const lists = [...acceptedLists.values()].map((list) => list.key(stateMachine));
  const values = new Values(
    node,
    await node.client.readStorage([...Object.values(keys), ...lists], undefined, signal),
  );
  const clientId = values.read(keys.client, consensusClientIdCodec, "ConsensusStateClient");
  const list = clientId && findAcceptedChains(clientId);
  const isUnlisted = list !== undefined && values.read(list.key(stateMachine), bool, list.name) === undefined;
  return {
    isFrozen: values.read(keys.frozen, bool, "FrozenConsensusClients") ?? false,
    challengePeriodSec: values.read(keys.period, u64, "ChallengePeriod"),
    updateTimeSec: values.read(keys.updated, u64, "StateMachineUpdateTime"),
    nowSec: (values.read(keys.now, u64, "Timestamp.Now") ?? 0n) / 1000n,
    ...isUnlisted && { unlisted: describeUnlisted(stateMachine, list) },
  };
}
