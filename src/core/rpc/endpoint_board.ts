/**
 * Every endpoint for metrics, readiness and the status page: its state, which it reads at the endpoint itself, and what its
 * requests tell beside that.
 */
import type { Clock } from "../runtime/clock.ts";
import { formatDuration } from "../runtime/text_table.ts";
import { coloured, type Shown } from "../telemetry/status_sections.ts";
import type { MetricRegistry } from "../telemetry/metrics.ts";
import type { FoundReason } from "../telemetry/readiness.ts";
import { isOfEndpoint, type RpcFaultCode } from "./call.ts";
import type { EndpointState, NamedHeights, ObservedRequest, RpcObserver } from "./observed_endpoint.ts";

/** An endpoint as its requests showed it. */
export interface EndpointReading {
  readonly chain: string;
  /** Host and port. */
  readonly host: string;
  /** True for a remote signer of our account on the chain; all others are nodes. */
  readonly isSigner: boolean;
  /** Code of the latest fault of the endpoint itself; absent: none so far. */
  readonly lastFault?: RpcFaultCode | undefined;
  /** Time of a request, smoothed over the last ones, milliseconds. */
  readonly latencyMs: number;
  readonly requests: number;
  /** State of the endpoint; of signers and of endpoints that belong to no set by their last request: ready or down. */
  readonly state: EndpointState;
  /** True when it is ready or behind. */
  readonly isUp: boolean;
  /** Time since which it is in its state, Unix milliseconds. */
  readonly sinceMs: number;
  /** Blocks behind another endpoint of its set; absent: it is not behind. */
  readonly lagBlocks?: number | undefined;
}

/** A height with the time at which an endpoint named it, Unix milliseconds. */
export interface HeightReading {
  readonly height: number;
  readonly readAtMs: number;
}

/** Newest blocks of a chain, as its endpoints named them; absent: none has named one yet. */
export interface ChainHeights {
  readonly head?: HeightReading | undefined;
  readonly final?: HeightReading | undefined;
}

/** What is known of an endpoint. */
interface Known extends Pick<EndpointReading, "chain" | "host" | "isSigner"> {
  lastFault: RpcFaultCode | undefined;
  latencyMs: number;
  requests: number;
  /** State of the endpoint at the set that used it last; of one that belongs to none, by its last request. */
  readState: () => EndpointState;
  lastRequestMs: number;
  head: HeightReading | undefined;
  final: HeightReading | undefined;
}

/** Time for which a height can be compared with those of other endpoints. */
const HEAD_TTL_MS = 60_000;

/** Time without a request after which an endpoint counts as removed: the checks ask each one every ten minutes. */
const FORGOTTEN_MS = 2 * 3_600_000;

/** Weight of the latest request in the smoothed time. */
const LATENCY_WEIGHT = 0.1;

/** Remembers every endpoint, and counts its requests. */
export class EndpointBoard implements RpcObserver {
  readonly #known = new Map<string, Known>();

  constructor(readonly deps: { readonly clock: Pick<Clock, "now">; readonly registry: MetricRegistry }) {}

  noteRequest({ chain, endpointHost, role, calls, tookMs, head, final, readState }: ObservedRequest): void {
    const nowMs = this.deps.clock.now();
    const place = { chain, endpoint: endpointHost };
    for (const { method, outcome } of calls) {
      this.deps.registry.add("causeway_rpc_requests_total", { ...place, method, outcome });
    }
    this.deps.registry.observe("causeway_rpc_request_seconds", place, tookMs / 1_000);
    const isSigner = role === "signer";
    const known = this.#find({ chain, host: endpointHost, isSigner }, nowMs);
    known.requests++;
    known.lastRequestMs = nowMs;
    known.latencyMs = known.requests === 1
      ? tookMs
      : known.latencyMs + LATENCY_WEIGHT * (tookMs - known.latencyMs);
    const faults = calls.flatMap(({ outcome }) => outcome === "ok" ? [] : [outcome]);
    // Whatever keeps a signer from signing stops its account.
    const fault = faults.find((code) => isSigner || isOfEndpoint(code));
    known.lastFault = fault ?? known.lastFault;
    known.readState = readState ?? keepState(known.readState(), fault, nowMs);
    noteNamed(known, { head, final }, nowMs);
  }

  /** Forgets every endpoint: those of another configuration may follow. */
  clear(): void {
    this.#known.clear();
  }

  /** Endpoints in the order in which they were first used. */
  list(): readonly EndpointReading[] {
    const nowMs = this.deps.clock.now();
    for (const [key, { lastRequestMs }] of this.#known) {
      if (nowMs - lastRequestMs > FORGOTTEN_MS) this.#known.delete(key);
    }
    return [...this.#known.values()].map(
      ({ readState, head: _, final: __, lastRequestMs: ___, ...known }) => {
        const state = readState();
        return {
          ...known,
          state,
          isUp: state.kind === "ready" || state.kind === "behind",
          sinceMs: state.sinceMs,
          latencyMs: Math.round(known.latencyMs),
          lagBlocks: state.kind === "behind" ? Math.max(0, state.blocks) : undefined,
        };
      },
    );
  }

  /** Newest heights of a chain: an endpoint that is behind the others, or was asked long before them, is outvoted. */
  heights(chain: string): ChainHeights {
    const rows = [...this.#known.values()].filter((known) => known.chain === chain);
    const head = findNewest(rows.map((known) => known.head));
    const final = findNewest(rows.map((known) => known.final));
    return { ...head && { head }, ...final && { final } };
  }

  #find(place: Pick<Known, "chain" | "host" | "isSigner">, nowMs: number): Known {
    const key = keyOf(place);
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    const made: Known = {
      ...place,
      readState: keepState(undefined, undefined, nowMs),
      lastFault: undefined,
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

function noteNamed(known: Known, { head, final }: NamedHeights, readAtMs: number): void {
  if (head !== undefined) known.head = { height: Number(head), readAtMs };
  if (final !== undefined) known.final = { height: Number(final), readAtMs };
}

/** The highest of those that were named together with the latest one. */
function findNewest(all: readonly (HeightReading | undefined)[]): HeightReading | undefined {
  const named = all.filter((each) => each !== undefined);
  const latestMs = Math.max(...named.map(({ readAtMs }) => readAtMs));
  const [newest] = named.filter(({ readAtMs }) => latestMs - readAtMs <= HEAD_TTL_MS)
    .sort((a, b) => b.height - a.height);
  return newest;
}

/** State of an endpoint that belongs to no set: down with the fault of its last request, or ready. */
function keepState(
  before: EndpointState | undefined,
  fault: RpcFaultCode | undefined,
  nowMs: number,
): () => EndpointState {
  const kind = fault === undefined ? "ready" : "down";
  const common = { sinceMs: before?.kind === kind ? before.sinceMs : nowMs, lacking: [] };
  const state: EndpointState = fault === undefined
    ? { ...common, kind: "ready" }
    : { ...common, kind: "down", code: fault };
  return () => state;
}

/** State of an endpoint. */
function renderEndpointState({ state }: Pick<EndpointReading, "state">, nowMs: number): Shown {
  const age = formatDuration(nowMs - state.sinceMs);
  switch (state.kind) {
    case "ready":
      return state.lacking.length === 0
        ? coloured("good", "up")
        : coloured("warn", `up, without ${state.lacking.join(", ")}`);
    case "behind":
      return coloured("warn", `behind by ${formatDuration(state.seconds * 1_000)}`);
    case "down":
      return coloured("bad", `${state.code} for ${age}`);
    default:
      return coloured("bad", `${state.kind} for ${age}`);
  }
}

/** An endpoint with its state, what it is behind, and how fast it answers. */
export function showEndpoint(endpoint: Omit<EndpointReading, "chain">, nowMs: number): Shown {
  const { host, isSigner, latencyMs, lagBlocks = 0 } = endpoint;
  const { text, colour } = renderEndpointState(endpoint, nowMs);
  const note = `${latencyMs} ms${lagBlocks === 0 ? "" : `, ${lagBlocks} blocks behind`}`;
  return { text: `${host}${isSigner ? " (signer)" : ""}: ${text}`, ...colour && { colour }, note };
}

/** A reading of one chain's endpoint or signer. */
type ChainReading = Pick<EndpointReading, "host" | "isSigner" | "isUp" | "sinceMs" | "lastFault" | "state">;

/**
 * Reasons of one chain: none of its endpoints answers, or a remote signer does not sign; and, as warnings, endpoints that
 * are behind or refused while others work.
 */
export function findEndpointReasons(
  chain: string,
  readings: readonly ChainReading[],
): readonly FoundReason[] {
  const place = { chain, leg: undefined };
  const endpoints = readings.filter(({ isSigner }) => !isSigner);
  const reasons: FoundReason[] = [];
  if (endpoints.length > 0 && endpoints.every(({ isUp }) => !isUp)) {
    const said = endpoints.map(({ host, state }) => `${host} (${nameOf(state)})`).join(", ");
    const isDenied = endpoints.some(({ state }) => state.kind === "unauthorized");
    reasons.push({
      ...place,
      code: "no_endpoint",
      explanation: `No endpoint of the chain answers: ${said}.`,
      help: isDenied
        ? "Check the key in the URL and the plan, or add another endpoint to the configuration."
        : "Check the nodes, or add another endpoint to the configuration.",
      sinceMs: Math.max(...endpoints.map(({ sinceMs }) => sinceMs)),
    });
  } else reasons.push(...endpoints.flatMap((each) => warnOf(chain, each)));
  for (const { host, lastFault, sinceMs } of readings.filter(({ isSigner, isUp }) => isSigner && !isUp)) {
    reasons.push({
      ...place,
      code: "signer_unavailable",
      explanation: lastFault === "wrong_signature"
        ? `The remote signer ${host} signs something else than it is asked to: nothing is sent.`
        : `The remote signer ${host} gives no signatures (${lastFault ?? "no answer"}): nothing is sent.`,
      help: "Read its last warning, or run the command check, which advises.",
      sinceMs,
    });
  }
  return reasons;
}

/** What is wrong with an endpoint that is not used though others work, and its cure; none of one that will be soon. */
const unused: Readonly<Partial<Record<EndpointState["kind"], readonly [what: string, help: string]>>> = {
  unauthorized: ["refuses everything: it is not used", "Check the key in the URL and the plan."],
  wrong_chain: ["serves another chain: it is not used", "Correct or remove its URL."],
};

/** Warning of an endpoint that is not used as configured though others work. */
function warnOf(chain: string, { host, state }: ChainReading): readonly FoundReason[] {
  const { kind, sinceMs } = state;
  const [what, help] = state.kind !== "behind" ? unused[kind] ?? [] : [
    `is ${state.blocks} blocks and ${Math.round(state.seconds)} s behind another one: it is used last`,
    "See to the node's peers, disk and load, or replace it.",
  ];
  if (what === undefined || help === undefined) return [];
  const explanation = `The endpoint ${host} ${what}.`;
  return [{ chain, leg: undefined, code: `endpoint_${kind}`, explanation, help, isWarning: true, sinceMs }];
}

function nameOf(state: EndpointState): string {
  return state.kind === "down" ? state.code : state.kind;
}
