/** A transport that changes what one node answers: methods it refuses, and parts that it leaves out. */
import { isHex } from "viem";
import { decodeBundleResult } from "../../src/core/evm/call_bundle.ts";
import { type Fetch } from "../../src/core/rpc/http_exchange.ts";
import { platformFetch } from "../../src/core/rpc/http.ts";
import { bundleResult, readsOf } from "./bundle_runner.ts";

/** Result instead of a node's own; {@link REFUSED} for a method that it does not have. */
export type AlterAnswer = (method: string, result: unknown) => unknown;

/** Stands for "method not found". */
export const REFUSED: unique symbol = Symbol("refused");

interface WireCall {
  readonly id: unknown;
  readonly method: string;
  readonly params?: unknown;
}

interface WireAnswer {
  readonly id: unknown;
  readonly result?: unknown;
}

/** Passes everything on and alters the answers. */
export function alteringFetch(alter: AlterAnswer): Fetch {
  return changingFetch((answer, { method, params }) => {
    const result = alterReads(params, answer.result, (one) => alter(method, one)) ??
      alter(method, answer.result);
    if (result !== REFUSED) return answer.result === undefined ? answer : { ...answer, result };
    const error = { code: -32601, message: `the method ${method} does not exist/is not available` };
    return { jsonrpc: "2.0", id: answer.id, error };
  });
}

/** Passes everything on and changes each answer by its call. */
function changingFetch(change: (answer: WireAnswer, call: Omit<WireCall, "id">) => unknown): Fetch {
  return async (url, init) => {
    const sent: WireCall | readonly WireCall[] = JSON.parse(String(init.body));
    const calls = "method" in sent ? [sent] : sent;
    const response = await platformFetch(url, init);
    const got: WireAnswer | readonly WireAnswer[] = await response.json();
    const changed = (answer: WireAnswer): unknown =>
      change(answer, calls.find(({ id }) => id === answer.id) ?? { method: "" });
    return Response.json("id" in got ? changed(got) : got.map(changed));
  };
}

/** Alters each answer of a bundle of contract reads; `undefined` for what is no such result. */
function alterReads(
  params: unknown,
  result: unknown,
  alter: (answer: unknown) => unknown,
): unknown {
  const reads = Array.isArray(params) ? readsOf(params[0]) : undefined;
  if (reads === undefined || !isHex(result)) return undefined;
  const answers = decodeBundleResult(result, reads.length)?.map((answer) => {
    const altered = answer === undefined ? undefined : alter(answer);
    return isHex(altered) ? altered : undefined;
  });
  return answers === undefined ? undefined : bundleResult(answers);
}

/** A node without these methods. */
export function fetchWithout(...methods: readonly string[]): Fetch {
  return alteringFetch((method, result) => methods.includes(method) ? REFUSED : result);
}

/** What a node says to a call instead of its answer. */
export type RefuseCall = (
  method: string,
  params: unknown,
) => { readonly code: number; readonly message: string } | undefined;

/** Passes everything on, and answers with an error what `refuse` refuses. */
export function alteringCalls(refuse: RefuseCall): Fetch {
  return changingFetch((answer, { method, params }) => {
    const error = refuse(method, params);
    return error === undefined ? answer : { jsonrpc: "2.0", id: answer.id, error };
  });
}
