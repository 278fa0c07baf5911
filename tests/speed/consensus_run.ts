/**
 * One run of the compiled consensus relayer for one chain, seen by proxies in front of every endpoint: what it reads,
 * asks, computes and holds per accepted update.
 */
import { waitUntil } from "../../devnet/traffic/messages.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import type { SimulatedBeaconNode } from "../../devnet/beacon/beacon.ts";
import { startConsensusRelayer } from "../../devnet/programs/consensus_relayer.ts";
import { type SectionChanges, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { type RelayerLine, type RelayerProcess } from "../scenario/support/relayer_process.ts";
import { type ProxiedRequest, type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { readCpuMs, readMemoryMb } from "./process_usage.ts";
import { sumOf } from "./report.ts";

/** What one run is about. */
export interface ConsensusCase {
  readonly name: string;
  readonly chain: DevnetChain;
  /** URL of the L1 or of the chain itself that execution nodes are asked at, by the key that names it. */
  readonly urls: Readonly<Record<"rpc_urls" | "beacon_rpc_url", string | undefined>>;
  /** Of beacon chains. */
  readonly beacon?: SimulatedBeaconNode;
  /** What the line of an accepted update must tell, where there are several ways. */
  readonly summary?: string;
}

/** What one update cost; looks that found nothing are in it. */
interface UpdateCost {
  /** Bodies of the answers of beacon and execution nodes. */
  readonly bytes: number;
  readonly requests: number;
  /** Of the hub, over its socket. */
  readonly hubBytes: number;
  readonly cpuMs: number;
}

/** What a run cost. */
export interface RunCost {
  /** On average of each round. */
  readonly updates: readonly UpdateCost[];
  /** Highest resident memory of the whole run above that at the start of the work, MiB. */
  readonly extraMb: number;
}

/** Updates before the counted ones: compiling and caches are theirs. */
const WARM_UP = 2;
/** Rounds that count, with so many updates each. */
const ROUNDS = 3;
const UPDATES = 2;

function answerBytes({ answer = "" }: ProxiedRequest): number {
  return answer.length;
}

/** Measures one case. @throws {Error} when updates came in another way than the case is about. */
export async function measureUpdates(
  devnet: Devnet,
  work: ConsensusCase,
  options: { readonly folder: string; readonly executable: string },
): Promise<RunCost> {
  await using stack = new AsyncDisposableStack();
  const open = async (upstream: string): Promise<RpcProxy> =>
    stack.use(await startRpcProxy({ upstream, keepsAnswers: true }));
  const hub = await open(devnet.hub.httpUrl);
  const nodes = new Map<string, RpcProxy>();
  for (const [key, url] of Object.entries(work.urls)) {
    if (url !== undefined) nodes.set(key, await open(url));
  }
  const relayer = stack.use(
    await startConsensusRelayer(devnet.consensusEndpoints, {
      executable: options.executable,
      folder: options.folder,
      logLevel: "info",
      changes: {
        only: [work.chain.stateMachine],
        hubUrl: hub.wsUrl,
        sections: sectionsOf(work, nodes),
      },
    }),
  );
  await relayer.waitForLine("program_started");
  const restMb = readMemoryMb(relayer.pid, "VmRSS");
  const read = (): UpdateCost => {
    const http = [...nodes.values()].flatMap(({ requests }) => requests);
    const rest = work.beacon?.requests ?? [];
    return {
      bytes: sumOf(http, answerBytes) + sumOf(rest, ({ bytes }) => bytes),
      requests: http.length + rest.length,
      hubBytes: sumOf(hub.requests, answerBytes),
      cpuMs: readCpuMs(relayer.pid),
    };
  };
  let [accepted, before] = [await untilAccepted(relayer, WARM_UP), read()];
  const updates: UpdateCost[] = [];
  while (updates.length < ROUNDS) {
    const found = await untilAccepted(relayer, accepted.length + UPDATES);
    const [after, count] = [read(), found.length - accepted.length];
    updates.push({
      bytes: (after.bytes - before.bytes) / count,
      requests: (after.requests - before.requests) / count,
      hubBytes: (after.hubBytes - before.hubBytes) / count,
      cpuMs: (after.cpuMs - before.cpuMs) / count,
    });
    [accepted, before] = [found, after];
  }
  const extraMb = readMemoryMb(relayer.pid, "VmHWM") - restMb;
  await relayer.terminate();
  requireWay(work, accepted.slice(WARM_UP));
  return { updates, extraMb };
}

function sectionsOf(
  { chain, beacon }: ConsensusCase,
  nodes: ReadonlyMap<string, RpcProxy>,
): Readonly<Record<string, SectionChanges>> {
  const section = sectionOf(chain.stateMachine);
  const urlsOf = (key: string): SectionChanges => {
    const proxy = nodes.get(key);
    return proxy === undefined ? {} : { [key]: [proxy.httpUrl] };
  };
  return {
    [section]: urlsOf("rpc_urls"),
    [`${section}.host`]: {
      ...urlsOf("beacon_rpc_url"),
      ...beacon && { beacon_http_urls: [beacon.url] },
    },
  };
}

/** The lines of the accepted updates, at least so many. */
async function untilAccepted(relayer: RelayerProcess, count: number): Promise<readonly RelayerLine[]> {
  const accepted = (): readonly RelayerLine[] =>
    relayer.lines.filter(({ record }) => record?.event === "update_accepted");
  await waitUntil(`${count} updates`, () => {
    if (!relayer.isRunning) throw new Error(`The consensus relayer ended:\n${relayer.tail()}`);
    return accepted().length >= count;
  }, { everyMs: 50 });
  return accepted();
}

function requireWay({ name, summary }: ConsensusCase, lines: readonly RelayerLine[]): void {
  if (summary === undefined) return;
  const other = lines.find(({ record }) => !String(record?.summary).includes(summary));
  if (other !== undefined) throw new Error(`${name}: an update came another way: ${other.text}`);
}
