/**
 * What a delivery would do now. Three ways to look, the first that the endpoints offer counts: a trace, which tells
 * everything; `eth_simulateV1`, which tells what is handled; a plain call, which tells refusals only.
 * Source: protocol notes 02, sections 1 (traps 1 and 2) and 9. Start reading at {@link simulate}.
 */
import type { Address } from "../../protocol/evm/address.ts";
import { unsignedCall } from "../../protocol/evm/fee_oracles.ts";
import type { HandledMessages } from "../../protocol/evm/handled_logs.ts";
import type { StepFrame, TraceOutcome } from "../../protocol/evm/trace.ts";
import type { Message } from "../../protocol/ismp/message.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { Delivery, Refusal, Simulation } from "../chain.ts";
import { addBatchCheck } from "./batching.ts";
import { encodeDelivery, messagesOf } from "./calldata.ts";
import { addCosts, type Costs } from "./costs.ts";
import type { EvmContext, OptionalAbility, TraceTerms } from "./evm_context.ts";
import { chainGasLimit, gasLimitFor, isArbitrum, untracedGasLimit } from "./gas.ts";
import { messageGasOf } from "./message_gas.ts";
import {
  callResult,
  gasEstimate,
  type ImaginedCall,
  type Query,
  simulatedCall,
  type SimulatedOutcome,
  trace,
} from "./queries.ts";
import { faultAt, Question } from "./question.ts";
import { refusalOfFault, refusalOfRevert } from "./refusals.ts";

/** Tracing a hundred deliveries is the slowest thing a node is asked. */
const TRACE_TIMEOUT_MS = 120_000;

/** What is simulated. */
interface Work {
  readonly delivery: Delivery;
  readonly messages: readonly Message[];
  readonly handler: Address;
  readonly call: ImaginedCall & TraceTerms;
}

/** What a look at an imagined transaction shows; `steps` where inner calls are seen. */
type Outcome = SimulatedOutcome & { readonly steps?: readonly StepFrame[] };

/**
 * Simulates a delivery on top of the newest block. One request (with host parameters in the cache), which also asks
 * for the costs; one more for each way to look that turns out to be missing, every ten minutes.
 */
export async function simulate(
  context: EvmContext,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Simulation> {
  const { handler } = await context.hostParams(signal);
  const data = encodeDelivery(delivery, context.at.host);
  const call = { from: context.at.sender, to: handler, data, ...await context.traceTerms(signal) };
  const work = { delivery, messages: messagesOf(delivery), handler, call };
  return await simulateTraced(context, work, signal) ??
    await simulateRun(context, work, signal) ??
    await simulateCalled(context, work, signal);
}

/** By a trace; `undefined` when no endpoint has traces that tell what is handled. */
async function simulateTraced(
  context: EvmContext,
  work: Work,
  signal: AbortSignal,
): Promise<Simulation | undefined> {
  const query = trace(work.call, context.at.host);
  const check = (outcome: TraceOutcome, place: FaultPlace): RpcFault | undefined => {
    if (!isBlind(outcome, work.messages.length)) return undefined;
    return faultAt("missing_method", { ...place, method: query.call.method }, "its traces come without logs");
  };
  return await look(context, work, { query, check, ability: "tracing" }, signal);
}

/** By running it; `undefined` when no endpoint can. */
async function simulateRun(
  context: EvmContext,
  work: Work,
  signal: AbortSignal,
): Promise<Simulation | undefined> {
  const query = simulatedCall(work.call, context.at.host);
  return await look(context, work, { query, ability: "simulating" }, signal);
}

/** True when the trace shows no log although messages would be handled, or does not show the host's part at all. */
function isBlind({ logCount, steps, revertData }: TraceOutcome, messages: number): boolean {
  if (logCount > 0 || revertData !== undefined || messages === 0) return false;
  const dispatches = steps.flatMap((step) => step.dispatches);
  return dispatches.length !== messages || dispatches.some(({ isModuleDone }) => isModuleDone);
}

/** A way to look: what is asked, and what it takes. */
interface Look<T extends Outcome> {
  readonly query: Query<T>;
  /** A fault makes the next endpoint be asked. */
  readonly check?: (outcome: T, place: FaultPlace) => RpcFault | undefined;
  readonly ability: Extract<OptionalAbility, "tracing" | "simulating">;
}

/** `undefined` when this way to look is not to be had. */
async function look<T extends Outcome>(
  context: EvmContext,
  work: Work,
  { query, check, ability }: Look<T>,
  signal: AbortSignal,
): Promise<Simulation | undefined> {
  if (context.lacks(ability)) return undefined;
  const { pool, chainId } = context.at;
  const question = new Question(pool);
  const looked = question.addTolerant(query);
  const estimated = isArbitrum(chainId) ? question.addTolerant(gasEstimate(work.call)) : undefined;
  const around = addSurroundings(context, question, work);
  const checkLook = (place: FaultPlace): RpcFault | undefined => {
    const outcome = looked();
    return outcome instanceof RpcFault ? undefined : check?.(outcome, place);
  };
  let outcome: T | RpcFault;
  try {
    await question.ask({ signal, timeoutMs: TRACE_TIMEOUT_MS, check: checkLook });
    outcome = looked();
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code !== "missing_method") throw fault;
    outcome = fault;
  }
  if (outcome instanceof RpcFault && isUnavailable(context, outcome, ability)) return undefined;
  const refusal = around.refusal();
  if (refusal !== undefined) return { kind: "refused", refusal };
  if (outcome instanceof RpcFault) return refusedBy(outcome, work.delivery);
  const estimate = estimated?.();
  if (estimate instanceof RpcFault && estimate.reaction === "retry") throw estimate;
  const gasUsed = estimate instanceof RpcFault ? undefined : estimate;
  const costs = around.costs();
  // What a trace shows lacks the gas that pays for layer 1.
  return judge(context, work, { ...outcome, gasUsed: gasUsed ?? outcome.gasUsed + costs.layer1Gas }, costs);
}

/** What is asked along with every look. */
function addSurroundings(
  context: EvmContext,
  question: Question,
  work: Work,
): { readonly costs: () => Costs; readonly refusal: () => Refusal | undefined } {
  return {
    costs: addCosts(context, question, unsignedCall({ chainId: context.at.chainId, ...work.call })),
    refusal: addBatchCheck(context, question, work),
  };
}

/** True when another way to look is to be tried. Only what is certainly missing is remembered. */
function isUnavailable(
  context: EvmContext,
  fault: RpcFault,
  ability: Extract<OptionalAbility, "tracing" | "simulating">,
): boolean {
  if (fault.code === "refused" || fault.code === "too_large") return true;
  if (fault.code !== "missing_method") return false;
  if (!context.noteLacking(ability)) return true;
  const { log } = context.at;
  if (ability === "tracing") {
    log.info("No endpoint has debug_traceCall with logs: deliveries are judged by eth_simulateV1");
  } else {
    log.warn(
      "No endpoint has debug_traceCall or eth_simulateV1: deliveries are judged by eth_call, which cannot see failing modules",
    );
  }
  return true;
}

function judge(context: EvmContext, work: Work, outcome: Outcome, costs: Costs): Simulation {
  const { revertData, gasUsed, steps } = outcome;
  const { delivery, messages, call: { gas: limit } } = work;
  if (gasUsed >= limit || (revertData === "0x" && gasUsed * 64n >= limit * 63n)) {
    const refusal: Refusal = limit === chainGasLimit(context.at.chainId)
      ? { code: "too_large", detail: `needs more than the ${limit} gas of a transaction of this chain` }
      : { code: "insufficient_funds", detail: `needs more than the ${limit} gas that the account can pay` };
    return { kind: "refused", refusal };
  }
  if (revertData !== undefined) {
    return { kind: "refused", refusal: refusalOfRevert(revertData, delivery.steps.length) };
  }
  const wanted = gasLimitFor(gasUsed);
  return {
    kind: "accepted",
    handled: messages.map((message) => isHandled(outcome, message)),
    gasUsed,
    gasLimit: wanted < limit ? wanted : limit,
    messageGas: messageGasOf(delivery, { gasUsed, steps }),
    gasPriceWei: costs.gasPriceWei,
    dataCostWei: costs.dataCostWei(gasUsed),
  };
}

function isHandled(outcome: HandledMessages, message: Message): boolean {
  if (message.kind === "post") return outcome.posts.has(message.commitment);
  return message.kind === "getResponse" && outcome.gets.has(message.requestCommitment);
}

/** The refusal that a fault stands for. @throws the fault when it says nothing about the delivery. */
function refusedBy(fault: RpcFault, delivery: Delivery): Simulation {
  const refusal = refusalOfFault(fault, delivery.steps.length);
  if (refusal === undefined) throw fault;
  return { kind: "refused", refusal };
}

/** By a plain call: every message of a call that does not revert counts as handled, which may be wrong. */
async function simulateCalled(context: EvmContext, work: Work, signal: AbortSignal): Promise<Simulation> {
  const { delivery, messages, call } = work;
  const question = new Question(context.at.pool);
  const called = question.addTolerant(callResult(call));
  const estimated = question.addTolerant(gasEstimate(call));
  const around = addSurroundings(context, question, work);
  await question.ask({ signal });
  const refusal = around.refusal();
  if (refusal !== undefined) return { kind: "refused", refusal };
  const result = called();
  if (result instanceof RpcFault) return refusedBy(result, delivery);
  const estimate = estimated();
  const known = estimate instanceof RpcFault ? undefined : estimate;
  const gasLimit = untracedGasLimit(call.gas, messages.length, known);
  const gasUsed = known ?? gasLimit;
  const { gasPriceWei, dataCostWei } = around.costs();
  return {
    kind: "accepted",
    handled: messages.map(() => true),
    gasUsed,
    gasLimit,
    messageGas: messageGasOf(delivery, { gasUsed, steps: undefined }),
    gasPriceWei,
    dataCostWei: dataCostWei(gasUsed),
  };
}
