/**
 * A node with very many events in one block, in a worker of its own: what it does stalls nobody else. It gets its
 * answers as text and posts its address.
 */

import { isMainThread, parentPort, workerData } from "node:worker_threads";

/** What the node answers: the JSON of a method's result, or of the result by the call's last parameter. */
export interface NodeScript {
  readonly results: Readonly<Record<string, string>>;
  readonly byLast: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

function serve(script: NodeScript): void {
  const answerOne = ({ id, method, params }: Call): string => {
    const result = script.byLast[method]?.[`${params.at(-1)}`] ?? script.results[method];
    return result === undefined
      ? `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`
      : `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  };
  const answer = (text: string): string => {
    const asked: Call | readonly Call[] = JSON.parse(text);
    return Array.isArray(asked) ? `[${asked.map(answerOne).join(",")}]` : answerOne(asked as Call);
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    async (request) =>
      new Response(answer(await request.text()), { headers: { "content-type": "application/json" } }),
  );
  parentPort?.postMessage(`127.0.0.1:${server.addr.port}`);
}

if (!isMainThread) serve(workerData);
