/**
 * What the compiled consensus relayer asks the L1 and the hub for an update of a rollup, with 1, 4 and 16 rollups on the
 * L1: they share what they ask it, so that an update costs less the more of them there are.
 */
import { stringifyToml } from "../support/toml_text.ts";
import { DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { ethereum } from "../../devnet/hub/consensus_work.ts";
import { HUB_SEED } from "../../devnet/programs/consensus_config.ts";
import { sectionOf } from "../../devnet/programs/relayer_config.ts";
import { DEADLINE_MS, waitUntil } from "../../devnet/waiting.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import { type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { countCalls, linesOf } from "./call_counts.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { atMost, type Measure } from "./report.ts";
import { type RollupFleet, type RollupKindName, startRollupFleet } from "./rollup_fleet.ts";

const KINDS: readonly RollupKindName[] = ["op_stack", "arbitrum_orbit"];
const COUNTS = [1, 4, 16] as const;
/** Rounds before the counted ones: the day before the start is searched, programs are compiled. */
const WARM_UP = 1;
const ROUNDS = 3;
/** As a provider on the internet: what is asked together is then under way together. */
const LATENCY_MS = 20;
/** Requests to the L1 for an update with 16 rollups, beside those with one. */
const MAX_SHARE = 0.25;
/** Calls: each rollup has its own proofs and words of contracts. */
const MAX_CALLS_SHARE = 0.75;
/** Messages to the hub. */
const MAX_HUB_SHARE = 0.5;

/** For one update of one rollup. */
export interface RollupCost {
  readonly rollups: number;
  readonly l1Requests: number;
  readonly l1Calls: number;
  readonly hubRequests: number;
  readonly hubCalls: number;
  readonly cpuMs: number;
}

/** See the head of the file. */
export const rollups: Part = async (deps) => {
  const measures: Measure[] = [];
  for (const kind of KINDS) {
    const costs: RollupCost[] = [];
    for (const count of COUNTS) costs.push(await measureFleet(deps, kind, count));
    measures.push(...measuresOfRollups(kind, costs));
  }
  return measures;
};

async function measureFleet(deps: BenchDeps, kind: RollupKindName, count: number): Promise<RollupCost> {
  await using stack = new AsyncDisposableStack();
  const fleet = stack.use(await startRollupFleet(kind, count));
  await fleet.advance();
  const l1 = stack.use(await startRpcProxy({ upstream: fleet.l1Url, latencyMs: LATENCY_MS }));
  const hub = stack.use(
    await startRpcProxy({ upstream: fleet.hub.wsUrl.replace(/^ws/, "http"), latencyMs: LATENCY_MS }),
  );
  const relayer = stack.use(
    await startRelayer({
      program: "causeway-consensus",
      config: configOf(fleet, { l1, hub }),
      folder: `${deps.folder}/${kind}-${count}`,
      logLevel: "info",
      executable: deps.consensusExecutable,
    }),
  );
  await relayer.waitForLine("program_started", { deadlineMs: DEADLINE_MS });
  // What was claimed before the start.
  await untilAccepted(relayer, count);
  let round = 1;
  const advance = async (): Promise<void> => {
    round++;
    await fleet.advance();
    await untilAccepted(relayer, round * count);
  };
  for (let warmUp = 0; warmUp < WARM_UP; warmUp++) await advance();
  l1.clear();
  hub.clear();
  const cpuMs = readCpuMs(relayer.pid);
  for (let counted = 0; counted < ROUNDS; counted++) await advance();
  const usedMs = readCpuMs(relayer.pid) - cpuMs;
  const [atL1, atHub] = [countCalls(l1.requests), countCalls(hub.requests)];
  for (const line of [...linesOf(`${kind}, ${count}: L1`, atL1), ...linesOf("hub", atHub)]) {
    deps.say(`   ${line}`);
  }
  const updates = ROUNDS * count;
  return {
    rollups: count,
    l1Requests: atL1.requests / updates,
    l1Calls: atL1.calls / updates,
    hubRequests: atHub.requests / updates,
    hubCalls: atHub.calls / updates,
    cpuMs: usedMs / updates,
  };
}

function configOf(
  { hub: { identity }, rollups }: RollupFleet,
  { l1, hub }: { readonly l1: RpcProxy; readonly hub: RpcProxy },
): string {
  return stringifyToml({
    hub: {
      type: "beefy",
      substrate: {
        rpc_ws: hub.wsUrl,
        state_machine: identity.stateMachine,
        signer: HUB_SEED,
        poll_interval: 1,
      },
    },
    relayer: { enable_hub_consensus: false },
    ...Object.fromEntries(rollups.map(({ id, type, rpcUrl, host }) => [sectionOf(id.stateMachine), {
      type,
      state_machine: id.stateMachine,
      rpc_urls: [rpcUrl],
      consensus_state_id: id.consensusStateId,
      etherscan_api_key: "",
      ismp_host: `0x${"11".repeat(20)}`,
      signer: DEVNET_KEYS.relayer,
      host: {
        beacon_rpc_url: [l1.httpUrl],
        l1_state_machine: ethereum.stateMachine,
        l1_consensus_state_id: ethereum.consensusStateId,
        consensus_update_frequency: 3_600,
        ...host,
      },
    }])),
  });
}

async function untilAccepted(relayer: RelayerProcess, count: number): Promise<void> {
  await waitUntil(`${count} updates`, () => {
    if (!relayer.isRunning) throw new Error(`The consensus relayer ended:\n${relayer.tail()}`);
    return relayer.lines.filter(({ record }) => record?.event === "update_accepted").length >= count;
  }, { deadlineMs: DEADLINE_MS, everyMs: 50 });
}

/** The lines of one kind of rollups: what an update costs by their number, and how it falls. */
export function measuresOfRollups(kind: string, costs: readonly RollupCost[]): readonly Measure[] {
  const [first, last] = [costs[0], costs.at(-1)];
  if (first === undefined || last === undefined) return [];
  const shown = (name: string, read: (cost: RollupCost) => string): Measure => ({
    name: `${kind}, ${costs.map(({ rollups }) => rollups).join(" / ")} rollups on one L1: ${name}`,
    value: costs.map(read).join(" / "),
  });
  const share = (name: string, read: (cost: RollupCost) => number, most: number): Measure =>
    atMost(
      `${kind}, ${last.rollups} rollups beside ${first.rollups}: ${name} per update and chain`,
      read(last) / read(first),
      most,
      (value) => value.toFixed(2),
    );
  const pair = (requests: number, calls: number): string => `${requests.toFixed(1)} (${calls.toFixed(1)})`;
  return [
    shown("requests (calls) to the L1, an update", ({ l1Requests, l1Calls }) => pair(l1Requests, l1Calls)),
    shown(
      "requests (calls) to the hub, an update",
      ({ hubRequests, hubCalls }) => pair(hubRequests, hubCalls),
    ),
    shown("processor time, an update", ({ cpuMs }) => `${cpuMs.toFixed(0)} ms`),
    share("requests to the L1", ({ l1Requests }) => l1Requests, MAX_SHARE),
    share("calls to the L1", ({ l1Calls }) => l1Calls, MAX_CALLS_SHARE),
    share("requests to the hub", ({ hubRequests }) => hubRequests, MAX_HUB_SHARE),
  ];
}
