/**
 * Runs one simulation method (a trace, `eth_simulateV1`) and classifies its faults. A node lacks a method when it answers
 * the other calls of a request and refuses this one, or answers it in a shape of its own. A node that is down and a
 * delivery that cannot be simulated look alike; a trivial call by the same method distinguishes them.
 */
import type { Address } from "../../evm/address.ts";
import { unsignedCall } from "../../evm/fee_oracles.ts";
import type { HandledMessages } from "../../evm/trace.ts";
import type { Message } from "../../ismp/message.ts";
import { type FaultPlace, RpcFault, type RpcFaultCode } from "../../rpc/call.ts";
import type { Delivery, Refusal, Simulation } from "../submission.ts";
import { callOne, faultAt, RpcBatch } from "./rpc_batch.ts";
import { addBatchCheck } from "./batching.ts";
import { isArbitrum } from "./gas.ts";
import { addCosts, type Costs } from "./costs.ts";
import type { Capability, EvmContext, TraceOptions } from "./evm_context.ts";
import { accountBalance, blockAt, gasEstimate, type Query, readable, type SimulatedCall } from "./queries.ts";
import { faultToRefusal } from "./refusals.ts";
import { addSigningFacts, type Market, type ReadFacts } from "./signing_facts.ts";

/** Tracing a hundred deliveries is the slowest request to a node. */
const TRACE_TIMEOUT_MS = 120_000;

/** The node is healthy, but does not simulate this delivery. */
const NOT_SHOWN: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["too_large", "refused"]);
/** The node may be down, or this delivery too slow for it or for a gateway in front of it. */
const NO_ANSWER: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["timeout", "server_error"]);

/** Input of a simulation. */
export interface SimulationInput {
  readonly delivery: Delivery;
  readonly messages: readonly Message[];
  readonly handler: Address;
  readonly call: SimulatedCall & TraceOptions;
  /** False when the layer 1 part of its gas is known already. */
  readonly isFirst: boolean;
  /** True: gas and price are those of the transaction, so what a signature needs is read along. */
  readonly readsFacts: boolean;
}

/** Minimum result of every method. */
type MinOutcome = HandledMessages & { readonly gasUsed: bigint };

/** Simulation method: the query and the capability it needs. */
export interface SimulationMethod<T extends MinOutcome> {
  readonly capability: Extract<Capability, "tracing" | "simulating">;
  readonly query: (call: SimulatedCall) => Query<T>;
  /** True for an outcome that shows too little: as if the endpoint lacked the method. Absent: none does. */
  readonly isBlind?: (outcome: T) => boolean;
}

/** Result of a method. */
export type MethodResult<T> =
  | {
    readonly kind: "shown";
    readonly outcome: T;
    /** Endpoint. */
    readonly host: string;
    /** Gas for layer 1, which the outcome does not include: on Arbitrum; 0 elsewhere. */
    readonly layer1Gas: bigint;
    readonly costs: Costs;
    /** Of the newest block. */
    readonly baseFeeWei: bigint | undefined;
    /** Balance of the sender. */
    readonly balanceWei: bigint;
    readonly facts: ReadFacts | undefined;
  }
  | Extract<Simulation, { kind: "refused" }>
  /** No endpoint supports the method; `isSilent`: one that may did not tell. */
  | { readonly kind: "missing"; readonly isSilent?: boolean };

/** Runs of simulation methods at the endpoints of one chain. */
export class SimulationRuns {
  readonly #context: EvmContext;
  /** Methods whose lack was logged. */
  readonly #told = new Set<Capability>();

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** Runs one method; retries once when there was no answer although the endpoints are healthy. */
  async runMethod<T extends MinOutcome>(
    input: SimulationInput,
    method: SimulationMethod<T>,
    signal: AbortSignal,
  ): Promise<MethodResult<T>> {
    if (this.#context.isUnsupported(method.capability)) return { kind: "missing" };
    for (let attempt = 1;; attempt++) {
      const result = await this.#runInNextBlock(input, method, signal);
      if (!(result instanceof RpcFault)) return result;
      const isWithoutAnswer = NO_ANSWER.has(result.code);
      if (!NOT_SHOWN.has(result.code) && !isWithoutAnswer) return refusedBy(result, input.delivery);
      if (input.messages.length === 0) {
        if (isWithoutAnswer) throw result;
        return { kind: "missing" };
      }
      if (!await this.#simulatesTrivial(input, method, signal)) return { kind: "missing" };
      if (isWithoutAnswer && attempt === 1) continue;
      const detail = `no endpoint can simulate it: ${result.message}`;
      return { kind: "refused", refusal: { code: "untraceable", detail } };
    }
  }

  /**
   * Traces in the next block, so that no contract can tell by number and time; in the newest one where an endpoint
   * refuses that and not the rest. `eth_simulateV1` does so by itself.
   */
  async #runInNextBlock<T extends MinOutcome>(
    input: SimulationInput,
    method: SimulationMethod<T>,
    signal: AbortSignal,
  ): Promise<MethodResult<T> | RpcFault> {
    const block = method.capability === "tracing" ? this.#context.nextBlock : undefined;
    const result = await this.#runOnce({ ...input, call: { ...input.call, block } }, method, signal);
    const isRefused = result instanceof RpcFault ? !NO_ANSWER.has(result.code) : result.kind === "missing";
    if (block === undefined || !isRefused) return result;
    const plain = await this.#runOnce(input, method, signal);
    if (!(plain instanceof RpcFault) && plain.kind === "shown") {
      this.#context.noteUnsupported("overriding", plain.host);
    }
    return plain;
  }

  /** Returns the fault when the method did not simulate the delivery. @throws {RpcFault} about anything else */
  async #runOnce<T extends MinOutcome>(
    input: SimulationInput,
    method: SimulationMethod<T>,
    signal: AbortSignal,
  ): Promise<MethodResult<T> | RpcFault> {
    const { endpoints, sender, chainId } = this.#context.at;
    const batch = new RpcBatch(endpoints);
    // First, so that a node which works through a batch in order reads the facts after it.
    const query = method.query(input.call);
    const shown = batch.addOptional(readable(query));
    const isEstimated = input.isFirst && isArbitrum(chainId);
    const estimated = isEstimated ? batch.addOptional(gasEstimate(input.call)) : undefined;
    const around = addCostsAndChecks(this.#context, batch, input);
    const head = batch.add(blockAt("latest"));
    const balance = batch.add(accountBalance(sender));
    const facts = input.readsFacts ? this.#addFacts(batch, input, { ...around, head, balance }) : undefined;
    let isHeard = false;
    const check = (place: FaultPlace): RpcFault | undefined => {
      if (head() === undefined) return faultAt("malformed", place, "no newest block");
      isHeard = true;
      const outcome = shown();
      const isMissing = outcome instanceof RpcFault
        ? outcome.code === "missing_method"
        : outcome === undefined || method.isBlind?.(outcome) === true;
      if (!isMissing) return undefined;
      this.#noteMissing(method.capability, place.endpointHost);
      if (outcome instanceof RpcFault) return undefined;
      const missing = { ...place, method: query.call.method };
      return faultAt("missing_method", missing, "its answers do not show what is delivered");
    };
    const missing = (): MethodResult<T> => ({
      kind: "missing",
      isSilent: !this.#context.isUnsupported(method.capability),
    });
    try {
      await batch.send({ signal, timeoutMs: TRACE_TIMEOUT_MS, check });
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      if (NOT_SHOWN.has(fault.code) || NO_ANSWER.has(fault.code)) return fault;
      if (fault.code !== "missing_method") throw fault;
      if (isHeard) return missing();
      // Nothing else was answered: that says nothing about the method.
      throw new RpcFault("server_error", "retry", fault.where, { detail: fault.detail, cause: fault });
    }
    const outcome = shown();
    if (outcome === undefined || (outcome instanceof RpcFault && outcome.code === "missing_method")) {
      return missing();
    }
    const refusal = around.refusal();
    if (refusal !== undefined) return { kind: "refused", refusal };
    if (outcome instanceof RpcFault) return outcome;
    const estimate = estimated?.();
    if (estimate instanceof RpcFault && estimate.reaction === "retry") throw estimate;
    const newest = head();
    if (newest !== undefined) this.#context.noteHead(newest);
    const baseFeeWei = newest?.baseFeePerGas ?? undefined;
    const costs = await this.#context.prices.bound({ ...around.costs(), baseFeeWei }, batch.host, signal);
    const known = estimate instanceof RpcFault ? undefined : estimate;
    return {
      kind: "shown",
      outcome,
      host: batch.host,
      layer1Gas: known === undefined ? costs.layer1Gas : excess(known, outcome.gasUsed),
      costs,
      baseFeeWei,
      balanceWei: balance(),
      facts: facts && { ...facts(), costs },
    };
  }

  #addFacts(batch: RpcBatch, input: SimulationInput, market: Market): () => ReadFacts {
    const { delivery, messages, handler, call: { data, gas } } = input;
    const call = { delivery, messages, handler, data, gasLimit: gas };
    return addSigningFacts(this.#context, batch, { call, market });
  }

  /**
   * Returns whether the endpoints simulate a zero-value transfer by that method, with the same gas and price.
   * @throws {RpcFault} when they do not answer: then nothing is known about the delivery
   */
  async #simulatesTrivial<T extends MinOutcome>(
    { call }: SimulationInput,
    method: SimulationMethod<T>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { endpoints, sender } = this.#context.at;
    try {
      const trivial = readable(method.query({ ...call, to: sender, data: "0x" }));
      return await callOne(endpoints, trivial, { signal }) !== undefined;
    } catch (fault) {
      if (!(fault instanceof RpcFault) || fault.reaction !== "drop") throw fault;
      return false;
    }
  }

  /** Records that an endpoint lacks a method. */
  #noteMissing(capability: Capability, host: string): void {
    this.#context.noteUnsupported(capability, host);
    if (this.#told.has(capability) || !this.#context.isUnsupported(capability)) return;
    this.#told.add(capability);
    const { log } = this.#context.at;
    if (capability === "tracing") log.info("tracing_unavailable");
    else log.warn("simulation_unavailable");
  }
}

function excess(a: bigint, b: bigint): bigint {
  return a > b ? a - b : 0n;
}

/** Adds the queries that go along with every simulation. */
export function addCostsAndChecks(
  context: EvmContext,
  batch: RpcBatch,
  input: SimulationInput,
): { readonly costs: () => Costs; readonly refusal: () => Refusal | undefined } {
  return {
    costs: addCosts(context, batch, () => unsignedCall({ chainId: context.at.chainId, ...input.call })),
    refusal: addBatchCheck(context, batch, input),
  };
}

/** True when a message would be recorded as handled. */
export function handledBy(outcome: HandledMessages, message: Message): boolean {
  if (message.kind === "post") return outcome.posts.has(message.commitment);
  return message.kind === "getResponse" && outcome.gets.has(message.requestCommitment);
}

/** Refusal for a fault. @throws the fault when it says nothing about the delivery. */
export function refusedBy(fault: RpcFault, delivery: Delivery): Extract<Simulation, { kind: "refused" }> {
  const refusal = faultToRefusal(fault, delivery.steps.length);
  if (refusal === undefined) throw fault;
  return { kind: "refused", refusal };
}
