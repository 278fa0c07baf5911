/** What nodes, providers and their gateways do to whole requests. */
import { type NodeRefusal, playedOf } from "./profile.ts";
import { type RefusalNumbers, refuseCall, RefusedRequest } from "./refusal.ts";
import { byCall, type Of, type Stage, type StageRequest, type Strike } from "./stage.ts";

/** Refuses whole requests. @param judge numbers of the refusal; `undefined`: the request passes */
function refusing(
  refusal: NodeRefusal,
  strike: Strike,
  judge: (request: StageRequest) => RefusalNumbers | undefined,
): Stage {
  return (request) => {
    const numbers = judge(request);
    if (numbers === undefined) return {};
    strike();
    throw new RefusedRequest(refusal, numbers);
  };
}

/** Methods that are not there. */
export function missingStage({ methods, refusal, areListed = true }: Of<"missing">, strike: Strike): Stage {
  const isMissing = (method: string): boolean =>
    methods.some((name) => name.endsWith("*") ? method.startsWith(name.slice(0, -1)) : method === name);
  return byCall(async (call, next) => {
    if (isMissing(call.method)) {
      strike();
      return refuseCall(call, refusal, { method: call.method });
    }
    const answer = await next(call);
    if (areListed || call.method !== "rpc_methods") return answer;
    strike();
    const listed: unknown = Object(answer.result).methods;
    const names = Array.isArray(listed) ? listed.map(String) : [];
    return { id: call.id, result: { methods: names.filter((name) => !isMissing(name)) } };
  });
}

/** Calls of code that is not on the chain. */
export function codeCallsStage({ refusal }: Of<"codeCalls">, strike: Strike): Stage {
  return byCall(async (call, next) => {
    const { to = null }: { readonly to?: unknown } = Object(call.params[0]);
    if (call.method !== "eth_call" || to !== null) return await next(call);
    strike();
    return refuseCall(call, refusal);
  });
}

/** Requests that are too long. */
export function requestBytesStage({ bytes, refusal }: Of<"requestBytes">, strike: Strike): Stage {
  return (request) => {
    if (request.bytes <= playedOf(bytes)) return {};
    strike();
    throw new RefusedRequest(refusal, { max: playedOf(bytes) }, true);
  };
}

/** Answers that are too long: of a batch the whole counts. */
export function responseBytesStage(
  { bytes, refusal, ofBatch = refusal, except = [] }: Of<"responseBytes">,
  strike: Strike,
): Stage {
  const max = playedOf(bytes);
  return ({ isBatch, calls }) => ({
    close: (body) => {
      if (body.length <= max || calls.some(({ method }) => except.includes(method))) return;
      strike();
      throw new RefusedRequest(isBatch ? ofBatch : refusal, { max });
    },
  });
}

/** Batches that are too long, or any. */
export function batchStage({ calls, refusal }: Of<"batch">, strike: Strike): Stage {
  const max = playedOf(calls);
  return refusing(
    refusal,
    strike,
    ({ isBatch, calls: { length: count } }) => isBatch && count > max ? { max, count } : undefined,
  );
}

/** So many calls a second: what is left of the last second's allowance is kept, a batch may use it up at once. */
export function rateStage({ perSec, refusal }: Of<"rate">, strike: Strike): Stage {
  const max = playedOf(perSec);
  let left = max;
  let lastMs = 0;
  return refusing(refusal, strike, ({ nowMs, calls }) => {
    left = Math.min(max, left + ((nowMs - lastMs) / 1000) * max);
    lastMs = nowMs;
    if (left <= 0) return { max };
    left -= calls.length;
    return undefined;
  });
}

/** So many calls a day. */
export function quotaStage({ calls, dayMs, refusal }: Of<"quota">, strike: Strike): Stage {
  const max = playedOf(calls);
  let used = 0;
  let dayEndsMs = 0;
  return refusing(refusal, strike, ({ nowMs, calls: { length: count } }) => {
    if (nowMs >= dayEndsMs) [used, dayEndsMs] = [0, nowMs + dayMs];
    used += count;
    return used > max ? { max } : undefined;
  });
}

/** Now and then the gateway fails. */
export function hiccupsStage({ every, refusal }: Of<"hiccups">, strike: Strike): Stage {
  let seen = 0;
  return refusing(refusal, strike, () => ++seen % every === 0 ? {} : undefined);
}
