/** The relayer that is measured, and proxies in front of every endpoint that count what it asks. */
import {
  type ConfigChanges,
  type DevnetEndpoints,
  relayerConfig,
} from "../../devnet/programs/relayer_config.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import { type ProxiedRequest, type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import type { BenchDeps } from "./part.ts";
import { sumOf } from "./report.ts";

/** What an endpoint was asked, as providers bill it: a batch of a hundred is a hundred calls. */
export interface Traffic {
  /** HTTP requests and messages over sockets. */
  readonly requests: number;
  readonly calls: number;
  /** Bodies of calls, and of the answers that were kept. */
  readonly bytes: number;
}

/** Counts some requests. */
export function trafficOf(requests: readonly ProxiedRequest[]): Traffic {
  return {
    requests: requests.length,
    calls: sumOf(requests, ({ calls }) => calls.length),
    bytes: sumOf(requests, ({ calls, answer = "" }) => JSON.stringify(calls).length + answer.length),
  };
}

/** Lines for people: how often each method was called. */
export function linesOf(name: string, requests: readonly ProxiedRequest[]): readonly string[] {
  const calls = requests.flatMap((request) => request.calls);
  const lines = [...Map.groupBy(calls, ({ method }) => method)]
    .sort(([, some], [, others]) => others.length - some.length)
    .map(([method, some]) => `   ${`${some.length}`.padStart(5)}  ${method}`);
  return [` -- ${name}: ${requests.length} requests, ${calls.length} calls`, ...lines];
}

/** Proxies of one run. */
export interface Proxies {
  readonly hub: RpcProxy;
  /** By state machine, one for each URL. */
  readonly chains: ReadonlyMap<string, readonly RpcProxy[]>;
  /** What has a relayer use them. */
  readonly changes: ConfigChanges;
  /** Requests to a chain since the last {@link clear}. */
  requestsOf(stateMachine: string): readonly ProxiedRequest[];
  /** Forgets all requests so far. */
  clear(): void;
}

/** How proxies are opened. */
interface ProxyPlan {
  /** In front of each chain. Default 1. */
  readonly urls?: number;
  /** Chains whose answers are kept, as those of the hub then are. Default none. */
  readonly keepsAnswersOf?: readonly string[];
}

/** Opens proxies in front of every chain and the hub. */
export async function openProxies(
  { hub, chains }: DevnetEndpoints,
  { urls = 1, keepsAnswersOf = [] }: ProxyPlan,
  stack: AsyncDisposableStack,
): Promise<Proxies> {
  const open = async (upstream: string, keepsAnswers: boolean): Promise<RpcProxy> =>
    stack.use(await startRpcProxy({ upstream, keepsAnswers }));
  const ofHub = await open(hub.wsUrl.replace(/^ws/, "http"), keepsAnswersOf.length > 0);
  const ofChains = new Map<string, readonly RpcProxy[]>();
  for (const { stateMachine, rpcUrl } of chains) {
    const opened = Array.from({ length: urls }, () => open(rpcUrl, keepsAnswersOf.includes(stateMachine)));
    ofChains.set(stateMachine, await Promise.all(opened));
  }
  const urlsOf = [...ofChains].map(([chain, some]) => [chain, some.map(({ httpUrl }) => httpUrl)]);
  return {
    hub: ofHub,
    chains: ofChains,
    changes: { hubUrl: ofHub.wsUrl, rpcUrls: Object.fromEntries(urlsOf) },
    requestsOf: (chain) => (ofChains.get(chain) ?? []).flatMap(({ requests }) => requests),
    clear: () => [ofHub, ...[...ofChains.values()].flat()].forEach((proxy) => proxy.clear()),
  };
}

/** A relayer that is to be measured. */
interface SubjectPlan {
  /** Of its files, below that of the part. Default "relayer". */
  readonly folder?: string;
  readonly changes: ConfigChanges;
  /** Legs that it has. */
  readonly legs: number;
}

/** Starts a messaging relayer and waits until all of its legs have started. */
export async function startSubject(
  deps: BenchDeps,
  endpoints: DevnetEndpoints,
  { folder = "relayer", changes, legs }: SubjectPlan,
): Promise<RelayerProcess> {
  await using stack = new AsyncDisposableStack();
  const relayer = stack.use(
    await startRelayer({
      executable: deps.executable,
      folder: `${deps.folder}/${folder}`,
      config: relayerConfig(endpoints, changes),
      logLevel: "info",
    }),
  );
  const started = new Set<unknown>();
  await relayer.waitForLine(({ record }) => {
    if (record?.event === "leg_started") started.add(record.leg);
    return started.size >= legs;
  });
  stack.move();
  return relayer;
}
