/** What nodes, providers and their gateways do to whole requests. */
import type { NodeRefusal } from "./profile.ts";
import { refuseCall, RefusedRequest } from "./refusal.ts";
import { byCall, limited, type LimitedBehaviour, refusedWhere, type RpcBehaviour } from "./rpc_behaviour.ts";

/**
 * Methods that are not there; a `*` at the end stands for anything.
 * @param areListed false: `rpc_methods` does not list them. Default: it does, as where a gateway or a flag refuses them.
 */
export function missing(methods: readonly string[], refusal: NodeRefusal, areListed = true): RpcBehaviour {
  const isMissing = (method: string): boolean =>
    methods.some((name) => name.endsWith("*") ? method.startsWith(name.slice(0, -1)) : method === name);
  return {
    kind: "missing",
    start: (strike) =>
      byCall(async (call, next) => {
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
      }),
  };
}

/** `eth_call` without an address, which runs code that is not on the chain, is refused. */
export function codeCalls(refusal: NodeRefusal): RpcBehaviour {
  return {
    kind: "codeCalls",
    start: (strike) =>
      byCall(async (call, next) => {
        const { to = null }: { readonly to?: unknown } = Object(call.params[0]);
        if (call.method !== "eth_call" || to !== null) return await next(call);
        strike();
        return refuseCall(call, refusal);
      }),
  };
}

/** Requests that are too long. */
export const requestBytes: LimitedBehaviour = limited(
  "requestBytes",
  (max, refusal, strike) => ({ bytes }) => {
    if (bytes <= max) return {};
    strike();
    throw new RefusedRequest(refusal, { max }, true);
  },
);

/**
 * Answers that are too long: of a batch the whole counts.
 * @param ofBatch what is said of a batch; default: the same
 * @param except methods whose answers are as long whatever happens, so that a limit which is played smaller leaves them out
 */
export function responseBytes(
  real: number,
  played: number,
  refusal: NodeRefusal,
  { ofBatch = refusal, except = [] }: {
    readonly ofBatch?: NodeRefusal;
    readonly except?: readonly string[];
  } = {},
): RpcBehaviour {
  return {
    kind: "responseBytes",
    limit: { real, played },
    start: (strike) => ({ isBatch, calls }) => ({
      close: (body) => {
        if (body.length <= played || calls.some(({ method }) => except.includes(method))) return;
        strike();
        throw new RefusedRequest(isBatch ? ofBatch : refusal, { max: played });
      },
    }),
  };
}

/** Batches of more calls are refused. 0: every batch is. */
export const batch: LimitedBehaviour = limited("batch", (max, refusal, strike) =>
  refusedWhere(
    refusal,
    strike,
    ({ isBatch, calls: { length: count } }) => isBatch && count > max ? { max, count } : undefined,
  ));

/** So many calls a second: what is left of the last second's allowance is kept, a batch may use it up at once. */
export const rate: LimitedBehaviour = limited("rate", (max, refusal, strike) => {
  let left = max;
  let lastMs = 0;
  return refusedWhere(refusal, strike, ({ nowMs, calls }) => {
    left = Math.min(max, left + ((nowMs - lastMs) / 1000) * max);
    lastMs = nowMs;
    if (left <= 0) return { max };
    left -= calls.length;
    return undefined;
  });
});

/** So many calls in a day, which is `dayMs` long here. */
export function quota(dayMs: number): LimitedBehaviour {
  return limited("quota", (max, refusal, strike) => {
    let used = 0;
    let dayEndsMs = 0;
    return refusedWhere(refusal, strike, ({ nowMs, calls: { length: count } }) => {
      if (nowMs >= dayEndsMs) [used, dayEndsMs] = [0, nowMs + dayMs];
      used += count;
      return used > max ? { max } : undefined;
    });
  });
}

/** Each so many requests one is refused, for no reason. */
export function hiccups(every: number, refusal: NodeRefusal): RpcBehaviour {
  return {
    kind: "hiccups",
    start: (strike) => {
      let seen = 0;
      return refusedWhere(refusal, strike, () => ++seen % every === 0 ? {} : undefined);
    },
  };
}

/** WebSockets are closed after this time, which is a matter of the proxy. */
export function cutSockets(real: number, played: number): RpcBehaviour {
  return { kind: "cutSockets", limit: { real, played }, start: () => () => ({}) };
}
