/**
 * Simulates a delivery. There are three methods, and the first that the endpoints support is used: a trace, which
 * shows everything; `eth_simulateV1`, which shows what is handled; a plain call, which shows refusals only. Source:
 * docs/protocol/evm-host.md sections 1 (traps 1 and 2) and 9. Start reading at {@link simulate}; one method is run in
 * `simulation_method.ts`.
 */
import type { StepFrame, TraceOutcome } from "../../evm/trace.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { Delivery, Refusal, Simulation } from "../port.ts";
import { encodeDelivery, messagesOf } from "./calldata.ts";
import type { Costs } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { chainGasLimit, gasLimitFor, gasPriceFor, highestPriceWei, untracedGasLimit } from "./gas.ts";
import { messageGasOf } from "./message_gas.ts";
import {
  callResult,
  gasEstimate,
  type ImaginedCall,
  simulatedCall,
  type SimulatedOutcome,
  trace,
} from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";
import { refusalOfRevert } from "./refusals.ts";
import {
  addSurroundings,
  ask,
  type Asked,
  handledBy,
  refusedBy,
  type SimulatedWork,
  type Way,
} from "./simulation_way.ts";

/**
 * Simulates a delivery on top of the newest block: one request (with cached host parameters), which also reads the
 * costs. When all messages would be handled, a second one repeats it with exactly the gas limit and the price that
 * the transaction will have, so that no contract can distinguish them. One more for each method that turns out to be
 * missing, every ten minutes.
 */
export async function simulate(
  context: EvmContext,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Simulation> {
  const { handler } = await context.hostParams.read(signal);
  const data = encodeDelivery(delivery, context.at.host);
  const call = { from: context.at.sender, to: handler, data, ...await context.traceTerms(signal) };
  const work = { delivery, messages: messagesOf(delivery), handler, call, isFirst: true };
  return await simulateBy(context, work, tracing(context, work), signal) ??
    await simulateBy(context, work, running(context), signal) ??
    await simulateCalled(context, work, signal);
}

/** Result of a simulation; `steps` if inner calls are visible. */
type Outcome = SimulatedOutcome & { readonly steps?: readonly StepFrame[] };

/** Method by traces, which show what is handled. */
function tracing({ at: { host } }: EvmContext, { messages }: SimulatedWork): Way<TraceOutcome> {
  const check = (outcome: TraceOutcome, place: FaultPlace): RpcFault | undefined => {
    if (!isBlind(outcome, messages.length)) return undefined;
    return faultAt("missing_method", { ...place, method: "debug_traceCall" }, "its traces come without logs");
  };
  return { ability: "tracing", query: (call) => trace(call, host), check };
}

/** Method by `eth_simulateV1`. */
function running({ at: { host } }: EvmContext): Way<SimulatedOutcome> {
  return { ability: "simulating", query: (call) => simulatedCall(call, host) };
}

/** True when the trace shows no log although messages would be handled, or does not show the host's part at all. */
function isBlind({ logCount, steps, revertData }: TraceOutcome, messages: number): boolean {
  if (logCount > 0 || revertData !== undefined || messages === 0) return false;
  const dispatches = steps.flatMap((step) => step.dispatches);
  return dispatches.length !== messages || dispatches.some(({ isModuleDone }) => isModuleDone);
}

/** Simulates by one method; `undefined` when it is not supported. */
async function simulateBy<T extends Outcome>(
  context: EvmContext,
  work: SimulatedWork,
  way: Way<T>,
  signal: AbortSignal,
): Promise<Simulation | undefined> {
  const asked = await ask(context, work, way, signal);
  if (asked.kind !== "shown") return asked.kind === "refused" ? asked : undefined;
  const { costs, layer1Gas } = asked;
  const wideGas = asked.outcome.gasUsed + layer1Gas;
  const refusal = refusalOf(context, work, { ...asked.outcome, gasUsed: wideGas });
  if (refusal !== undefined) return { kind: "refused", refusal };
  const wanted = gasLimitFor(wideGas);
  const gasLimit = wanted < work.call.gas ? wanted : work.call.gas;
  const wide = accept(work, asked.outcome, { gasUsed: wideGas, gasLimit, costs });
  // Without receiving modules nothing can behave differently; if some fail, the caller tries without them.
  if (work.messages.length === 0 || !wide.handled.every((handled) => handled)) return wide;
  const terms = exactTerms(context, asked, gasLimit);
  const exactWork = { ...work, call: { ...work.call, ...terms }, isFirst: false };
  const exact = await ask(context, exactWork, way, signal);
  if (exact.kind !== "shown") return exact.kind === "refused" ? exact : undefined;
  const { outcome } = exact;
  if (outcome.revertData !== undefined) {
    return { kind: "refused", refusal: refusalOfRevert(outcome.revertData, work.delivery.steps.length) };
  }
  // Only a trace shows what each message uses: without one, all the gas that may be paid for counts.
  const gasUsed = way.ability === "tracing" ? outcome.gasUsed + layer1Gas : gasLimit;
  return accept(work, outcome, { gasUsed, gasLimit, costs });
}

/**
 * Gas and price of the transaction that would be signed now. The sender's balance is overridden only if it could not
 * pay for it.
 */
function exactTerms(
  { at: { gasPriceBufferPercent } }: EvmContext,
  { costs: { gasPriceWei }, baseFeeWei, balanceWei }: Extract<Asked<Outcome>, { kind: "shown" }>,
  gasLimit: bigint,
): Pick<ImaginedCall, "price" | "baseFeeWei" | "balanceWei"> & { readonly gas: bigint } {
  const price = gasPriceFor({ gasPriceWei, baseFeeWei }, gasPriceBufferPercent);
  const neededWei = gasLimit * highestPriceWei(price);
  const missing = balanceWei < neededWei ? { balanceWei: neededWei } : {};
  return { gas: gasLimit, price, baseFeeWei, ...missing };
}

/** Reason why the delivery as a whole fails; `undefined` when it does not. */
function refusalOf(
  context: EvmContext,
  { delivery, call: { gas: limit } }: SimulatedWork,
  { revertData, gasUsed }: Pick<Outcome, "revertData" | "gasUsed">,
): Refusal | undefined {
  if (gasUsed >= limit || (revertData === "0x" && gasUsed * 64n >= limit * 63n)) {
    return limit === chainGasLimit(context.at.chainId)
      ? { code: "too_large", detail: `needs more than the ${limit} gas of a transaction of this chain` }
      : { code: "insufficient_funds", detail: `needs more than the ${limit} gas that the account can pay` };
  }
  return revertData === undefined ? undefined : refusalOfRevert(revertData, delivery.steps.length);
}

function accept(
  { delivery, messages }: SimulatedWork,
  outcome: Outcome,
  { gasUsed, gasLimit, costs }: {
    readonly gasUsed: bigint;
    readonly gasLimit: bigint;
    readonly costs: Costs;
  },
): Extract<Simulation, { kind: "accepted" }> {
  return {
    kind: "accepted",
    handled: messages.map((message) => handledBy(outcome, message)),
    gasUsed,
    gasLimit,
    messageGas: messageGasOf(delivery, { gasUsed, steps: outcome.steps }),
    gasPriceWei: costs.gasPriceWei,
    dataCostWei: costs.dataCostWei(gasUsed),
  };
}

/**
 * Simulates by a plain call: every message of a call that does not revert counts as handled, which may be wrong. A
 * module may use all the gas that it is given, so all of it counts as used.
 */
async function simulateCalled(
  context: EvmContext,
  work: SimulatedWork,
  signal: AbortSignal,
): Promise<Simulation> {
  const { delivery, messages, call } = work;
  const question = new RpcBatch(context.at.pool);
  const called = question.addOptional(callResult(call));
  const estimated = question.addOptional(gasEstimate(call));
  const around = addSurroundings(context, question, work);
  await question.ask({ signal });
  const refusal = around.refusal();
  if (refusal !== undefined) return { kind: "refused", refusal };
  const result = called();
  if (result instanceof RpcFault) return refusedBy(result, delivery);
  const estimate = estimated();
  const known = estimate instanceof RpcFault ? undefined : estimate;
  const gasLimit = untracedGasLimit(call.gas, messages.length, known);
  const gasUsed = messages.length === 0 ? known ?? gasLimit : gasLimit;
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
