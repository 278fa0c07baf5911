/** Heights and times: of the chain itself, and of a counterparty as its host knows it; receipts of its host. */
import { fromHex, type Hash256 } from "../../encoding/bytes.ts";
import { isUnknown, type UnknownVariant } from "../../encoding/scale.ts";
import type { Address } from "../../evm/address.ts";
import { type FrozenStatus, hostReads } from "../../evm/host_reads.ts";
import { type StateMachineHeight, type StateMachineId, toParaId } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { ChainReads, CounterpartyView } from "../reads.ts";
import { type EvmContext, EvmPart } from "./evm_context.ts";
import { highest } from "./gas.ts";
import { blockAt, blockNumber, type BlockTag, contractRead, contractReadAt, type Query } from "./queries.ts";
import { callAll, callOne, faultAt, RpcBatch } from "./rpc_batch.ts";
import type { Message } from "../../ismp/message.ts";
import type { Log } from "../../telemetry/log.ts";

/** Finality depth if the tag `finalized` is unknown: two epochs of Ethereum. */
const FINALITY_DEPTH = 64n;

/**
 * Adds the queries for the final height to a batch: the newest block besides, until an endpoint has shown that it knows
 * the tag. @throws {RpcFault} (the result) when an endpoint does not, after others did: the next time both are asked.
 */
export function addFinalHeight(context: EvmContext, batch: RpcBatch): () => bigint {
  if (context.isUnsupported("finalized")) {
    const head = batch.add(blockNumber);
    return () => highest(0n, head() - FINALITY_DEPTH);
  }
  const block = batch.addOptional(blockAt("finalized"));
  const head = context.hasFinalized ? undefined : batch.add(blockNumber);
  return () => {
    const found = block();
    const isFound = found !== undefined && !(found instanceof RpcFault);
    context.hasFinalized = isFound;
    if (isFound) return found.number;
    if (head === undefined) {
      if (found instanceof RpcFault && found.reaction === "retry") throw found;
      throw context.fault("lagging", "eth_getBlockByNumber", "no final block");
    }
    // A node that is only slow or busy may well know the tag.
    if (found?.reaction !== "retry") context.noteUnsupported("finalized", found ?? batch.host);
    return highest(0n, head() - FINALITY_DEPTH);
  };
}

/** Query of the relayer that delivered a message: posts by their own commitment, responses by that of the get request. */
export function relayerQuery(host: Address, message: Message, tag: BlockTag): Query<Uint8Array | undefined> {
  if (message.kind === "post") {
    const { call, read } = contractReadAt(tag, host, hostReads.requestReceipts, message.commitment);
    return { call, read: (result) => toBytes(read(result)) };
  }
  const commitment = message.kind === "get" ? message.commitment : message.requestCommitment;
  const { call, read } = contractReadAt(tag, host, hostReads.responseReceipts, commitment);
  return { call, read: (result) => toBytes(read(result)?.relayer) };
}

function toBytes(relayer: Address | undefined): Uint8Array | undefined {
  return relayer === undefined ? undefined : fromHex(relayer);
}

/** Reads of the chain and of its host at the newest block. */
export class EvmReads extends EvmPart implements ChainReads {
  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return callOne(this.context.at.endpoints, blockNumber, { signal });
  }

  /** Newest final block. One request. */
  async fetchFinalHeight(signal: AbortSignal): Promise<bigint> {
    const batch = new RpcBatch(this.context.at.endpoints);
    const final = addFinalHeight(this.context, batch);
    await batch.send({ signal });
    return final();
  }

  /** Unix seconds of a block. One request. @throws {RpcFault} `lagging` when there is no such block yet. */
  async fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint> {
    const batch = new RpcBatch(this.context.at.endpoints);
    const block = batch.add(blockAt(height));
    const check = (place: Parameters<typeof faultAt>[1]): RpcFault | undefined =>
      block() === undefined ? faultAt("lagging", place, `no block ${height} yet`) : undefined;
    await batch.send({ signal, check });
    const found = block();
    if (found === undefined) throw new Error("The block was checked");
    return found.timestamp;
  }

  /** Fetches the host's view of the hub. One request; all getters at the newest block. */
  async fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    const { endpoints, host } = this.context.at;
    const [height, nowSec, challengePeriodSec, frozen] = await callAll(endpoints, [
      contractRead(host, hostReads.latestStateMachineHeight, toParaId(counterparty.stateMachine)),
      contractRead(host, hostReads.timestamp),
      contractRead(host, hostReads.challengePeriod),
      contractRead(host, hostReads.frozen),
    ], { signal });
    return {
      // The host initialises a known para id with height 1, which has no commitment.
      height: height <= 1n ? 0n : height,
      nowSec,
      challengePeriodSec,
      isFrozen: refusesMessages(this.context.at.log, frozen),
    };
  }

  /** Fetches when the commitment of a hub height was stored, Unix seconds. One request. */
  async fetchUpdateTime(
    { id, height }: StateMachineHeight,
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    const { endpoints, host } = this.context.at;
    const read = contractRead(
      host,
      hostReads.stateMachineCommitmentUpdateTime,
      toParaId(id.stateMachine),
      height,
    );
    const time = await callOne(endpoints, read, { signal });
    return time === 0n ? undefined : time;
  }

  /** Fetches the state root of a hub block as the host stores it. One request. */
  async fetchStateRoot(
    { id, height }: StateMachineHeight,
    signal: AbortSignal,
  ): Promise<Hash256 | undefined> {
    const { endpoints, host } = this.context.at;
    const read = contractRead(host, hostReads.stateMachineCommitment, toParaId(id.stateMachine), height);
    return (await callOne(endpoints, read, { signal }))?.stateRoot;
  }

  /** Fetches the relayer of each message, `undefined` if undelivered. One request. */
  async fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    if (messages.length === 0) return [];
    const { endpoints, host } = this.context.at;
    const queries = messages.map((message) => relayerQuery(host, message, "latest"));
    return await callAll(endpoints, queries, { signal });
  }
}

/** True for a host that takes no messages. With a status that is not known the simulation of each delivery decides. */
export function refusesMessages(log: Log, status: FrozenStatus | UnknownVariant): boolean {
  if (isUnknown(status)) {
    const cost = "each delivery is simulated as if the host were not frozen";
    log.warn("unknown_met", { what: `frozen status ${status} of the host`, cost });
  }
  return status === "incoming" || status === "all";
}
