/**
 * A beacon node with a profile: a proxy for GET requests in front of a node of the devnet. Start reading at
 * {@link startProfiledBeacon}.
 */
import { serveLocally } from "../../tests/support/test_server.ts";
import type { NodeRefusal, Profile, RestBehaviour } from "./profile.ts";

/** A running proxy. */
export interface ProfiledBeacon extends AsyncDisposable {
  readonly profile: Profile<RestBehaviour>;
  /** `127.0.0.1:<port>`, as logs name it. */
  readonly host: string;
  readonly url: string;
  /** How often each behaviour has changed what a client got. */
  readonly strikes: ReadonlyMap<RestBehaviour["kind"], number>;
  stop(): Promise<void>;
}

/** A request as behaviours see it; what they change is what the node is asked. */
interface Asked {
  readonly path: string;
  accept: string;
}

/** @returns a refusal instead of the answer */
type Rule = (asked: Asked) => NodeRefusal | undefined | Promise<NodeRefusal | undefined>;

/** Starts a proxy with the behaviours of `profile` in front of the node at `upstream` (`http://...`). */
export function startProfiledBeacon(upstream: string, profile: Profile<RestBehaviour>): ProfiledBeacon {
  const strikes = new Map<RestBehaviour["kind"], number>(profile.behaviours.map(({ kind }) => [kind, 0]));
  const rules = profile.behaviours.map((behaviour) =>
    ruleOf(behaviour, () => strikes.set(behaviour.kind, (strikes.get(behaviour.kind) ?? 0) + 1))
  );
  const server = serveLocally({}, async (request) => {
    const { pathname, search } = new URL(request.url);
    const asked: Asked = { path: pathname, accept: request.headers.get("accept") ?? "*/*" };
    for (const rule of rules) {
      const refusal = await rule(asked);
      if (refusal !== undefined) return refused(refusal);
    }
    const response = await fetch(`${upstream.replace(/\/$/, "")}${pathname}${search}`, {
      headers: { accept: asked.accept },
      signal: request.signal,
    });
    return new Response(response.body, { status: response.status, headers: response.headers });
  });
  const host = `127.0.0.1:${server.port}`;
  const stop = (): Promise<void> => server.stop();
  return { profile, host, url: `http://${host}`, strikes, stop, [Symbol.asyncDispose]: stop };
}

function ruleOf(behaviour: RestBehaviour, strike: () => void): Rule {
  const matches = "routes" in behaviour ? matcher(behaviour.routes) : () => true;
  const refuses = (isMet: (path: string) => boolean, refusal: NodeRefusal): Rule => ({ path }) => {
    if (!matches(path) || !isMet(path)) return undefined;
    strike();
    return refusal;
  };
  switch (behaviour.kind) {
    case "absent":
      return refuses(() => true, behaviour.refusal);
    case "notByRoot":
      return refuses((path) => /\/0x[0-9a-f]{64}$/i.test(path), behaviour.refusal);
    case "hiccups": {
      let seen = 0;
      return refuses(() => ++seen % behaviour.every === 0, behaviour.refusal);
    }
    case "slow":
      return async ({ path }) => {
        if (!matches(path)) return undefined;
        strike();
        await new Promise((resolve) => setTimeout(resolve, behaviour.delayMs.played));
        return undefined;
      };
    case "jsonOnly":
      return (asked) => {
        if (!matches(asked.path) || !asked.accept.includes("octet-stream")) return undefined;
        strike();
        asked.accept = "application/json";
        return undefined;
      };
  }
}

function matcher(routes: readonly string[]): (path: string) => boolean {
  const patterns = routes.map((route) => {
    const text = route.split("*").map((part) => part.replaceAll(/[.?+^$()[\]{}|\\]/g, "\\$&")).join(".*");
    return new RegExp(`^${text}$`);
  });
  return (path) => patterns.some((pattern) => pattern.test(path));
}

function refused({ status, headers, page, error }: NodeRefusal): Response {
  const body = page ?? JSON.stringify(error);
  const type = body.startsWith("{") ? "application/json" : body.startsWith("<") ? "text/html" : "text/plain";
  return new Response(body, { status: status ?? 200, headers: { "content-type": type, ...headers } });
}
