/**
 * What is known of every endpoint from the requests that were made: whether it answers, since when, how fast, and how
 * far behind it is. For metrics and the status page; failover has its own memory in `endpoint_health.ts`.
 */
import type { Clock } from "../runtime/clock.ts";
import { formatDuration } from "../runtime/text_table.ts";
import { coloured, type Shown } from "../telemetry/status_sections.ts";
import type { MetricRegistry } from "../telemetry/metrics.ts";
import type { FoundReason } from "../telemetry/readiness.ts";
import type { RpcFaultCode } from "./call.ts";
import { classifyFault } from "./endpoint_health.ts";
import type { NamedHeights, ObservedRequest, RpcObserver } from "./observed_endpoint.ts";

/** An endpoint as its requests showed it. */
export interface EndpointReading {
  readonly chain: string;
  /** Host and port. */
  readonly host: string;
  /** True for a remote signer of our account on the chain; all others are nodes. */
  readonly isSigner: boolean;
  /** False when the last request failed for a fault of the endpoint. */
  readonly isUp: boolean;
  /** Time since which it is up or down, Unix milliseconds. */
  readonly sinceMs: number;
  /** Code of the latest fault of the endpoint itself; `undefined`: none so far. */
  readonly lastFault: RpcFaultCode | undefined;
  readonly lastFaultMs: number | undefined;
  /** Time of a request, smoothed over the last ones, milliseconds. */
  readonly latencyMs: number;
  readonly requests: number;
  /** Blocks behind the best endpoint of the chain; `undefined`: not both were asked recently. */
  readonly lagBlocks: number | undefined;
}

/** A height with the time at which an endpoint named it, Unix milliseconds. */
export interface HeightReading {
  readonly height: number;
  readonly readAtMs: number;
}

/** Newest blocks of a chain, as its endpoints named them; absent: none has named one yet. */
export interface ChainHeights {
  readonly head?: HeightReading;
  readonly final?: HeightReading;
}

/** A height that an endpoint named. */
interface Named {
  readonly height: bigint;
  readonly atMs: number;
}

interface Known {
  readonly chain: string;
  readonly host: string;
  readonly isSigner: boolean;
  isUp: boolean;
  sinceMs: number;
  lastFault: RpcFaultCode | undefined;
  lastFaultMs: number | undefined;
  latencyMs: number;
  requests: number;
  lastRequestMs: number;
  head: Named | undefined;
  final: Named | undefined;
}

/** Time for which a height can be compared with those of other endpoints. */
const HEAD_TTL_MS = 60_000;

/** Time without a request after which an endpoint counts as removed: the checks ask each one every ten minutes. */
const FORGOTTEN_MS = 2 * 3_600_000;

/** Weight of the latest request in the smoothed time. */
const LATENCY_WEIGHT = 0.1;

/** Remembers every endpoint, and counts its requests. */
export class EndpointBoard implements RpcObserver {
  readonly #clock: Pick<Clock, "now">;
  readonly #registry: MetricRegistry;
  readonly #known = new Map<string, Known>();
  /** Requests without an answer yet. */
  readonly #open = new Set<{ readonly chain: string; readonly host: string }>();

  constructor(deps: { readonly clock: Pick<Clock, "now">; readonly registry: MetricRegistry }) {
    this.#clock = deps.clock;
    this.#registry = deps.registry;
  }

  noteAsked(chain: string, endpointHost: string): () => void {
    const request = { chain, host: endpointHost };
    this.#open.add(request);
    return () => void this.#open.delete(request);
  }

  /** Hosts of a chain that owe an answer now. */
  listAsked(chain: string): readonly string[] {
    return [...new Set([...this.#open].filter((each) => each.chain === chain).map(({ host }) => host))];
  }

  noteRequest({ chain, endpointHost, role, calls, tookMs, head, final }: ObservedRequest): void {
    const nowMs = this.#clock.now();
    const place = { chain, endpoint: endpointHost };
    for (const { method, outcome } of calls) {
      this.#registry.add("causeway_rpc_requests_total", { ...place, method, outcome });
    }
    this.#registry.observe("causeway_rpc_request_seconds", place, tookMs / 1_000);
    const isSigner = role === "signer";
    const known = this.#find({ chain, host: endpointHost, isSigner }, nowMs);
    known.requests++;
    known.lastRequestMs = nowMs;
    known.latencyMs = known.requests === 1
      ? tookMs
      : known.latencyMs + LATENCY_WEIGHT * (tookMs - known.latencyMs);
    const fault = calls.map(({ outcome }) => outcome)
      // Whatever keeps a signer from signing stops its account.
      .find((outcome) => outcome !== "ok" && (isSigner || classifyFault(outcome) === "endpoint"));
    if (fault !== undefined && fault !== "ok") {
      known.lastFault = fault;
      known.lastFaultMs = nowMs;
    }
    const isUp = fault === undefined;
    if (known.isUp !== isUp) {
      known.isUp = isUp;
      known.sinceMs = nowMs;
    }
    noteNamed(known, { head, final }, nowMs);
  }

  /** Takes heights that an endpoint announced; one that was never asked anything is not listed. */
  noteHeights(chain: string, endpointHost: string, heights: NamedHeights): void {
    const known = this.#known.get(keyOf({ chain, host: endpointHost, isSigner: false }));
    if (known !== undefined) noteNamed(known, heights, this.#clock.now());
  }

  /** Endpoints in the order in which they were first used. */
  list(): readonly EndpointReading[] {
    const nowMs = this.#clock.now();
    for (const [key, { lastRequestMs }] of this.#known) {
      if (nowMs - lastRequestMs > FORGOTTEN_MS) this.#known.delete(key);
    }
    const all = [...this.#known.values()];
    const fresh = all.map(({ chain, head }) => ({ chain, head: isFresh(head, nowMs) ? head : undefined }));
    const best = new Map(
      [...Map.groupBy(fresh, ({ chain }) => chain)].map(([chain, rows]) => [
        chain,
        findNewest(rows.map(({ head }) => head)),
      ]),
    );
    return all.map(({ head, final: _final, lastRequestMs: _lastRequestMs, ...known }) => {
      const highest = best.get(known.chain);
      const lag = isFresh(head, nowMs) && highest !== undefined
        ? Number(highest.height - head.height)
        : undefined;
      return { ...known, latencyMs: Math.round(known.latencyMs), lagBlocks: lag };
    });
  }

  /** Newest heights of a chain: an endpoint that is behind the others, or was asked long before them, is outvoted. */
  heights(chain: string): ChainHeights {
    const rows = [...this.#known.values()].filter((known) => known.chain === chain);
    const head = findNewest(rows.map((known) => known.head));
    const final = findNewest(rows.map((known) => known.final));
    return { ...head && { head: toReading(head) }, ...final && { final: toReading(final) } };
  }

  /** Writes the gauges of {@link list} and {@link heights}. */
  collect(): void {
    this.#registry.clear("causeway_endpoint_up");
    this.#registry.clear("causeway_endpoint_lag_blocks");
    this.#registry.clear("causeway_signer_up");
    for (const { chain, host, isSigner, isUp, lagBlocks } of this.list()) {
      const place = { chain, endpoint: host };
      this.#registry.set(isSigner ? "causeway_signer_up" : "causeway_endpoint_up", place, isUp ? 1 : 0);
      if (lagBlocks !== undefined) this.#registry.set("causeway_endpoint_lag_blocks", place, lagBlocks);
    }
    for (const chain of new Set([...this.#known.values()].map((known) => known.chain))) {
      const { head, final } = this.heights(chain);
      if (head !== undefined) this.#registry.set("causeway_chain_head_height", { chain }, head.height);
      if (final !== undefined) this.#registry.set("causeway_chain_final_height", { chain }, final.height);
    }
  }

  #find(place: Pick<Known, "chain" | "host" | "isSigner">, nowMs: number): Known {
    const key = keyOf(place);
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    const made: Known = {
      ...place,
      isUp: true,
      sinceMs: nowMs,
      lastFault: undefined,
      lastFaultMs: undefined,
      latencyMs: 0,
      requests: 0,
      lastRequestMs: nowMs,
      head: undefined,
      final: undefined,
    };
    this.#known.set(key, made);
    return made;
  }
}

/** A Web3Signer passes other requests on, so a host may be a signer and an endpoint, too. */
function keyOf({ chain, host, isSigner }: Pick<Known, "chain" | "host" | "isSigner">): string {
  return `${chain} ${host} ${isSigner}`;
}

function noteNamed(known: Known, { head, final }: NamedHeights, nowMs: number): void {
  if (head !== undefined) known.head = { height: head, atMs: nowMs };
  if (final !== undefined) known.final = { height: final, atMs: nowMs };
}

function isFresh(named: Named | undefined, nowMs: number): named is Named {
  return named !== undefined && nowMs - named.atMs <= HEAD_TTL_MS;
}

/** The highest of those that were named together with the latest one. */
function findNewest(all: readonly (Named | undefined)[]): Named | undefined {
  const named = all.filter((each) => each !== undefined);
  const latestMs = Math.max(...named.map(({ atMs }) => atMs));
  return named.filter((each) => isFresh(each, latestMs))
    .reduce<Named | undefined>(
      (best, each) => best === undefined || each.height > best.height ? each : best,
      undefined,
    );
}

function toReading({ height, atMs }: Named): HeightReading {
  return { height: Number(height), readAtMs: atMs };
}

/** State of an endpoint. */
function renderEndpointState(
  { isUp, sinceMs, lastFault }: Pick<EndpointReading, "isUp" | "sinceMs" | "lastFault">,
  nowMs: number,
): Shown {
  return isUp
    ? coloured("good", "up")
    : coloured("bad", `${lastFault ?? "down"} for ${formatDuration(nowMs - sinceMs)}`);
}

/** An endpoint with its state, what it is behind, and how fast it answers. */
export function showEndpoint(endpoint: Omit<EndpointReading, "chain">, nowMs: number): Shown {
  const { host, isSigner, latencyMs, lagBlocks = 0 } = endpoint;
  const { text, colour } = renderEndpointState(endpoint, nowMs);
  const note = `${latencyMs} ms${lagBlocks === 0 ? "" : `, ${lagBlocks} blocks behind`}`;
  return { text: `${host}${isSigner ? " (signer)" : ""}: ${text}`, ...colour && { colour }, note };
}

/** A reading of one chain's endpoint or signer. */
type ChainReading = Pick<EndpointReading, "host" | "isSigner" | "isUp" | "sinceMs" | "lastFault">;

/** Reasons of one chain: none of its endpoints answers, or a remote signer does not sign. */
export function findEndpointReasons(
  chain: string,
  readings: readonly ChainReading[],
): readonly FoundReason[] {
  const place = { chain, leg: undefined };
  const endpoints = readings.filter(({ isSigner }) => !isSigner);
  const reasons: FoundReason[] = [];
  if (endpoints.length > 0 && endpoints.every(({ isUp }) => !isUp)) {
    const said = endpoints.map(({ host, lastFault }) => `${host} (${lastFault ?? "no answer"})`).join(", ");
    reasons.push({
      ...place,
      code: "no_endpoint",
      explanation: `No endpoint of the chain answers: ${said}.`,
      help: "Check the nodes, or add another endpoint to the configuration.",
      sinceMs: Math.max(...endpoints.map(({ sinceMs }) => sinceMs)),
    });
  }
  for (const { host, lastFault, sinceMs } of readings.filter(({ isSigner, isUp }) => isSigner && !isUp)) {
    reasons.push({
      ...place,
      code: "signer_unavailable",
      explanation: lastFault === "wrong_signature"
        ? `The remote signer ${host} signs something else than it is asked to: nothing is sent.`
        : `The remote signer ${host} gives no signatures (${lastFault ?? "no answer"}): nothing is sent.`,
      help: "Look at its last warning, or run the command check: it says what to do.",
      sinceMs,
    });
  }
  return reasons;
}
