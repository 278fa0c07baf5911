/**
 * What must hold whenever consensus relayers have worked: what the hub stores of a chain is what the chain is, heights
 * only grow, nothing was submitted for nothing, and the programs kept quiet, small and discreet.
 * Start reading at {@link consensusViolations}; the facts are read by {@link readConsensusFacts}.
 */
import type { StateCommitmentHeight } from "../../../devnet/hub/pallets/ismp_storage.ts";
import { concatBytes, fromHex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { type EvmBlockHeader, parseBlockHeader } from "../../../src/core/evm/block_header.ts";
import {
  stateCommitmentCodec,
  type StateMachineId,
  stateMachineIdCodec,
  stateMachineIdKey,
} from "../../../src/core/ismp/state_machine.ts";
import { blake2Concat, ismpKeys, storagePrefix } from "../../../src/core/ismp/storage_keys.ts";
import { decodeStrict, u64 } from "../../../src/core/encoding/scale.ts";
import type { Devnet, DevnetChain } from "../../../devnet/devnet.ts";
import { readerFor } from "../../../devnet/evm/deploy.ts";
import type { Rejection } from "../../../devnet/hub/hub.ts";
import { resultHttp } from "../../../devnet/hub/json_rpc_client.ts";
import {
  fallingHeights,
  type HostFacts,
  hostViolations,
  readHeads,
  readHostFacts,
} from "./consensus_hosts.ts";

/** The part of a header that the hub stores. */
export type HeaderFacts = Pick<EvmBlockHeader, "stateRoot" | "timestampSec">;

/** What the hub knows of a chain, beside the chain itself. */
export interface ChainFacts {
  /** As the hub names it. */
  readonly chain: string;
  readonly stored: readonly StateCommitmentHeight[];
  /** The chain's own headers at those heights; none where it has no such block. */
  readonly headers: ReadonlyMap<bigint, HeaderFacts>;
  /** The newest heights that the hub knew, one for each block in which they changed, in order. */
  readonly latest: readonly bigint[];
}

/** What one process left. */
export interface RunFacts {
  readonly name: string;
  /** Lines of errors that the scenario did not expect. */
  readonly errors: readonly string[];
  readonly secrets: readonly string[];
  /** Most memory in use, MB; `undefined`: it was not measured. */
  readonly peakMb: number | undefined;
}

/** An extrinsic that the hub refused. */
export type RefusalFacts = Pick<Rejection, "stage" | "code" | "ismp" | "detail">;

/** Everything that is checked. */
export interface ConsensusFacts {
  readonly chains: readonly ChainFacts[];
  readonly rejections: readonly RefusalFacts[];
  readonly runs: readonly RunFacts[];
  /** EVM hosts, as far as they got updates of the hub. */
  readonly hosts: readonly HostFacts[];
}

/** What a scenario does not keep to. */
export interface ConsensusLimits {
  /** Chains of which the hub need not have learned anything, or which need not have learned anything of it. */
  readonly withoutUpdates?: readonly string[];
}

/**
 * Most memory of the program with four chains: the runtime and the libraries take about 170 MB, and an update may take
 * 64 MB more (issue 4). The rest is garbage that is not collected yet.
 */
export const MAX_MB = 400;

/** Everything that is wrong, as sentences. */
export function consensusViolations(facts: ConsensusFacts, limits: ConsensusLimits = {}): string[] {
  return [
    ...facts.chains.flatMap((chain) => [
      ...untrueHeights(chain),
      ...fallingHeights(`${chain.chain}: the hub`, chain.latest),
    ]),
    ...facts.chains.flatMap((chain) => [...withoutUpdates(chain, limits)]),
    ...refusals(facts),
    ...facts.runs.flatMap((run) => [...runViolations(run)]),
    ...facts.hosts.flatMap(hostViolations),
  ];
}

/** @throws {Error} with everything that is wrong. */
export function assertConsensus(facts: ConsensusFacts, limits: ConsensusLimits = {}): void {
  const found = consensusViolations(facts, limits);
  if (found.length > 0) throw new Error(`Consensus checks:\n${found.slice(0, 20).join("\n")}`);
}

/** Every commitment is that of the chain's own block. */
function* untrueHeights({ chain, stored, headers }: ChainFacts): Iterable<string> {
  for (const { height, commitment } of stored) {
    const header = headers.get(height);
    if (header === undefined) yield `${chain}: the hub stores block ${height}, and the chain has none`;
    else if (header.stateRoot !== commitment.stateRoot) {
      yield `${chain}: state root of block ${height} is wrong`;
    } else if (header.timestampSec !== commitment.timestampSec) {
      yield `${chain}: time of block ${height} is wrong`;
    }
  }
}

/** The newest height is stored, and it was not the first. */
function* withoutUpdates(
  { chain, stored, latest }: ChainFacts,
  limits: ConsensusLimits,
): Iterable<string> {
  if (limits.withoutUpdates?.some((name) => chain.startsWith(name)) === true) return;
  const newest = latest.at(-1);
  if (newest === undefined || latest.length < 2) yield `${chain}: the hub learned nothing`;
  else if (!stored.some(({ height }) => height === newest)) yield `${chain}: block ${newest} is not stored`;
}

function* refusals({ rejections }: ConsensusFacts): Iterable<string> {
  for (const { stage, code, ismp, detail } of rejections) {
    yield `the hub refused (${stage}): ${code} ${ismp ?? ""} ${detail}`;
  }
}

function* runViolations({ name, errors, secrets, peakMb }: RunFacts): Iterable<string> {
  for (const line of errors) yield `${name} printed an error: ${line}`;
  for (const secret of secrets) yield `${name} printed a secret: ${secret}`;
  if (peakMb === undefined) yield `${name}: its memory was never measured`;
  else if (peakMb > MAX_MB) yield `${name} used ${peakMb} MB, and ${MAX_MB} MB are enough`;
}

/** From where on things count: a block of the hub, and one of each EVM chain. */
export interface FactsSince {
  readonly hub: string;
  readonly chains: ReadonlyMap<string, bigint>;
}

/** Now. */
export async function factsFromNow(devnet: Devnet): Promise<FactsSince> {
  return { hub: toHash256(devnet.hub.best.hash), chains: await readHeads(devnet.chains) };
}

/** Reads what the hub stores and what the chains say about it, and what the chains got updates of the hub. */
export async function readConsensusFacts(
  devnet: Devnet,
  runs: readonly RunFacts[],
  since: FactsSince,
): Promise<ConsensusFacts> {
  const chains = await Promise.all(devnet.chains.map(async (chain): Promise<ChainFacts> => {
    const id = devnet.idOnHub(chain);
    // First the heights, then what is stored: an update may still be included between the two.
    const latest = await readLatest(devnet.hub.httpUrl, id, since.hub);
    const stored = await readStored(devnet.hub.httpUrl, id);
    return {
      chain: stateMachineIdKey(id),
      stored,
      headers: await readHeaders(chain, stored.map(({ height }) => height)),
      latest,
    };
  }));
  return {
    chains,
    rejections: devnet.hub.rejections,
    runs,
    hosts: await Promise.all(
      devnet.chains.map((chain) => readHostFacts(chain, since.chains.get(chain.stateMachine) ?? 0n)),
    ),
  };
}

/** All commitments of a chain in the hub's newest state. */
async function readStored(
  hubUrl: string,
  id: StateMachineId,
): Promise<readonly StateCommitmentHeight[]> {
  const prefix = concatBytes(
    storagePrefix("Ismp", "BoundedStateCommitments"),
    blake2Concat(stateMachineIdCodec.enc(id)),
  );
  const keys = list(await resultHttp(hubUrl, "state_getKeysPaged", [toHex(prefix), 1000])).map(String);
  if (keys.length === 1000) throw new Error("There are too many commitments for one page");
  const found = await Promise.all(keys.map(async (key): Promise<StateCommitmentHeight> => {
    const value = String(await resultHttp(hubUrl, "state_getStorage", [key]));
    return {
      height: decodeStrict(u64, fromHex(key).slice(-8), "height"),
      commitment: decodeStrict(stateCommitmentCodec, fromHex(value), "StateCommitment"),
    };
  }));
  return found.sort((a, b) => Number(a.height - b.height));
}

async function readHeaders(
  { proven, rpcUrl }: DevnetChain,
  heights: readonly bigint[],
): Promise<ReadonlyMap<bigint, HeaderFacts>> {
  const reader = readerFor({ rpcUrl, chainId: proven.node.chainId });
  const found = await Promise.all(heights.map(async (height) => {
    const params: [`0x${string}`, boolean] = [`0x${height.toString(16)}`, false];
    const block = await reader.request({ method: "eth_getBlockByNumber", params });
    if (block === null) return [];
    const { stateRoot, timestampSec } = parseBlockHeader(block);
    const own = proven.parachain?.finalHeader(Number(height));
    return [[height, { timestampSec, stateRoot: own?.stateRoot ?? stateRoot }] as const];
  }));
  return new Map(found.flat());
}

async function readLatest(hubUrl: string, id: StateMachineId, since: string): Promise<readonly bigint[]> {
  const key = toHex(ismpKeys.latestStateMachineHeight(id));
  const { number: first } = Object(await resultHttp(hubUrl, "chain_getHeader", [since]));
  const { number: last } = Object(await resultHttp(hubUrl, "chain_getHeader"));
  const known: bigint[] = [];
  for (let number = Number(first); number <= Number(last); number++) {
    const block = await resultHttp(hubUrl, "chain_getBlockHash", [number]);
    const value = await resultHttp(hubUrl, "state_getStorage", [key, block]);
    const height = typeof value === "string" ? decodeStrict(u64, fromHex(value), "height") : undefined;
    if (height !== undefined && height !== known.at(-1)) known.push(height);
  }
  return known;
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError("The hub's answer is no list");
  return value;
}

/** Most memory that a running process has used so far, MB. */
export async function readPeakMb(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/status`);
  const kb = /^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1];
  if (kb === undefined) throw new Error(`The system does not tell the memory of process ${pid}`);
  return Math.ceil(Number(kb) / 1024);
}
