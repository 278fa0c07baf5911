/** What a behaviour of a JSON-RPC node is; the files beside this one make them, for the profiles of EVM and Substrate nodes. */
import type { NodeRefusal, Scaled } from "./profile.ts";
import { type RefusalNumbers, RefusedRequest } from "./refusal.ts";

/** One JSON-RPC call. */
export interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** One answer: either a result or an error. */
export interface Answer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Asks the node behind the proxy. */
export type Ask = (call: Call) => Promise<Answer>;

/** The methods that read a state, with the position of the block among their parameters. */
export const STATE_METHODS: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getProof: 2,
  eth_getStorageAt: 2,
  eth_getTransactionCount: 1,
  eth_simulateV1: 1,
  debug_traceCall: 1,
};

/** A request as a behaviour sees it. */
export interface StageRequest {
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

/** One way in which a node is unkind. */
export interface RpcBehaviour {
  readonly kind: string;
  /** The limit that it keeps to, where it has one. */
  readonly limit?: Scaled;
  /** Puts it to work at one node. */
  readonly start: (strike: Strike) => Stage;
}

/** A behaviour with a limit: as documented, as played, and what is said beyond it. */
export type LimitedBehaviour = (real: number, played: number, refusal: NodeRefusal) => RpcBehaviour;

/** A {@link LimitedBehaviour} of that kind. @param start given the limit that is played */
export function limited(
  kind: string,
  start: (max: number, refusal: NodeRefusal, strike: Strike) => Stage,
): LimitedBehaviour {
  return (real, played, refusal) => ({
    kind,
    limit: { real, played },
    start: (strike) => start(played, refusal, strike),
  });
}

/** Refuses whole requests. @param judge numbers of the refusal; `undefined`: the request passes */
export function refusedWhere(
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

/** Height of a block parameter, a hash or a name; `undefined`: there is no such block. */
export async function heightOf(tag: string, ask: Ask): Promise<bigint | undefined> {
  if (tag.startsWith("0x") && tag.length < 66) return BigInt(tag);
  const method = tag.length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  return numberIn((await ask({ id: 0, method, params: [tag, false] })).result);
}

/** Number of a block or header; `undefined` where there is none. */
export function numberIn(block: unknown): bigint | undefined {
  const { number }: { readonly number?: unknown } = Object(block);
  return number === undefined ? undefined : BigInt(String(number));
}

/** The newest block of the node. */
export async function headOf(ask: Ask): Promise<bigint> {
  return BigInt(String((await ask({ id: 0, method: "eth_blockNumber", params: [] })).result));
}
