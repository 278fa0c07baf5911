/**
 * What the programs serve over HTTP with `--listen`: `/` (page), `/status.json`, `/messages.json`, `/healthz`, `/readyz`,
 * `/metrics`. Everything is read-only, and nothing of a request is used but its method, path, query and host.
 */
import { type ExitCode, exitCodes } from "../../runtime/exit_codes.ts";
import type { Log } from "../log.ts";
import { EXPOSITION_TYPE } from "../metrics.ts";
import { isReady, type NotReadyReason } from "../readiness.ts";
import { type HandleRequest, ListenFault, platformListener } from "./http_listener.ts";
import { formatAddress, type ListenAddress } from "./listen_address.ts";

/** What is served. Each is called once per request and must be cheap: what is not keeps its value for a while. */
export interface StatusSources {
  /** Metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
  /** What is in the way; the program is ready when nothing of it stops the work. */
  readonly reasons: () => readonly NotReadyReason[];
  /** HTML of the status page. */
  readonly page: () => string;
  /** The status as JSON. */
  readonly statusJson: () => string;
  /** A page of messages as JSON; absent: the program has none. @throws {QueryFault} */
  readonly messagesJson?: ((query: URLSearchParams) => string) | undefined;
}

/** A query that is not answered; the message says what may be in it. */
export class QueryFault extends Error {
  override readonly name = "QueryFault";
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
    const { hostname, pathname, searchParams } = new URL(url);
    // In the host of a parsed URL only addresses have brackets, or nothing but digits and dots.
    if (!known.has(hostname) && !/^\[|^[\d.]+$/.test(hostname)) {
      return answer(421, TEXT, "This name is not served here: --listen-name allows it.\n");
    }
    if (method !== "GET" && method !== "HEAD") {
      return answer(405, TEXT, "Only GET and HEAD are answered.\n", { allow: "GET, HEAD" });
    }
    try {
      return await route(sources, pathname, searchParams);
    } catch (error) {
      if (error instanceof QueryFault) return answer(400, TEXT, `${error.message}\n`);
      onError(error);
      return answer(500, TEXT, "This cannot be answered now: the log has the reason.\n");
    }
  };
}

async function route(sources: StatusSources, path: string, query: URLSearchParams): Promise<Response> {
  if (path === "/messages.json" && sources.messagesJson !== undefined) {
    return answer(200, JSON_TYPE, sources.messagesJson(query));
  }
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
  const shown = reasons.map(({ code, isWarning = false, sinceMs, nextMs, ...reason }) => ({
    code,
    stops: !isWarning,
    ...reason,
    since: new Date(sinceMs).toISOString(),
    next: nextMs === undefined ? undefined : new Date(nextMs).toISOString(),
  }));
  const ready = isReady(reasons);
  return answer(ready ? 200 : 503, JSON_TYPE, `${JSON.stringify({ ready, reasons: shown }, null, 2)}\n`);
}

function answer(
  status: number,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers, "content-type": type } });
}

/** Style sheet, served as `/style.css`. */
const PAGE_STYLE = `:root {
  color-scheme: light dark;
  --back: #f6f7f9; --card: #fff; --text: #1c2128; --faint: #5c6673; --line: #dfe3e8;
  --good: #1a7f37; --warn: #9a6700; --bad: #c0262d; --mark: #0b63c5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1318; --card: #181d24; --text: #e4e8ee; --faint: #98a3b1; --line: #2b323c;
    --good: #4cc26a; --warn: #e0ab35; --bad: #ff7b72; --mark: #6cb2ff;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 75rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; -webkit-text-size-adjust: 100%;
}
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; margin-bottom: 1rem; }
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
header p, footer { color: var(--faint); margin: 0; font-size: .85rem; }
footer { margin-top: 1rem; }
a { color: var(--mark); }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem;
  margin-bottom: 1rem;
}
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.faint { color: var(--faint); }
.state { font-weight: 600; margin: 0 0 .25rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem 1.25rem .3rem 0; vertical-align: top; overflow-wrap: anywhere; }
thead th { color: var(--faint); font-weight: 500; font-size: .8rem; white-space: nowrap; }
tbody th { font-weight: inherit; }
th:last-child, td:last-child { padding-right: 0; }
tbody tr { border-top: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
td.short, th.short { white-space: nowrap; }
code { font: .85rem/1.4 ui-monospace, monospace; }
.facts { color: var(--faint); margin: 0 0 .25rem; display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
svg { display: block; } svg path { fill: none; stroke: var(--mark); stroke-width: 1.5; stroke-linecap: round; }
@media (max-width: 44rem) {
  body { padding: .5rem; }
  section { padding: .6rem .7rem; margin-bottom: .6rem; }
  table, tbody, tr { display: block; width: 100%; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { padding: .3rem 0; }
  tbody tr:first-child { border-top: 0; }
  td, td.number, tbody th { display: inline-block; max-width: 100%; padding: 0 .9rem 0 0; white-space: normal; }
  tbody th { font-weight: 600; }
  td::before { content: attr(data-name) " "; color: var(--faint); }
  code { font-size: .72rem; }
  td svg { width: 5rem; }
  td div, td svg { display: inline-block; vertical-align: middle; margin-right: .5rem; }
  td.empty { display: none; }
}
`;

/** Status server of a program. */
interface StatusServer {
  readonly log: Log;
  /** `--listen`; `undefined`: nothing is served. */
  readonly address: ListenAddress | undefined;
  /** `--listen-name`: names besides `localhost` under which other programs ask. */
  readonly names?: readonly string[] | undefined;
  readonly sources: StatusSources;
}

/** Serves while `work` runs; does not start it when the address cannot be had. */
export async function serveStatus(server: StatusServer, work: () => Promise<ExitCode>): Promise<ExitCode> {
  const { address, log, names, sources } = server;
  if (address === undefined) return await work();
  const handle = createStatusHandler(
    sources,
    (error) => log.error("status_server_failed.request_failed", { error }),
    names,
  );
  try {
    const onFault = (error: unknown): void =>
      log.warn("status_server_failed.connections_refused", { address: formatAddress(address), error });
    const listener = platformListener(address, handle, onFault);
    log.info("status_server_started", { address: formatAddress({ ...address, port: listener.port }) });
    try {
      return await work();
    } finally {
      await listener.close();
    }
  } catch (fault) {
    if (!(fault instanceof ListenFault)) throw fault;
    const fields = { address: formatAddress(address), explanation: fault.message };
    log.error("status_server_failed.address_unusable", fields);
    return exitCodes.failed;
  }
}
