/**
 * Waiting for an endpoint that throttles: what it refused for now is sent again after its pause. Used by all who have no
 * other endpoint to ask. Start reading at {@link sendPatiently}.
 */
import type { Clock } from "../runtime/clock.ts";
import { orAbort } from "../runtime/retry.ts";
import type { CallConditions, RpcAnswer, RpcCall } from "./call.ts";
import type { PooledEndpoint } from "./endpoint_health.ts";
import { RpcFault } from "./fault.ts";

/**
 * Longest wait for an endpoint that throttles, when there is no other: a round of a leg asks for more than a free plan
 * gives in a second (QuickNode: 15 calls), and would never get to its end if each refusal ended it.
 */
export const MAX_THROTTLED_WAIT_MS = 15_000;

/** How calls are handed to one endpoint. */
export interface SendConditions extends CallConditions {
  /** True: nobody else is ready, so that an endpoint that throttles is worth waiting for. */
  readonly isPatient: boolean;
}

/**
 * Sends the calls as one request. Where that is worth it, what the endpoint throttles (the request, or single calls of a
 * batch) is sent again after its pause.
 */
export async function sendPatiently(
  clock: Clock,
  pooled: PooledEndpoint,
  calls: readonly RpcCall[],
  conditions: SendConditions,
): Promise<readonly RpcAnswer[]> {
  const answers = new Map<number, RpcAnswer>();
  let open = calls.map((_, index) => index);
  for (let waitedMs = 0;;) {
    let fault: RpcFault | undefined;
    try {
      const some = await pooled.endpoint.send(open.flatMap((index) => calls[index] ?? []), conditions);
      open.forEach((index, at) => {
        const answer = some[at];
        if (answer !== undefined) answers.set(index, answer);
      });
      const asked = open.length;
      open = open.filter((index) => throttleOf(answers.get(index)) !== undefined);
      fault = open.map((index) => throttleOf(answers.get(index))).at(0);
      if (open.length < asked) pooled.noteProgress();
    } catch (thrown) {
      if (!(thrown instanceof RpcFault) || thrown.code !== "throttled") throw thrown;
      fault = thrown;
    }
    const isAnswered = answers.size === calls.length;
    if (fault === undefined) return calls.flatMap((_, index) => answers.get(index) ?? []);
    // Others that are about to ask it wait as well.
    pooled.noteFault(fault);
    const state = pooled.availability();
    const leftMs = state.kind === "cooling" ? state.leftMs : 0;
    if (!conditions.isPatient || waitedMs + leftMs > MAX_THROTTLED_WAIT_MS) {
      if (!isAnswered) throw fault;
      return calls.flatMap((_, index) => answers.get(index) ?? []);
    }
    waitedMs += leftMs;
    await clock.sleep(leftMs, conditions.signal);
  }
}

/**
 * The same to the only endpoint of a chain, behind all who wait for it already. Of faults only throttling leads to a
 * pause: a connection that is lost comes back by itself.
 * @throws {RpcFault} also `throttled`, when the endpoint's pause is longer than anybody should wait
 */
export async function sendToOnly(
  clock: Clock,
  only: PooledEndpoint,
  calls: readonly RpcCall[],
  conditions: CallConditions,
): Promise<readonly RpcAnswer[]> {
  const { signal } = conditions;
  for (let waitedMs = 0;;) {
    const state = only.availability();
    if (state.kind === "ready") break;
    if (state.kind === "probing") await orAbort(state.settled, signal);
    else {
      if (waitedMs + state.leftMs > MAX_THROTTLED_WAIT_MS && only.lastFault !== undefined) {
        throw only.lastFault;
      }
      waitedMs += state.leftMs;
      await clock.sleep(state.leftMs, signal);
    }
  }
  return await only.use(async () => {
    const answers = await sendPatiently(clock, only, calls, { ...conditions, isPatient: true });
    // What was asked before somebody else was refused says nothing about the pause that follows.
    const isPaused = only.availability().kind === "cooling";
    if (!isPaused && answers.every((answer) => throttleOf(answer) === undefined)) only.noteSuccess();
    return answers;
  }, signal);
}

/** The fault of an answer that was throttled. */
function throttleOf(answer: RpcAnswer | undefined): RpcFault | undefined {
  return answer?.kind === "fault" && answer.fault.code === "throttled" ? answer.fault : undefined;
}
