/** View of the hub in the host's BEEFY client, and the kind of that client. */
import { encodeFunctionData, parseAbi } from "viem";
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { decodeBeefyClientState } from "../../evm/beefy_client_state.ts";
import { hostReads } from "../../evm/host_reads.ts";
import { type StateMachineId, toParaId } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { ConsensusClientKind, HostConsensusView } from "../evm_follower.ts";
import type { EvmContext } from "./evm_context.ts";
import { callResult, contractRead, contractReadAt } from "./queries.ts";
import { RpcBatch } from "./rpc_batch.ts";

/** Reads the host. One request; all getters at the newest block, besides the check of the mempool. */
export async function fetchConsensusView(
  context: EvmContext,
  hub: StateMachineId,
  signal: AbortSignal,
): Promise<HostConsensusView> {
  const { endpoints, host } = context.at;
  const paraId = toParaId(hub.stateMachine);
  const batch = new RpcBatch(endpoints);
  const bytes = batch.add(contractRead(host, hostReads.consensusState));
  const height = batch.add(contractRead(host, hostReads.latestStateMachineHeight, paraId));
  const params = batch.add(context.hostParams.query);
  const nowSec = batch.add(contractRead(host, hostReads.timestamp));
  const updatedSec = batch.add(contractRead(host, hostReads.consensusUpdateTime));
  const frozen = batch.add(contractRead(host, hostReads.frozen));
  const pending = context.isUnsupported("mempool")
    ? undefined
    : batch.addOptional(contractReadAt("pending", host, hostReads.consensusState));
  await batch.send({ signal });
  context.hostParams.note(params());
  const state = decodeBeefyClientState(bytes());
  const inPool = pending?.();
  const poolState = inPool === undefined || inPool instanceof RpcFault
    ? undefined
    : decodeBeefyClientState(inPool);
  const known = state?.latestHeight ?? 0n;
  const hasPending = poolState !== undefined && poolState.latestHeight > known;
  const newest = hasPending ? poolState : state;
  const status = frozen();
  return {
    state,
    consensusClient: params().consensusClient,
    // The host initialises a known para id with height 1, which has no commitment.
    hubHeight: height() <= 1n ? 0n : height(),
    acceptsHub: height() !== 0n,
    nowSec: nowSec(),
    updatedSec: updatedSec(),
    unstakingSec: params().unStakingPeriodSec,
    challengePeriodSec: params().challengePeriodSec,
    isFrozen: status === "incoming" || status === "all",
    pendingHeight: newest?.latestHeight ?? 0n,
    pendingSetId: newest?.current.id ?? 0n,
  };
}

const routerAbi = parseAbi(["function ecdsaBeefy() view returns (address)"]);

/**
 * Only a router knows its verifiers. Standalone verifiers claim the router's interface too, but expect proofs without
 * the byte for their kind (docs/protocol/hub-consensus.md section 9).
 */
const verifierOfSignatures = encodeFunctionData({ abi: routerAbi, functionName: "ecdsaBeefy" });

/** Probes a consensus client. One request; a revert counts as an answer. */
export async function fetchClientKind(
  context: EvmContext,
  client: Address,
  signal: AbortSignal,
): Promise<ConsensusClientKind> {
  const batch = new RpcBatch(context.at.endpoints);
  const verifier = batch.addOptional(callResult({ to: client, data: verifierOfSignatures }));
  await batch.send({ signal });
  return isAddress(verifier()) ? "router" : "other";
}

/** True for a word that may be an address. @throws {RpcFault} when the fault says nothing about the contract. */
function isAddress(answer: Hex | RpcFault): boolean {
  if (!(answer instanceof RpcFault)) {
    return answer.length === 66 && BigInt(answer) !== 0n && BigInt(answer) >> 160n === 0n;
  }
  if (answer.code === "reverted" || answer.code === "refused") return false;
  throw answer;
}
