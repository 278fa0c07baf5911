/**
 * Waits for a throttling endpoint: throttled calls are sent again after its pause. Used when there is no other
 * endpoint to fail over to. Start reading at {@link sendPatiently}.
 */
import type { Clock } from "../runtime/clock.ts";
import { orAbort } from "../runtime/linked_abort.ts";
import { type CallConditions, type RpcAnswer, type RpcCall, RpcFault } from "./call.ts";
import type { TrackedEndpoint } from "./endpoint_health.ts";

/**
 * Maximum wait for a throttling endpoint when there is no other: one round of a leg needs more calls than a free plan
 * allows per second (QuickNode: 15), and would never finish if each rejection ended it.
 */
export const MAX_THROTTLED_WAIT_MS = 15_000;

/** Options of sending calls to one endpoint. */
export interface SendConditions extends CallConditions {
  /** True: no other endpoint is ready, so a throttling endpoint is worth waiting for. */
  readonly isPatient: boolean;
}

/**
 * Sends the calls as one request. If `isPatient`, throttled calls (the request, or single calls of a batch) are sent
 * again after the endpoint's pause.
 */
export async function sendPatiently(
  clock: Clock,
  tracked: TrackedEndpoint,
  calls: readonly RpcCall[],
  conditions: SendConditions,
): Promise<readonly RpcAnswer[]> {
  const answers = new Map<number, RpcAnswer>();
  let open = calls.map((_, index) => index);
  for (let waitedMs = 0;;) {
    let fault: RpcFault | undefined;
    try {
      const some = await tracked.endpoint.send(open.flatMap((index) => calls[index] ?? []), conditions);
      open.forEach((index, at) => {
        const answer = some[at];
        if (answer !== undefined) answers.set(index, answer);
      });
      const asked = open.length;
      open = open.filter((index) => throttleOf(answers.get(index)) !== undefined);
      fault = open.map((index) => throttleOf(answers.get(index))).at(0);
      if (open.length < asked) tracked.noteProgress();
    } catch (thrown) {
      if (!(thrown instanceof RpcFault) || thrown.code !== "throttled") throw thrown;
      fault = thrown;
    }
    const isAnswered = answers.size === calls.length;
    if (fault === undefined) return calls.flatMap((_, index) => answers.get(index) ?? []);
    // Other callers that are about to use the endpoint wait as well.
    tracked.noteFault(fault);
    const state = tracked.availability();
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
 * Sends to the only endpoint of a chain, after all callers that are already waiting for it. Only throttling and
 * oversized answers lead to a pause: a lost connection recovers by itself.
 * @throws {RpcFault} also `throttled`, when the endpoint's pause is longer than the maximum wait
 */
export async function sendToOnly(
  clock: Clock,
  only: TrackedEndpoint,
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
    const answers = await sendPatiently(clock, only, calls, { ...conditions, isPatient: true }).catch(
      (fault) => {
        if (fault instanceof RpcFault && fault.code === "oversized") only.noteFault(fault);
        throw fault;
      },
    );
    // A request sent before another one was throttled says nothing about the pause that follows.
    const isPaused = only.availability().kind === "cooling";
    if (!isPaused && answers.every((answer) => throttleOf(answer) === undefined)) only.noteSuccess();
    return answers;
  }, signal);
}

/** Fault of a throttled answer. */
function throttleOf(answer: RpcAnswer | undefined): RpcFault | undefined {
  return answer?.kind === "fault" && answer.fault.code === "throttled" ? answer.fault : undefined;
}
