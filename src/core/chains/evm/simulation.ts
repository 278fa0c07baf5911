/**
 * What a delivery would do now: traced where the endpoints can trace, else called and estimated.
 * Source: protocol notes 02, sections 1 (traps 1 and 2) and 9.
 */
import type { TraceOutcome } from "../../protocol/evm/trace.ts";
import type { Message } from "../../protocol/ismp/message.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { Delivery, Refusal, Simulation } from "../chain.ts";
import { encodeDelivery, messagesOf } from "./calldata.ts";
import type { EvmContext, TraceTerms } from "./evm_context.ts";
import { chainGasLimit, gasLimitFor, isArbitrum, untracedGasLimit } from "./gas.ts";
import { callResult, gasEstimate, type ImaginedCall, trace } from "./queries.ts";
import { Question } from "./question.ts";
import { refusalOfFault, refusalOfRevert } from "./refusals.ts";

/** Tracing a hundred deliveries is the slowest thing a node is asked. */
const TRACE_TIMEOUT_MS = 120_000;

/** Simulates a delivery on top of the newest block. One request (with host parameters in the cache). */
export async function simulate(
  context: EvmContext,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Simulation> {
  const { handler } = await context.hostParams(signal);
  const call = {
    from: context.at.sender,
    to: handler,
    data: encodeDelivery(delivery, context.at.host),
    ...await context.traceTerms(signal),
  };
  const traced = context.lacks("tracing") ? undefined : await simulateTraced(context, delivery, call, signal);
  return traced ?? await simulateUntraced(context, delivery, call, signal);
}

/** `undefined` when no endpoint can trace. */
async function simulateTraced(
  context: EvmContext,
  delivery: Delivery,
  call: ImaginedCall & TraceTerms,
  signal: AbortSignal,
): Promise<Simulation | undefined> {
  const { pool, host, chainId, log } = context.at;
  const question = new Question(pool);
  const traced = question.addTolerant(trace(call, host));
  const estimated = isArbitrum(chainId) ? question.addTolerant(gasEstimate(call)) : undefined;
  await question.ask({ signal, timeoutMs: TRACE_TIMEOUT_MS });
  const outcome = traced();
  if (outcome instanceof RpcFault) {
    if (outcome.code === "missing_method") {
      if (context.noteLacking("tracing")) {
        log.warn(
          "No endpoint has debug_traceCall: deliveries are judged by eth_call, which cannot see failing modules",
        );
      }
      return undefined;
    }
    const refusal = refusalOfFault(outcome, delivery.steps.length);
    if (refusal === undefined) throw outcome;
    return { kind: "refused", refusal };
  }
  const estimate = estimated?.();
  if (estimate instanceof RpcFault && estimate.reaction === "retry") throw estimate;
  const gasUsed = estimate instanceof RpcFault ? undefined : estimate;
  return judgeTrace(delivery, { ...outcome, gasUsed: gasUsed ?? outcome.gasUsed }, {
    limit: call.gas,
    isChainLimit: call.gas === chainGasLimit(chainId),
  });
}

function judgeTrace(
  delivery: Delivery,
  outcome: TraceOutcome,
  { limit, isChainLimit }: { readonly limit: bigint; readonly isChainLimit: boolean },
): Simulation {
  const { revertData, gasUsed } = outcome;
  if (gasUsed >= limit || (revertData === "0x" && gasUsed * 64n >= limit * 63n)) {
    const refusal: Refusal = isChainLimit
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
    handled: messagesOf(delivery).map((message) => isHandled(outcome, message)),
    gasUsed,
    gasLimit: wanted < limit ? wanted : limit,
  };
}

function isHandled(outcome: TraceOutcome, message: Message): boolean {
  if (message.kind === "post") return outcome.posts.has(message.commitment);
  return message.kind === "getResponse" && outcome.gets.has(message.requestCommitment);
}

/** Without a trace every message of a call that does not revert counts as handled, which may be wrong. */
async function simulateUntraced(
  context: EvmContext,
  delivery: Delivery,
  call: ImaginedCall & TraceTerms,
  signal: AbortSignal,
): Promise<Simulation> {
  const question = new Question(context.at.pool);
  const called = question.addTolerant(callResult(call));
  const estimated = question.addTolerant(gasEstimate(call));
  await question.ask({ signal });
  const result = called();
  if (result instanceof RpcFault) {
    const refusal = refusalOfFault(result, delivery.steps.length);
    if (refusal === undefined) throw result;
    return { kind: "refused", refusal };
  }
  const estimate = estimated();
  const messages = messagesOf(delivery);
  const known = estimate instanceof RpcFault ? undefined : estimate;
  const gasLimit = untracedGasLimit(call.gas, messages.length, known);
  return { kind: "accepted", handled: messages.map(() => true), gasUsed: known ?? gasLimit, gasLimit };
}
