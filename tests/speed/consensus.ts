/**
 * What an update of each type costs the compiled consensus relayer: bytes, requests, processor time, memory. Beside it
 * the plain way, in which the reference proves a beacon chain: two whole states for every update. States of the
 * devnet's beacon chain are small, so what whole states of mainnet cost is reckoned from one that is made as long.
 */
import { sepolia } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { committeeRoot } from "../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import { checkSignature } from "../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { readDeneb } from "../consensus/clients/sync_committee/spec/vectors.ts";
import type { Beacon, NodeBehaviour } from "../../devnet/beacon/beacon.ts";
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { type ConsensusCase, measureUpdates, type UpdateCost } from "./consensus_run.ts";
import type { BenchDeps, Part } from "./part.ts";
import { atMost, type Measure, median } from "./report.ts";
import { measureWholeState, type WholeStateCost } from "./whole_state.ts";

/** Length of mainnet's state in SSZ. Source: docs/protocol/evm-consensus.md section 1, trap 7. */
const STATE_BYTES = 300_000_000;
/** Whole states of an update in the reference: the attested and the finalized one. */
const PLAIN_STATES = 2;
const MAX_BYTES_PERCENT = 1;
const MAX_CPU_MS = 1_000;
const MAX_EXTRA_MB = 64;
const MAX_STALL_MS = 50;
const ROUNDS = 15;

/** Nodes on which the prover ends at each of its ways, the best first. */
const beaconWays: readonly (Partial<NodeBehaviour> & { readonly name: string; readonly summary: string })[] =
  [
    { name: "evm, proof route", summary: "state proof of", without: [] },
    {
      name: "evm, first 2.7 MB of the state",
      summary: "state prefix of",
      without: ["lodestarProof"],
    },
    {
      name: "evm, whole state",
      summary: "whole state of",
      without: ["lodestarProof"],
      lie: { status: ({ route }) => route === "bootstrap" ? 404 : undefined },
    },
    {
      name: "evm, no light client routes",
      summary: "whole state of",
      without: ["lodestarProof", "lightClient"],
    },
  ];

/** See the head of the file. */
export const consensus: Part = async (deps) => {
  await using devnet = await startDevnet({
    kinds: ["beacon", "op_stack", "arbitrum", "bsc"],
    startsOracle: false,
  });
  const [l1, opStack, arbitrum, bsc] = [
    devnet.chain("A"),
    devnet.chain("B"),
    devnet.chain("C"),
    devnet.chain("D"),
  ] as const;
  const beacon = l1.proven.beacon;
  if (beacon === undefined) throw new Error("The L1 has a beacon chain");
  const measure = (work: ConsensusCase): Promise<UpdateCost> => measured(deps, devnet, work);
  const plain = await wholeState(deps, beacon);
  const measures: Measure[] = [];
  for (const { name, summary, ...behaviour } of beaconWays) {
    await using node = beacon.openNode(behaviour);
    const urls = { rpc_urls: l1.rpcUrl, beacon_rpc_url: undefined };
    const cost = await measure({ name, summary, chain: l1, urls, beacon: node });
    const isWhole = summary === "whole state of";
    measures.push(...measuresOf(name, cost, isWhole ? undefined : plain, !isWhole));
  }
  // Rollups need the hub to learn of their L1, by a process of its own.
  devnet.oracle.resume({ from: l1.stateMachine, to: devnet.hub.identity.stateMachine });
  for (const [name, chain] of [["op_stack", opStack], ["arbitrum_orbit", arbitrum]] as const) {
    const cost = await measure({ name, chain, urls: { rpc_urls: chain.rpcUrl, beacon_rpc_url: l1.rpcUrl } });
    measures.push(...measuresOf(name, cost, plain, true));
  }
  await devnet.oracle.pause({ from: l1.stateMachine, to: devnet.hub.identity.stateMachine });
  const cost = await measure({ name: "bsc", chain: bsc, urls: urlsOf(bsc) });
  measures.push(...measuresOf("bsc", cost, plain, true));
  return [...measures, ...plainMeasures(plain), ...checkCosts()];
};

function urlsOf({ rpcUrl }: DevnetChain): ConsensusCase["urls"] {
  return { rpc_urls: rpcUrl, beacon_rpc_url: undefined };
}

async function measured(deps: BenchDeps, devnet: Devnet, work: ConsensusCase): Promise<UpdateCost> {
  const cost = await measureUpdates(devnet, work, {
    folder: `${deps.folder}/${work.name.replaceAll(/[^a-z0-9]+/g, "-")}`,
    executable: deps.consensusExecutable,
  });
  deps.say(
    `   ${work.name}: ${cost.updates} updates, ${cost.hubMessages.toFixed(1)} messages of the hub each`,
  );
  return cost;
}

/** @param plain to be compared with; nothing is where whole states of the devnet are read. */
function measuresOf(
  name: string,
  { bytes, requests, hubBytes, cpuMs, extraMb }: UpdateCost,
  plain: WholeStateCost | undefined,
  hasAim: boolean,
): readonly Measure[] {
  const cpu = atMost(`${name}: processor time`, cpuMs, MAX_CPU_MS, (ms) => `${ms.toFixed(0)} ms`);
  const memory = atMost(`${name}: memory above rest`, extraMb, MAX_EXTRA_MB, (mb) => `${mb.toFixed(0)} MB`);
  return [
    {
      name: `${name}: read; requests; read of the hub${hasAim ? "" : " (small states of the devnet)"}`,
      value: `${bytesText(bytes)}; ${requests.toFixed(1)}; ${bytesText(hubBytes)}`,
    },
    ...plain === undefined ? [] : [
      atMost(
        `${name}: read / two whole states`,
        bytes / (PLAIN_STATES * plain.bytes) * 100,
        MAX_BYTES_PERCENT,
        (percent) => `${percent.toPrecision(2)} %`,
      ),
    ],
    ...[cpu, memory].map((measure) => hasAim ? measure : { name: measure.name, value: measure.value }),
  ];
}

async function wholeState(deps: BenchDeps, beacon: Beacon): Promise<WholeStateCost> {
  await Deno.mkdir(deps.folder, { recursive: true });
  const path = `${deps.folder}/state.ssz`;
  const answer = await fetch(`${beacon.url}/eth/v2/debug/beacon/states/head`, {
    headers: { accept: "application/octet-stream" },
  });
  await Deno.writeFile(path, new Uint8Array(await answer.arrayBuffer()));
  return await measureWholeState(path, STATE_BYTES);
}

function plainMeasures({ bytes, cpuMs, extraMb, lag }: WholeStateCost): readonly Measure[] {
  const sec = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return [
    {
      name: `one state of ${bytesText(bytes)}, made longer, our reader: processor time; memory`,
      value: `${sec(cpuMs)}; ${extraMb.toFixed(0)} MB`,
    },
    {
      ...atMost(
        `one state of ${bytesText(bytes)}, over HTTP: stall of the loop, longest; p99`,
        lag.maxMs,
        MAX_STALL_MS,
        (ms) => `${ms.toFixed(0)} ms`,
      ),
      value: `${lag.maxMs.toFixed(0)} ms; ${lag.p99Ms.toFixed(0)} ms`,
    },
    {
      name: "plain way on mainnet, reckoned: read; processor time for hashing alone",
      value: `${bytesText(PLAIN_STATES * bytes)}; ${sec(PLAIN_STATES * cpuMs)}`,
    },
  ];
}

/** A real update of Sepolia that 477 of 512 signed. */
function checkCosts(): readonly Measure[] {
  const { trusted, update } = readDeneb();
  const committee = trusted.currentSyncCommittee;
  const signatureMs = timeOf(() => checkSignature(sepolia, committee, update));
  const rootMs = timeOf(() => committeeRoot(committee));
  return [
    { name: "BLS: signature of 477 of 512 members, in this process", value: `${signatureMs.toFixed(0)} ms` },
    { name: "SSZ: root of a committee, in this process", value: `${rootMs.toFixed(2)} ms` },
  ];
}

function timeOf(work: () => void): number {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startMs = performance.now();
    work();
    times.push(performance.now() - startMs);
  }
  return median(times);
}

function bytesText(bytes: number): string {
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} KB`;
}
