/** Checks of a Substrate chain for the operator: its node, the state that it keeps, and its offchain index. */
import {
  type CheckJob,
  type CheckRow,
  describeFault,
  keepsOut,
  REQUEST_TIMEOUT_MS,
} from "../../checks/check_row.ts";
import { u64 } from "../../encoding/scale.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { RpcFault } from "../../rpc/call.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { ChainChecks } from "../chain_checks.ts";
import { createReach, judgeClock, whileReachable } from "../chain_checks.ts";
import { decodeValue, type SubstrateNode } from "./node.ts";

/** Blocks below the final one whose state an archive node has: pruning nodes keep 256. */
const ARCHIVE_DEPTH = 300n;

/** Blocks by which the final one is usually behind the head; more means that finality is late. */
const MAX_UNFINAL = 60n;

/** Age of the hub's newest block, seconds, above which it or this machine's clock is late: it makes one every 6 to 12 s. */
const MAX_HUB_AGE_SEC = 30;

/** What is checked beside the node itself. */
export interface SubstrateChecks {
  /** What the node must pass. */
  readonly check: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
  /**
   * Height whose state is needed for proofs: the newest that the hub knows; `undefined`: unknown. Absent: nothing is
   * proved with the node.
   */
  readonly fetchNeededHeight?: (signal: AbortSignal) => Promise<bigint | undefined>;
  /** Looks for what the node indexes offchain; absent: nothing of that is needed. */
  readonly checkOffchain?: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
  /** Configuration key that names the node; default `rpc_ws`. */
  readonly key?: string;
}

/** Lists the checks of one round. */
export function planSubstrateChecks(node: SubstrateNode, options: SubstrateChecks): ChainChecks {
  const { client, clock, id: { stateMachine: chain } } = node;
  const { check, checkOffchain, fetchNeededHeight, key = "rpc_ws" } = options;
  const isReachable = createReach(clock, chain, (signal) => client.call(calls.bestHash(), signal));
  const later = (name: CheckJob["check"], run: CheckJob["run"]): CheckJob =>
    whileReachable(isReachable, { chain, check: name, run });
  const jobs: readonly (CheckJob | undefined)[] = [
    { chain, check: "endpoint", run: (signal) => checkEndpoint(node, key, signal) },
    later("node", (signal) => checkRuntime(node, check, signal)),
    fetchNeededHeight &&
    later("node_state", async (signal) => await checkState(node, await fetchNeededHeight(signal), signal)),
    checkOffchain && later("offchain_index", checkOffchain),
  ];
  return { jobs: jobs.filter((job) => job !== undefined), isReachable };
}

async function checkRuntime(
  node: SubstrateNode,
  check: SubstrateChecks["check"],
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, id: { stateMachine: chain } } = node;
  const rows = await check(signal);
  if (rows.some(keepsOut)) return rows;
  const { specName, specVersion } = (await node.runtimes.current(signal)).version;
  const found = `${chain}, runtime ${specName} ${specVersion}, headers hashed with ${node.hashing}`;
  return [{ chain, endpoint: client.host, check: "node", result: "ok", found }, ...rows];
}

async function checkEndpoint(
  node: SubstrateNode,
  key: string,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, clock, id: { stateMachine: chain } } = node;
  const row = { chain, endpoint: client.host } as const;
  const startMs = clock.now();
  try {
    const asked = [calls.header(), calls.finalizedHash(), calls.storage(otherKeys.timestampNow())] as const;
    const [best, finalHash, now] = await client.probe(asked, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
    const latencyMs = clock.now() - startMs;
    const final = await client.call(calls.header(finalHash), signal);
    const rows: CheckRow[] = [
      { ...row, check: "endpoint", result: "ok", found: `answers in ${Math.round(latencyMs)} ms` },
    ];
    if (best !== undefined && final !== undefined) {
      rows.push({ ...row, ...judgeHeads(best.height, final.height) });
    }
    const chainMs = decodeValue(node, now, u64, "Timestamp.Now");
    if (chainMs === undefined) return rows;
    const maxAgeSec = node.isHub ? MAX_HUB_AGE_SEC : undefined;
    return [...rows, judgeClock(chain, chainMs / 1_000n, { nowMs: clock.now(), maxAgeSec })];
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    return [{
      ...row,
      check: "endpoint",
      result: "failed",
      found: `does not answer: ${describeFault(error)}`,
      advice: `check ${key} and that the node runs`,
    }];
  }
}

function judgeHeads(best: bigint, final: bigint): Pick<CheckRow, "check" | "result" | "found" | "advice"> {
  const found = `block ${best}, final block ${final}`;
  if (best - final <= MAX_UNFINAL) return { check: "head", result: "ok", found };
  const advice = "look at the node: it may be syncing, or the chain's finality is late";
  return { check: "head", result: "warning", found: `${found}, ${best - final} behind`, advice };
}

/** Reads the state of the block that proofs are made of, or of one that only archive nodes keep. */
async function checkState(
  node: SubstrateNode,
  needed: bigint | undefined,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, id: { stateMachine: chain } } = node;
  const final = await client.call(calls.header(await client.call(calls.finalizedHash(), signal)), signal);
  if (final === undefined) throw client.fault("lagging", "chain_getHeader", "no header of the final block");
  const height = needed ?? (final.height > ARCHIVE_DEPTH ? final.height - ARCHIVE_DEPTH : 0n);
  const why = needed === undefined
    ? `${final.height - height} blocks below the final one`
    : "the newest known to the hub";
  const row = { chain, endpoint: client.host, check: "node_state" } as const;
  const hash = await client.call(calls.blockHash(height), signal);
  const [state] = hash === undefined
    ? [client.fault("lagging", "chain_getBlockHash", `no block ${height}`)]
    : await client.callAllSettled([calls.storage(otherKeys.timestampNow(), hash)], signal);
  if (!(state instanceof RpcFault)) {
    return [{ ...row, result: "ok", found: `has the state of block ${height}, ${why}` }];
  }
  return [{
    ...row,
    result: needed === undefined ? "warning" : "failed",
    found: `has no state of block ${height}, ${why}: ${describeFault(state)}`,
    advice: "use a node with --state-pruning=archive: without that state no message can be proved",
  }];
}
