/** A behaviour at work: what it does to one request after the other. */
import type { Answer, Ask, Call, RpcBehaviour } from "./rpc_behaviour.ts";

/** A request as a behaviour sees it. */
export interface StageRequest {
  readonly transport: "http" | "socket";
  readonly calls: readonly Call[];
  readonly isBatch: boolean;
  readonly bytes: number;
  /** Asks the node itself, past all behaviours. */
  readonly ask: Ask;
  /** Milliseconds since any fixed moment. */
  readonly nowMs: number;
}

/** What a behaviour does to one request. */
export interface RequestStage {
  /** Answers a call, mostly by changing the call or the answer of `next`. Default: passes it on. */
  readonly answer?: ((call: Call, next: Ask) => Promise<Answer>) | undefined;
  /** Looks at the text of the whole answer. @throws {RefusedRequest} instead of it. */
  readonly close?: (body: string) => void;
}

/** A behaviour at work: begins with a request. @throws {RefusedRequest} when the node refuses all of it. */
export type Stage = (request: StageRequest) => RequestStage | Promise<RequestStage>;

/** Told each time when a behaviour has changed what the client gets. */
export type Strike = () => void;

/** A behaviour of one kind. */
export type Of<K extends RpcBehaviour["kind"]> = Extract<RpcBehaviour, { kind: K }>;

/** A behaviour that answers call by call. @param ask asks the node itself, past all behaviours */
export function byCall(answer: (call: Call, next: Ask, ask: Ask) => Promise<Answer>): Stage {
  return ({ ask }) => ({ answer: (call, next) => answer(call, next, ask) });
}

/** A behaviour that changes what comes back. @param change the result that is given instead; `undefined`: the node's */
export function changingResults(strike: Strike, change: (result: unknown, call: Call) => unknown): Stage {
  return byCall(async (call, next) => {
    const answer = await next(call);
    const result = answer.result === undefined ? undefined : change(answer.result, call);
    if (result === undefined) return answer;
    strike();
    return { id: call.id, result };
  });
}
