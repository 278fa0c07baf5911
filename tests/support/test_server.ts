/** An HTTP server of a test on 127.0.0.1, with an end that can be relied on. Start reading at {@link serveLocally}. */

/** A server that listens. */
export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /**
   * Cuts open connections and resolves when nobody listens and nothing is answered any more. The runtime's own graceful
   * end now and then does not resolve although no connection is left.
   */
  stop(): Promise<void>;
}

/** How a server listens. */
export interface TestServerOptions {
  /** 0: one that is free. */
  readonly port?: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answer to a request whose handler failed. */
  readonly onError?: (error: unknown) => Response;
}

/** Starts a server. */
export function serveLocally(
  options: TestServerOptions,
  handle: (request: Request) => Response | Promise<Response>,
): TestServer {
  const cut = new AbortController();
  const running = new Set<Promise<Response>>();
  const server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: options.port ?? 0,
      signal: cut.signal,
      onListen: () => {},
      ...options.onError && { onError: options.onError },
      ...options.tls,
    },
    (request) => {
      const answer = Promise.resolve(handle(request));
      running.add(answer);
      void answer.catch(() => undefined).finally(() => running.delete(answer));
      return answer;
    },
  );
  const stop = async (): Promise<void> => {
    cut.abort();
    await server.finished;
    await Promise.allSettled(running);
  };
  return { port: server.addr.port, stop, [Symbol.asyncDispose]: stop };
}
