/** View of the hub in the host's BEEFY client, and the kind of that client. */
import { encodeFunctionData } from "viem";
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { decodeBeefyClientState } from "../../evm/beefy_client_state.ts";
import { BATCHING_HANDLER, consensusRouterAbi, handlerV2Abi } from "../../evm/host_abi.ts";
import { hostReads } from "../../evm/host_reads.ts";
import { refusesMessages } from "./reads.ts";
import { type StateMachineId, toParaId } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/call.ts";
import type {
  ConsensusClientKind,
  HostConsensusView,
  HubLightClient,
  StoredAuthoritySet,
} from "../hub_client.ts";
import { EvmPart } from "./evm_context.ts";
import { callResult, contractRead, contractReadAt, type Query } from "./queries.ts";
import { callAll, callOne, orFault } from "./rpc_batch.ts";

/** The hub's light client in the host. */
export class EvmHubClient extends EvmPart implements HubLightClient {
  /** Fetches the id of the client's authority set. One request. */
  async fetchAuthoritySet(signal: AbortSignal): Promise<StoredAuthoritySet> {
    const { endpoints, host } = this.context.at;
    const stored = await callOne(endpoints, contractRead(host, hostReads.consensusState), { signal });
    return { setId: decodeBeefyClientState(stored)?.current.id, stateBytes: stored.length };
  }

  /** Returns whether the host's handler has `batchCall`. One request at most, none once it is known. */
  async fetchHasBatchCall(signal: AbortSignal): Promise<boolean> {
    const { handler } = await this.context.hostParams.read(signal);
    const known = this.context.batchingHandlers.get(handler);
    if (known !== undefined) return known;
    const told = await callOne(this.context.at.endpoints, orFault(batchCallSupport(handler)), { signal });
    if (told instanceof RpcFault && told.code !== "reverted") throw told;
    const isThere = !(told instanceof RpcFault) && isSupported(told);
    this.context.batchingHandlers.set(handler, isThere);
    return isThere;
  }

  /** Reads the host. One request; all getters at the newest block, besides the check of the mempool. */
  async fetchConsensusView(hub: StateMachineId, signal: AbortSignal): Promise<HostConsensusView> {
    const { endpoints, host } = this.context.at;
    const paraId = toParaId(hub.stateMachine);
    const pending = orFault(contractReadAt("pending", host, hostReads.consensusState));
    const [bytes, height, params, nowSec, updatedSec, frozen, inPool] = await callAll(endpoints, [
      contractRead(host, hostReads.consensusState),
      contractRead(host, hostReads.latestStateMachineHeight, paraId),
      this.context.hostParams.query,
      contractRead(host, hostReads.timestamp),
      contractRead(host, hostReads.consensusUpdateTime),
      contractRead(host, hostReads.frozen),
      ...this.context.isUnsupported("mempool") ? [] : [pending],
    ], { signal });
    this.context.hostParams.note(params);
    const state = decodeBeefyClientState(bytes);
    const poolState = inPool === undefined || inPool instanceof RpcFault
      ? undefined
      : decodeBeefyClientState(inPool);
    const known = state?.latestHeight ?? 0n;
    const hasPending = poolState !== undefined && poolState.latestHeight > known;
    const newest = hasPending ? poolState : state;
    return {
      state,
      stateBytes: bytes.length,
      consensusClient: params.consensusClient,
      // The host initialises a known para id with height 1, which has no commitment.
      hubHeight: height <= 1n ? 0n : height,
      acceptsHub: height !== 0n,
      nowSec,
      updatedSec,
      unstakingSec: params.unStakingPeriodSec,
      challengePeriodSec: params.challengePeriodSec,
      isFrozen: refusesMessages(this.context.at.log, frozen),
      pendingHeight: newest?.latestHeight ?? 0n,
      pendingSetId: newest?.current.id ?? 0n,
    };
  }

  /** Probes a consensus client. One request; a revert counts as an answer. */
  async fetchClientKind(client: Address, signal: AbortSignal): Promise<ConsensusClientKind> {
    const query = orFault(callResult({ to: client, data: verifierOfSignatures }));
    return isAddress(await callOne(this.context.at.endpoints, query, { signal })) ? "router" : "other";
  }
}

/** Calldata for checking whether a handler has `batchCall`; those of the first generation do not. */
const supportsBatchCall = encodeFunctionData({
  abi: handlerV2Abi,
  functionName: "supportsInterface",
  args: [BATCHING_HANDLER],
});

/** Query of a handler's support for several steps in one transaction; {@link isSupported} reads the answer. */
export function batchCallSupport(handler: Address): Query<Hex> {
  return callResult({ to: handler, data: supportsBatchCall });
}

/** True for a word that is 1; contracts without ERC-165 answer otherwise. */
export function isSupported(result: Hex): boolean {
  return result.length === 66 && BigInt(result) === 1n;
}

/**
 * Only a router knows its verifiers. Standalone verifiers claim the router's interface too, but expect proofs without
 * the byte for their kind (docs/protocol/hub-consensus.md section 9).
 */
const verifierOfSignatures = encodeFunctionData({ abi: consensusRouterAbi, functionName: "ecdsaBeefy" });

/** True for a word that may be an address. @throws {RpcFault} when the fault says nothing about the contract. */
function isAddress(answer: Hex | RpcFault): boolean {
  if (!(answer instanceof RpcFault)) {
    return answer.length === 66 && BigInt(answer) !== 0n && BigInt(answer) >> 160n === 0n;
  }
  if (answer.code === "reverted" || answer.code === "refused") return false;
  throw answer;
}
