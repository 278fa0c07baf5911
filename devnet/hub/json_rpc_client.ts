/**
 * A small JSON-RPC client that keeps every digit and hides nothing: tests look at codes and raw answers.
 */
import { parseRequestJson, stringifyJson } from "./rpc/json_rpc.ts";

/** Error object of an answer. */
export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

/** An answer: one of the two. */
export type JsonRpcAnswer =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: RpcErrorBody };

/** One call over HTTP. */
export async function callHttp(
  url: string,
  method: string,
  params: readonly unknown[] = [],
  signal?: AbortSignal,
): Promise<JsonRpcAnswer> {
  return readAnswer(await postHttp(url, { jsonrpc: "2.0", id: 1, method, params }, signal));
}

/** The result of a call over HTTP. @throws {Error} when the answer is an error. */
export async function resultHttp(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<unknown> {
  const answer = await callHttp(url, method, params);
  if (answer.kind === "result") return answer.result;
  throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`);
}

/** Posts any JSON and returns the parsed answer. */
export async function postHttp(url: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: stringifyJson(body),
    ...signal && { signal },
  });
  return parseRequestJson(await response.text());
}

function readAnswer(json: unknown): JsonRpcAnswer {
  if (typeof json !== "object" || json === null) throw new Error("The answer is no object");
  if ("result" in json) return { kind: "result", result: json.result };
  if (!("error" in json) || typeof json.error !== "object" || json.error === null) {
    throw new Error("The answer has neither result nor error");
  }
  const { code, message, data } = { code: 0, message: "", data: undefined, ...json.error };
  return { kind: "error", error: { code: Number(code), message: String(message), data } };
}
