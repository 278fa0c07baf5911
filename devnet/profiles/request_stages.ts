/** What nodes, providers and their gateways do to whole requests. */
import { playedOf } from "./profile.ts";
import { refuseCall, RefusedRequest } from "./refusal.ts";
import type { RpcBehaviour } from "./rpc_behaviour.ts";
import type { Stage, Strike } from "./stage.ts";

type Of<K extends RpcBehaviour["kind"]> = Extract<RpcBehaviour, { kind: K }>;

/** Methods that are not there. */
export function missingStage(
  { kind, methods, refusal, areListed = true }: Of<"missing">,
  strike: Strike,
): Stage {
  const isMissing = (method: string): boolean =>
    methods.some((name) => name.endsWith("*") ? method.startsWith(name.slice(0, -1)) : method === name);
  return {
    kind,
    begin: () => ({
      answer: async (call, next) => {
        if (isMissing(call.method)) {
          strike();
          return refuseCall(call, refusal, { method: call.method });
        }
        const answer = await next(call);
        if (areListed || call.method !== "rpc_methods") return answer;
        strike();
        return {
          id: call.id,
          result: { methods: listedIn(answer.result).filter((name) => !isMissing(name)) },
        };
      },
    }),
  };
}

/** Calls of code that is not on the chain. */
export function codeCallsStage({ kind, refusal }: Of<"codeCalls">, strike: Strike): Stage {
  return {
    kind,
    begin: () => ({
      answer: async (call, next) => {
        const { to = null }: { readonly to?: unknown } = Object(call.params[0]);
        if (call.method !== "eth_call" || to !== null) return await next(call);
        strike();
        return refuseCall(call, refusal);
      },
    }),
  };
}

/** Names in an answer to `rpc_methods`. */
function listedIn(result: unknown): readonly string[] {
  const names: unknown = Object(result).methods;
  return Array.isArray(names) ? names.map(String) : [];
}

/** Requests that are too long. */
export function requestBytesStage({ kind, bytes, refusal }: Of<"requestBytes">, strike: Strike): Stage {
  return {
    kind,
    begin: (request) => {
      if (request.bytes <= playedOf(bytes)) return {};
      strike();
      throw new RefusedRequest(refusal, { max: playedOf(bytes) }, true);
    },
  };
}

/** Answers that are too long: of a batch the whole counts. */
export function responseBytesStage(
  { kind, bytes, refusal, ofBatch = refusal, except = [] }: Of<"responseBytes">,
  strike: Strike,
): Stage {
  const max = playedOf(bytes);
  return {
    kind,
    begin: ({ isBatch, calls }) => ({
      close: (body) => {
        if (body.length <= max || calls.some(({ method }) => except.includes(method))) return;
        strike();
        throw new RefusedRequest(isBatch ? ofBatch : refusal, { max });
      },
    }),
  };
}

/** Batches that are too long, or any. */
export function batchStage({ kind, calls, refusal }: Of<"batch">, strike: Strike): Stage {
  return {
    kind,
    begin: (request) => {
      if (!request.isBatch || request.calls.length <= playedOf(calls)) return {};
      strike();
      throw new RefusedRequest(refusal, { max: playedOf(calls), count: request.calls.length });
    },
  };
}

/** So many calls a second: what is left of the last second's allowance is kept, a batch may use it up at once. */
export function rateStage({ kind, perSec, refusal }: Of<"rate">, strike: Strike): Stage {
  const most = playedOf(perSec);
  let left = most;
  let lastMs = 0;
  return {
    kind,
    begin: ({ nowMs, calls }) => {
      left = Math.min(most, left + ((nowMs - lastMs) / 1000) * most);
      lastMs = nowMs;
      if (left <= 0) {
        strike();
        throw new RefusedRequest(refusal, { max: most });
      }
      left -= calls.length;
      return {};
    },
  };
}

/** So many calls a day. */
export function quotaStage({ kind, calls, dayMs, refusal }: Of<"quota">, strike: Strike): Stage {
  let used = 0;
  let dayEndsMs = 0;
  return {
    kind,
    begin: (request) => {
      if (request.nowMs >= dayEndsMs) {
        used = 0;
        dayEndsMs = request.nowMs + dayMs;
      }
      used += request.calls.length;
      if (used <= playedOf(calls)) return {};
      strike();
      throw new RefusedRequest(refusal, { max: playedOf(calls) });
    },
  };
}

/** Now and then the gateway fails. */
export function hiccupsStage({ kind, every, refusal }: Of<"hiccups">, strike: Strike): Stage {
  let seen = 0;
  return {
    kind,
    begin: () => {
      if (++seen % every !== 0) return {};
      strike();
      throw new RefusedRequest(refusal);
    },
  };
}
