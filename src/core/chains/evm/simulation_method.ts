/**
 * Runs one simulation method (a trace, `eth_simulateV1`) and classifies its faults. A node lacks a method when it answers
 * the other calls of a request and refuses this one, or answers it in a shape of its own. A node that is down and a
 * delivery that cannot be simulated look alike; a trivial call by the same method distinguishes them.
 */
import type { HandledMessages, TraceOutcome } from "../../evm/trace.ts";
import type { Message } from "../../ismp/message.ts";
import {
  type FaultPlace,
  isOfEndpoint,
  keepFault,
  onFault,
  RpcFault,
  type RpcFaultCode,
} from "../../rpc/call.ts";
import type { Delivery, Simulation } from "../submission.ts";
import { type Capability, EvmPart } from "./evm_context.ts";
import { addCallCosts, type Costs } from "./fees.ts";
import { highest, isArbitrum } from "./gas.ts";
import {
  accountBalance,
  gasEstimate,
  type Query,
  readable,
  simulatedCall,
  type SimulatedOutcome,
  trace,
} from "./queries.ts";
import { faultToRefusal } from "./refusals.ts";
import { callOne, faultAt, RpcBatch } from "./rpc_batch.ts";
import type { DeliveryCall } from "./signing_facts.ts";

/** Tracing a hundred deliveries is the slowest request to a node. */
const TRACE_TIMEOUT_MS = 120_000;

/** The node is healthy, but does not simulate this delivery. */
const NOT_SHOWN: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["too_large", "refused"]);
/** The node may be down, or this delivery too slow for it or for a gateway in front of it. */
const NO_ANSWER: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["timeout", "server_error"]);

/** Input of a simulation. */
export interface SimulationInput extends DeliveryCall {
  /** By a trace, which shows everything, or by `eth_simulateV1`. */
  readonly method: Extract<Capability, "tracing" | "simulating">;
  /** False when the layer 1 part of its gas is known already. */
  readonly isFirst: boolean;
}

/** Effects of a simulated delivery; its steps, and the number of its logs, where inner calls are visible. */
export type Outcome = SimulatedOutcome & Partial<TraceOutcome>;

/** Result of a method. */
export type MethodResult =
  | {
    readonly kind: "shown";
    readonly outcome: Outcome;
    /** Endpoint. */
    readonly host: string;
    /** Gas for layer 1, which the outcome does not include: on Arbitrum; 0 elsewhere. */
    readonly layer1Gas: bigint;
    readonly costs: Costs;
    /** Balance of the sender. */
    readonly balanceWei: bigint;
  }
  | Extract<Simulation, { kind: "refused" }>
  /** No endpoint supports the method; `isSilent`: one that may did not tell. */
  | { readonly kind: "missing"; readonly isSilent?: boolean };

/** Runs of simulation methods at the endpoints of one chain. */
export class SimulationRuns extends EvmPart {
  /** Methods whose lack was logged. */
  readonly #told = new Set<Capability>();

  /** Runs one method; retries once when there was no answer although the endpoints are healthy. */
  async runMethod(input: SimulationInput, signal: AbortSignal): Promise<MethodResult> {
    if (this.context.isUnsupported(input.method)) return { kind: "missing" };
    for (let attempt = 1;; attempt++) {
      const result = await this.#runInNextBlock(input, signal);
      if (!(result instanceof RpcFault)) return result;
      const isWithoutAnswer = NO_ANSWER.has(result.code);
      if (!NOT_SHOWN.has(result.code) && !isWithoutAnswer) return refusedBy(result, input.delivery);
      if (input.messages.length === 0) {
        if (isWithoutAnswer) throw result;
        return { kind: "missing" };
      }
      if (!await this.#simulatesTrivial(input, signal)) return { kind: "missing" };
      if (isWithoutAnswer && attempt === 1) continue;
      const detail = `no endpoint can simulate it: ${result.message}`;
      return { kind: "refused", refusal: { code: "untraceable", detail } };
    }
  }

  /**
   * Traces in the next block, so that no contract can tell by number and time; in the newest one where an endpoint
   * refuses that and not the rest. `eth_simulateV1` does so by itself.
   */
  async #runInNextBlock(input: SimulationInput, signal: AbortSignal): Promise<MethodResult | RpcFault> {
    const block = input.method === "tracing" ? this.context.nextBlock : undefined;
    const first = await this.#runOnce({ ...input, call: { ...input.call, block } }, signal);
    // The chain's clock has jumped: contracts that keep times would fail in the past.
    const isPast = block !== undefined && (this.context.newest?.timestamp ?? 0n) > block.timestamp;
    const again = { ...input.call, block: this.context.nextBlock };
    const result = isPast ? await this.#runOnce({ ...input, call: again }, signal) : first;
    const isRefused = result instanceof RpcFault ? !NO_ANSWER.has(result.code) : result.kind === "missing";
    if (block === undefined || !isRefused) return result;
    const plain = await this.#runOnce(input, signal);
    if (!(plain instanceof RpcFault) && plain.kind === "shown") {
      this.context.noteUnsupported("overriding", plain.host);
    }
    return plain;
  }

  /** Returns the fault when the method did not simulate the delivery. @throws {RpcFault} about anything else */
  async #runOnce(input: SimulationInput, signal: AbortSignal): Promise<MethodResult | RpcFault> {
    const { endpoints, sender, chainId } = this.context.at;
    const batch = new RpcBatch(endpoints);
    const query = this.#queryOf(input);
    const shown = batch.addOptional(readable(query));
    const isEstimated = input.isFirst && isArbitrum(chainId);
    const estimated = isEstimated ? batch.addOptional(gasEstimate(input.call)) : undefined;
    const read = addCallCosts(this.context, batch, input.call);
    const balance = batch.add(accountBalance(sender));
    let isHeard = false;
    const check = (place: FaultPlace): RpcFault | undefined => {
      isHeard = true;
      const outcome = shown();
      const isMissing = outcome instanceof RpcFault
        ? outcome.code === "missing_method"
        : outcome === undefined || isBlind(outcome, input.messages.length);
      if (!isMissing) return undefined;
      this.#noteMissing(input.method, place.endpointHost);
      if (outcome instanceof RpcFault) return undefined;
      const missing = { ...place, method: query.call.method };
      return faultAt("missing_method", missing, "its answers do not show what is delivered");
    };
    const missing = (): MethodResult => ({
      kind: "missing",
      isSilent: !this.context.isUnsupported(input.method),
    });
    const fault = await batch.send({ signal, timeoutMs: TRACE_TIMEOUT_MS, check }).catch(keepFault);
    if (fault !== undefined) {
      // One that lacks the method was heard, whatever the others say of themselves.
      if (isHeard && (fault.code === "missing_method" || isOfEndpoint(fault.code))) return missing();
      if (NOT_SHOWN.has(fault.code) || NO_ANSWER.has(fault.code)) return fault;
      if (fault.code !== "missing_method") throw fault;
      // Nothing else was answered: that says nothing about the method.
      throw new RpcFault("server_error", fault.where, { detail: fault.detail, cause: fault });
    }
    const outcome = shown();
    if (outcome === undefined || (outcome instanceof RpcFault && outcome.code === "missing_method")) {
      return missing();
    }
    if (outcome instanceof RpcFault) return outcome;
    const estimate = estimated?.();
    if (estimate instanceof RpcFault && estimate.reaction === "retry") throw estimate;
    const named = read();
    this.context.noteHead(named.block);
    const costs = await this.context.prices.bound(named, batch.host, signal);
    const known = estimate instanceof RpcFault ? undefined : estimate;
    return {
      kind: "shown",
      outcome,
      host: batch.host,
      layer1Gas: known === undefined ? costs.layer1Gas : highest(0n, known - outcome.gasUsed),
      costs,
      balanceWei: balance(),
    };
  }

  /**
   * Returns whether the endpoints simulate a zero-value transfer by that method, with the same gas and price.
   * @throws {RpcFault} when they do not answer: then nothing is known about the delivery
   */
  async #simulatesTrivial(input: SimulationInput, signal: AbortSignal): Promise<boolean> {
    const { endpoints, sender } = this.context.at;
    const trivial = readable(this.#queryOf({ ...input, call: { ...input.call, to: sender, data: "0x" } }));
    const answer = await callOne(endpoints, trivial, { signal }).catch(onFault((fault) => {
      if (fault.reaction !== "drop") throw fault;
      return undefined;
    }));
    return answer !== undefined;
  }

  #queryOf({ method, call }: SimulationInput): Query<Outcome> {
    return (method === "tracing" ? trace : simulatedCall)(call, this.context.at.host);
  }

  /** Records that an endpoint lacks a method. */
  #noteMissing(capability: Capability, host: string): void {
    this.context.noteUnsupported(capability, host);
    if (this.#told.has(capability) || !this.context.isUnsupported(capability)) return;
    this.#told.add(capability);
    const { log } = this.context.at;
    if (capability === "tracing") log.info("endpoint_limited.tracing");
    else log.warn("endpoint_limited.simulation");
  }
}

/**
 * True when a trace shows no log although messages would be handled, or does not show the host's part at all: as if the
 * endpoint lacked the method.
 */
function isBlind({ logCount = 0, steps, revertData }: Outcome, messages: number): boolean {
  if (steps === undefined || logCount > 0 || revertData !== undefined || messages === 0) return false;
  const dispatches = steps.flatMap((step) => step.dispatches);
  return dispatches.length !== messages || dispatches.some(({ isModuleDone }) => isModuleDone);
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
