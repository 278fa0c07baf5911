/** JSON-RPC bodies, read without checking them: a proxy passes on what it does not understand. */
import type { Answer, Call } from "./rpc_behaviour.ts";

/** The calls of a body; text that is none has no calls. */
export function readCalls(text: string): { readonly calls: readonly Call[]; readonly isBatch: boolean } {
  const parsed = parse(text);
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return { calls: list.flatMap(readCall), isBatch: Array.isArray(parsed) };
}

/** The text of answers. */
export function writeAnswers(answers: readonly Answer[], isBatch: boolean): string {
  const wire = answers.map((answer) => ({ jsonrpc: "2.0", ...answer }));
  return JSON.stringify(isBatch ? wire : wire[0]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function readCall(value: unknown): Call[] {
  if (typeof value !== "object" || value === null || !("method" in value)) return [];
  const params: readonly unknown[] = "params" in value && Array.isArray(value.params) ? value.params : [];
  return [{ id: "id" in value ? value.id : null, method: String(value.method), params }];
}
