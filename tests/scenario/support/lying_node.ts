/** A JSON-RPC node that does not say what is: a proxy that alters the answers of a real one. */
import { type AlterAnswer, alteringFetch } from "../../support/altered_answers.ts";
import { serveLocally } from "../../support/test_server.ts";

/** A running node. */
export interface LyingNode extends AsyncDisposable {
  /** `127.0.0.1:<port>`, as logs name it. */
  readonly host: string;
  /** `http://127.0.0.1:<port>`. */
  readonly httpUrl: string;
  /** What it does from now on; `undefined`: it is honest. */
  change(alter: AlterAnswer | undefined): void;
  stop(): Promise<void>;
}

/** Starts a node in front of the one at `upstream`. */
export function startLyingNode(upstream: string): LyingNode {
  let alter: AlterAnswer | undefined;
  const ask = alteringFetch((method, result) => alter === undefined ? result : alter(method, result));
  const server = serveLocally({}, async (request) => {
    const headers = { "content-type": "application/json" };
    return await ask(upstream, { method: "POST", headers, body: await request.text() });
  });
  const host = `127.0.0.1:${server.port}`;
  const stop = (): Promise<void> => server.stop();
  return {
    host,
    httpUrl: `http://${host}`,
    change: (next) => {
      alter = next;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
