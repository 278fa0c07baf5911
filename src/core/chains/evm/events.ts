/**
 * Events of the host in a range of blocks, complete and in order.
 */
import { fromHex, type Hash256 } from "../../encoding/bytes.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import type { HostEvent } from "../../evm/host_events.ts";
import type { ChainEvent, ChainEvents, EventPosition } from "../reads.ts";
import type { EvmContext } from "./evm_context.ts";
import { LogReader } from "./log_reader.ts";
import { transactionReceipt } from "./queries.ts";
import { mapInSlices } from "../../runtime/slices.ts";
import { type GapRead, LOGS_AT_ONCE, RequestGaps } from "./request_gaps.ts";
import { RpcBatch } from "./rpc_batch.ts";
import type { Log } from "./log_answers.ts";

/** Events that the programs consume (docs/protocol/messaging.md section 6.3). */
const topics = [
  hostEventTopics.PostRequestEvent,
  hostEventTopics.GetRequestEvent,
  hostEventTopics.RequestFunded,
  hostEventTopics.PostRequestHandled,
  hostEventTopics.GetRequestHandled,
  hostEventTopics.PostRequestTimeoutHandled,
  hostEventTopics.GetRequestTimeoutHandled,
  hostEventTopics.StateMachineUpdated,
  hostEventTopics.StateCommitmentVetoed,
  hostEventTopics.NewEpoch,
];

/** Reads the events of one host and remembers the maximum range of its endpoints. */
export class EvmEvents implements ChainEvents {
  readonly #context: EvmContext;
  readonly #logs: LogReader;
  readonly #gaps: RequestGaps;

  constructor(context: EvmContext) {
    const { endpoints, log, blocksPerEventQuery } = context.at;
    this.#context = context;
    this.#logs = new LogReader({ endpoints, log, blocksPerQuery: blocksPerEventQuery });
    this.#gaps = new RequestGaps(context);
  }

  /**
   * One request, more only if a range limit or the answer's size requires it. If an endpoint's logs lack requests of
   * the host, the next endpoint is used; requests found to be missing before `from` come with the next read.
   */
  async fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    const address = this.#context.at.host;
    const read = this.#gaps.begin(from);
    const range = { from: from > to ? from : read.from, to };
    const found = await this.#logs.fetch({ address, topics }, range, signal, read.guard);
    read.commit();
    const events = await mapInSlices(found, LOGS_AT_ONCE, (entry) => this.#toEvent(entry, read.decode));
    return events.filter((event) => event !== undefined);
  }

  async findTransaction(hash: Hash256, signal: AbortSignal): Promise<bigint | undefined> {
    const batch = new RpcBatch(this.#context.at.endpoints);
    const receipt = batch.add(transactionReceipt(hash));
    await batch.send({ signal });
    return receipt()?.blockNumber;
  }

  #toEvent(entry: Log, decode: GapRead["decode"]): ChainEvent | undefined {
    const decoded = decode(entry);
    const at: EventPosition = { height: entry.blockNumber, transaction: entry.transactionHash };
    if (decoded.kind === "undecodable") {
      this.#context.at.log.warn("event_unreadable", { ...at, error: decoded.error });
    }
    return decoded.kind === "event" ? toChainEvent(decoded.event, at) : undefined;
  }
}

/** Converts an event; `undefined` for administrative events. */
function toChainEvent(event: HostEvent, at: EventPosition): ChainEvent | undefined {
  switch (event.tag) {
    case "PostRequestEvent":
    case "GetRequestEvent":
      return { kind: "message", message: event.value.message, at };
    case "PostRequestHandled":
    case "GetRequestHandled": {
      const { commitment, relayer } = event.value;
      const of = event.tag === "PostRequestHandled" ? "post" : "get";
      return { kind: "handled", of, commitment, relayer: fromHex(relayer), at };
    }
    case "PostRequestTimeoutHandled":
      return { kind: "timeoutHandled", of: "post", commitment: event.value.commitment, at };
    case "GetRequestTimeoutHandled":
      return { kind: "timeoutHandled", of: "get", commitment: event.value.commitment, at };
    case "RequestFunded":
      return { kind: "funded", commitment: event.value.commitment, fee: event.value.newFee, at };
    case "StateMachineUpdated": {
      const { stateMachine, height } = event.value;
      return { kind: "updated", stateMachine, id: undefined, height, at };
    }
    case "StateCommitmentVetoed":
      return { kind: "vetoed", stateMachine: event.value.stateMachine, height: event.value.height, at };
    case "NewEpoch": {
      const { authoritySetId, relayer } = event.value;
      return { kind: "newEpoch", setId: authoritySetId, relayer: fromHex(relayer), at };
    }
    case "HostFrozen":
    case "HostWithdrawal":
    case "HostParamsUpdated":
      return undefined;
  }
}
