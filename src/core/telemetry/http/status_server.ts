/**
 * What the programs serve over HTTP with `--listen`: `/` (page), `/status.json`, `/healthz`, `/readyz`, `/metrics`.
 * Everything is read-only, and nothing of a request is used but its method, path and host.
 */
import { EXPOSITION_TYPE } from "../metric_registry.ts";
import type { NotReadyReason } from "../readiness.ts";
import type { HandleRequest } from "./http_listener.ts";
import { PAGE_STYLE } from "./page_style.ts";

/** What is served. Each is called once per request and must be cheap: what is not keeps its value for a while. */
export interface StatusSources {
  /** Metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
  /** Reasons for which the program is not ready; none: it is. */
  readonly reasons: () => readonly NotReadyReason[];
  /** HTML of the status page. */
  readonly page: () => string;
  /** The status as JSON. */
  readonly statusJson: () => string;
}

const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json";

/**
 * Nothing is loaded but our own style, nothing runs, nothing may frame the page.
 */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/**
 * Creates the handler of requests. Those to other hosts than `localhost`, addresses and `names` are refused: a foreign
 * page whose name leads to this machine (DNS rebinding) could read what is served.
 * @param onError gets what a source threw: the answer is 500 without details.
 */
export function createStatusHandler(
  sources: StatusSources,
  onError: (error: unknown) => void,
  names: readonly string[] = [],
): HandleRequest {
  const known = new Set(["localhost", ...names.map((name) => name.toLowerCase())]);
  return async ({ method, url }) => {
    const { hostname, pathname } = new URL(url);
    // In the host of a parsed URL only addresses have brackets, or nothing but digits and dots.
    if (!known.has(hostname) && !/^\[|^[\d.]+$/.test(hostname)) {
      return answer(421, TEXT, "This name is not served here: --listen-name allows it.\n");
    }
    if (method !== "GET" && method !== "HEAD") {
      return answer(405, TEXT, "Only GET and HEAD are answered.\n", { allow: "GET, HEAD" });
    }
    try {
      return await route(sources, pathname);
    } catch (error) {
      onError(error);
      return answer(500, TEXT, "This cannot be answered now: the log says why.\n");
    }
  };
}

async function route(sources: StatusSources, path: string): Promise<Response> {
  switch (path) {
    case "/healthz":
      return answer(200, TEXT, "ok\n");
    case "/readyz":
      return answerReadiness(sources.reasons());
    case "/metrics":
      return answer(200, EXPOSITION_TYPE, await sources.metrics());
    case "/status.json":
      return answer(200, JSON_TYPE, sources.statusJson());
    case "/":
      return answer(200, "text/html; charset=utf-8", sources.page());
    case "/style.css":
      return answer(200, "text/css; charset=utf-8", PAGE_STYLE);
    default:
      return answer(404, TEXT, "There are /, /status.json, /healthz, /readyz and /metrics.\n");
  }
}

function answerReadiness(reasons: readonly NotReadyReason[]): Response {
  const shown = reasons.map(({ code, chain, leg, sinceMs, explanation, help }) => ({
    code,
    chain,
    leg,
    since: new Date(sinceMs).toISOString(),
    explanation,
    help,
  }));
  const isReady = reasons.length === 0;
  return answer(
    isReady ? 200 : 503,
    JSON_TYPE,
    `${JSON.stringify({ ready: isReady, reasons: shown }, null, 2)}\n`,
  );
}

function answer(
  status: number,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers, "content-type": type } });
}
