/** A place where releases are published: `<url>/<program>-<tag>/<file>`, on this machine, with or without TLS. */
import { serveLocally } from "../../support/test_server.ts";

/** What the server gives for a path: bytes, or any response. */
export type Published = Uint8Array<ArrayBuffer> | (() => Response | Promise<Response>);

/** A running server. */
export interface ReleaseServer extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
  /** Paths that were asked for, in order, with a leading slash. */
  readonly requests: readonly string[];
  /** By path, with a leading slash; may be changed while it runs. */
  readonly files: Map<string, Published>;
}

/** Starts it on a free port. */
export function startReleaseServer(tls?: { readonly cert: string; readonly key: string }): ReleaseServer {
  const files = new Map<string, Published>();
  const requests: string[] = [];
  const server = serveLocally(
    tls === undefined ? {} : { tls },
    async (request) => {
      const { pathname } = new URL(request.url);
      requests.push(pathname);
      const found = files.get(pathname);
      if (found === undefined) return new Response("not found", { status: 404 });
      return typeof found === "function" ? await found() : new Response(found);
    },
  );
  const scheme = tls === undefined ? "http://127.0.0.1" : "https://localhost";
  return {
    url: `${scheme}:${server.port}`,
    requests,
    files,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await server.stop();
    },
  };
}
