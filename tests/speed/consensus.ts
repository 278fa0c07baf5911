/**
 * What an update of each type costs the compiled consensus relayer: bytes, requests, processor time, memory, beside
 * the two whole states that the reference reads for every update of a beacon chain; states of the devnet's beacon chain
 * are small.
 */
import type { NodeBehaviour } from "../../devnet/beacon/beacon.ts";
import { startDevnet } from "../../devnet/devnet.ts";
import { type ConsensusCase, measureUpdates, type RunCost } from "./consensus_run.ts";
import type { Part } from "./part.ts";
import { type Aim, type Figure, figure, figuresOf } from "./report.ts";

/** Length of mainnet's state in SSZ. Source: docs/protocol/evm-consensus.md section 1, trap 7. */
const STATE_BYTES = 300_000_000;
/** Whole states of an update in the reference: the attested and the finalized one. */
const PLAIN_STATES = 2;
const MAX_BYTES_PERCENT = 1;
const MAX_CPU_MS = 1_000;
const MAX_EXTRA_MB = 64;
/** In the line of an update that needed a whole state. */
const WHOLE = "whole state of";

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
      summary: WHOLE,
      without: ["lodestarProof"],
      lie: { status: ({ route }) => route === "bootstrap" ? 404 : undefined },
    },
    {
      name: "evm, no light client routes",
      summary: WHOLE,
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
  const measure = async (work: ConsensusCase): Promise<readonly Figure[]> => {
    const folder = `${deps.folder}/${work.name.replaceAll(/[^a-z0-9]+/g, "-")}`;
    const costs = await measureUpdates(devnet, work, { folder, executable: deps.consensusExecutable });
    return updateFigures(work, costs);
  };
  const figures: Figure[] = [];
  for (const { name, summary, ...behaviour } of beaconWays) {
    await using node = beacon.openNode(behaviour);
    const urls = { rpc_urls: l1.rpcUrl, beacon_rpc_url: undefined };
    figures.push(...await measure({ name, summary, chain: l1, urls, beacon: node }));
  }
  // Rollups need the hub to learn of their L1, by a process of its own.
  const ofL1 = { from: l1.stateMachine, to: devnet.hub.identity.stateMachine };
  devnet.oracle.resume(ofL1);
  for (const [name, chain] of [["op_stack", opStack], ["arbitrum_orbit", arbitrum]] as const) {
    const urls = { rpc_urls: chain.rpcUrl, beacon_rpc_url: l1.rpcUrl };
    figures.push(...await measure({ name, chain, urls }));
  }
  await devnet.oracle.pause(ofL1);
  figures.push(
    ...await measure({ name: "bsc", chain: bsc, urls: { rpc_urls: bsc.rpcUrl, beacon_rpc_url: undefined } }),
  );
  return figures;
};

/** States of the devnet are small, so that what is read of them whole is held to no aim. */
function updateFigures(
  { name, summary }: ConsensusCase,
  { updates, extraMb }: RunCost,
): readonly Figure[] {
  const isWhole = summary === WHOLE;
  const aim = (most: number): Aim | undefined => isWhole ? undefined : { most };
  const rounds = updates.map((update) => ({
    ...update,
    kilobytes: update.bytes / 1000,
    percent: update.bytes / (PLAIN_STATES * STATE_BYTES) * 100,
    hubKilobytes: update.hubBytes / 1000,
  }));
  return [
    ...figuresOf(rounds, [
      ["kilobytes", `${name}: read for an update`, "KB"],
      ["percent", `${name}: of two whole states`, "%", aim(MAX_BYTES_PERCENT)],
      ["requests", `${name}: requests`, ""],
      ["hubKilobytes", `${name}: read of the hub`, "KB"],
      ["cpuMs", `${name}: processor time`, "ms", aim(MAX_CPU_MS)],
    ]),
    figure(`${name}: memory above rest`, "MB", extraMb, aim(MAX_EXTRA_MB)),
  ];
}
