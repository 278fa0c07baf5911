/** Checks of a Substrate chain: what its node must be and have, the state that it keeps, and its offchain index. */
import { recover } from "../../encoding/coded_error.ts";
import {
  about,
  type CheckJob,
  type CheckRow,
  describeFault,
  keepsOut,
  REQUEST_TIMEOUT_MS,
  type RowsAbout,
} from "../../checks/check_row.ts";
import { type Hash256, toHash256 } from "../../encoding/bytes.ts";
import { decodeStrict, ScaleError, u64 } from "../../encoding/scale.ts";
import type { HashAlgorithm } from "../../ismp/proof.ts";
import { stateMachineCodec, type StateMachineId, stateMachineIdKey } from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys } from "../../ismp/storage_keys.ts";
import { resultOf, RpcFault } from "../../rpc/call.ts";
import { calls, type Header } from "../../rpc/substrate_calls.ts";
import type { FindingCode } from "../../checks/findings.ts";
import { judgeClock } from "../chain_checks.ts";
import { type ChainUse, findUnmet } from "./assumptions.ts";
import { decodeValue, type SubstrateNode } from "./node.ts";
import { hashFunction } from "../../merkle/substrate_proof.ts";
import { substrateHeaderCodec } from "../../substrate/header.ts";

/** Blocks below the final one whose state an archive node has: pruning nodes keep 256. */
const ARCHIVE_DEPTH = 300n;

/** Blocks by which the final one is usually behind the head; more means that finality is late. */
const MAX_UNFINAL = 60n;

/** Age of the hub's newest block, seconds, above which it or this machine's clock is late: it makes one every 6 to 12 s. */
const MAX_HUB_AGE_SEC = 30;

/** What is checked of a node. */
export interface SubstrateChecks {
  /** What the node must pass; default: {@link checkNode}. */
  readonly check?: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
  /** Hub that the chain should know; absent: it need not know one. */
  readonly hub?: StateMachineId;
  /**
   * Height whose state is needed for proofs: the newest that the hub knows; `undefined`: unknown. Absent: nothing is
   * proved with the node.
   */
  readonly fetchNeededHeight?: (signal: AbortSignal) => Promise<bigint | undefined>;
  /** Looks for what the node indexes offchain; absent: nothing of that is needed. */
  readonly checkOffchain?: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
}

/** Lists the checks of one round. */
export function planSubstrateChecks(node: SubstrateNode, options: SubstrateChecks): readonly CheckJob[] {
  const { id: { stateMachine: chain } } = node;
  const { hub, checkOffchain, fetchNeededHeight } = options;
  const { check = (signal) => checkNode(node, hub, signal) } = options;
  const job = (check: CheckJob["check"], run: CheckJob["run"]): CheckJob => ({ chain, check, run });
  const jobs: readonly (CheckJob | undefined)[] = [
    job("endpoint", (signal) => checkEndpoint(node, signal)),
    job("node", (signal) => checkNodeRow(node, check, signal)),
    fetchNeededHeight &&
    job("node_state", async (signal) => await checkState(node, await fetchNeededHeight(signal), signal)),
    checkOffchain && job("offchain_index", checkOffchain),
  ];
  return jobs.filter((each) => each !== undefined);
}

async function checkNodeRow(
  node: SubstrateNode,
  check: (signal: AbortSignal) => Promise<readonly CheckRow[]>,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, id: { stateMachine: chain } } = node;
  const rows = await check(signal);
  if (rows.some(keepsOut)) return rows;
  const { specName, specVersion } = (await node.runtimes.current(signal)).version;
  const found = `${chain}, runtime ${specName} ${specVersion}, headers hashed with ${node.hashing}`;
  return [about(chain, client.host).ok("node", found), ...rows];
}

async function checkEndpoint(
  node: SubstrateNode,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, clock, id: { stateMachine: chain } } = node;
  const at = about(chain, client.host);
  const startMs = clock.now();
  const asked = [calls.header(), calls.finalizedHash(), calls.storage(otherKeys.timestampNow())] as const;
  const [best, finalHash, now] = await client.probe(asked, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  const latencyMs = clock.now() - startMs;
  const final = await client.call(calls.header(finalHash), signal);
  const rows = [at.ok("endpoint", `answers in ${Math.round(latencyMs)} ms`)];
  if (best !== undefined && final !== undefined) rows.push(judgeHeads(at, best.height, final.height));
  const chainMs = decodeValue(node, now, u64, "Timestamp.Now");
  if (chainMs === undefined) return rows;
  const maxAgeSec = node.isHub ? MAX_HUB_AGE_SEC : undefined;
  return [...rows, judgeClock(chain, chainMs / 1_000n, { nowMs: clock.now(), maxAgeSec })];
}

function judgeHeads(at: RowsAbout, best: bigint, final: bigint): CheckRow {
  const found = `block ${best}, final block ${final}`;
  if (best - final <= MAX_UNFINAL) return at.ok("head", found);
  const advice = "check the node: it may be syncing, or the chain's finality is late";
  return at.warning("head", `${found}, ${best - final} behind`, advice);
}

/** Reads the state of the block that proofs are made of, or of one that only archive nodes keep. */
async function checkState(
  node: SubstrateNode,
  needed: bigint | undefined,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, id: { stateMachine: chain } } = node;
  const final = await node.finalBlocks.fetch(signal);
  const height = needed ?? (final.height > ARCHIVE_DEPTH ? final.height - ARCHIVE_DEPTH : 0n);
  const why = needed === undefined
    ? `${final.height - height} blocks below the final one`
    : "the newest known to the hub";
  const at = about(chain, client.host);
  const hash = await client.call(calls.blockHash(height), signal);
  const [state] = hash === undefined
    ? [client.fault("lagging", "chain_getBlockHash", `no block ${height}`)]
    : await client.callAllSettled([calls.storage(otherKeys.timestampNow(), hash)], signal);
  if (!(state instanceof RpcFault)) {
    return [at.ok("node_state", `has the state of block ${height}, ${why}`)];
  }
  const found = `has no state of block ${height}, ${why}: ${describeFault(state)}`;
  const advice = "use a node with --state-pruning=archive: without that state no message can be proved";
  return [at[needed === undefined ? "warning" : "failed"]("node_state", found, advice)];
}

/** Event of a method that is missing, and what is done instead. */
interface Alternative {
  readonly event: FindingCode;
  readonly text: string;
}

/** What is asked of a node. */
interface NodeNeeds {
  /** True: the node reports an ISMP chain, which must be the configured one. */
  readonly hasIdentity: boolean;
  readonly methods: readonly string[];
  readonly pallets: readonly string[];
  /** Unsafe methods, which nodes offer to their operators only, for which there are alternatives. */
  readonly alternatives?: Readonly<Record<string, Alternative>>;
}

const ismpChain = { hasIdentity: true, pallets: ["System", "Timestamp", "Ismp"] };
const relayed = {
  ...ismpChain,
  methods: ["ismp_queryEventsWithMetadata", "ismp_queryChildTrieProof"],
  alternatives: {
    system_dryRun: {
      event: "dry_run_unavailable",
      text: "messages are dry-run by TaggedTransactionQueue_validate_transaction",
    },
  },
} as const;

/** By what is done with the chain. One that proves the state of EVM contracts need not know ISMP. */
const needsOf: Readonly<Record<ChainUse, NodeNeeds>> = {
  relayed,
  hub: {
    ...relayed,
    methods: [
      ...relayed.methods,
      "ismp_queryStateMachineLatestHeight",
      "ismp_queryChallengePeriod",
      "mmr_queryProof",
    ],
    pallets: [...relayed.pallets, "Relayer", "StateCoprocessor"],
    alternatives: {
      offchain_localStorageGet: {
        event: "offchain_storage_unavailable",
        text: "consensus proofs cannot be delivered together with messages",
      },
      ...relayed.alternatives,
    },
  },
  updated: {
    ...ismpChain,
    methods: ["author_submitExtrinsic", "chain_getBlock", "chain_getFinalizedHead", "state_call"],
  },
  contracts: {
    hasIdentity: false,
    methods: ["chain_getBlockHash", "chain_getHeader", "state_getReadProof", "state_getChildReadProof"],
    pallets: ["System", "Timestamp", "Revive"],
  },
};

/** Runs all checks of a chain that need only its own node. @param hub that it should know; `undefined`: none */
export async function checkNode(
  node: SubstrateNode,
  hub: StateMachineId | undefined,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { hasIdentity, pallets, ...needs } = needsOf[node.use];
  const at = accordingTo(node);
  const [methods, finalized, ...identity] = await node.client.callAllSettled([
    calls.methods(),
    calls.finalizedHash(),
    ...hasIdentity ? [calls.stateCall("IsmpRuntimeApi_host_state_machine", new Uint8Array())] : [],
  ], signal);
  const rows = [
    ...identity.flatMap((answer) => checkIdentity(at, node.id.stateMachine, answer)),
    ...checkMethods(at, methods, needs),
    ...hub === undefined ? [] : await checkHub(node, hub, signal),
    ...await checkHashing(node, resultOf(finalized), signal),
  ];
  // Without its pallet no other check would make sense.
  return rows.some(keepsOut) ? rows : [...rows, ...await checkRuntime(node, pallets, signal)];
}

function checkIdentity(
  { failed }: RowsAbout,
  configured: string,
  answer: Uint8Array | RpcFault,
): readonly CheckRow[] {
  if (answer instanceof RpcFault) {
    if (answer.reaction === "retry" && answer.code !== "server_error") throw answer;
    const reason = answer.detail ?? answer.code;
    const found = `the node does not report its state machine (${reason}); is it an ISMP chain?`;
    return [failed("state_machine_unreadable", found)];
  }
  const read = (): string => decodeStrict(stateMachineCodec, answer, "StateMachine");
  const found = recover(ScaleError, read, () => undefined);
  if (found === configured) return [];
  if (found === undefined) {
    return [failed("state_machine_unreadable", "the node reports a state machine of an unknown kind")];
  }
  const help = `set rpc_ws to a node of ${configured}, or state_machine to ${found}`;
  return [failed("endpoint_wrong_chain", `the node is of ${found}; ${help}`)];
}

function checkMethods(
  { warning, failed }: RowsAbout,
  methods: ReadonlySet<string> | RpcFault,
  { methods: needed, alternatives = {} }: Pick<NodeNeeds, "methods" | "alternatives">,
): readonly CheckRow[] {
  if (methods instanceof RpcFault) {
    if (methods.reaction === "retry") throw methods;
    const found = "the node does not list its RPC methods (rpc_methods), so they could not be checked";
    return [warning("rpc_methods_unlisted", found)];
  }
  const missing = needed.filter((each) => !methods.has(each));
  const found = `the node lacks the RPC methods ${missing.join(", ")}`;
  return [
    ...missing.length === 0 ? [] : [failed("rpc_methods_missing", found)],
    ...Object.entries(alternatives).flatMap(([method, { event, text }]) =>
      methods.has(method) ? [] : [warning(event, `the node lacks ${method} (--rpc-methods unsafe); ${text}`)]
    ),
  ];
}

async function checkHub(
  node: SubstrateNode,
  hub: StateMachineId,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const height = await node.client.call(calls.storage(ismpKeys.latestStateMachineHeight(hub)), signal);
  const found = `does not know the hub ${
    stateMachineIdKey(hub)
  } yet; nothing can be delivered to it until it does`;
  return height === undefined ? [accordingTo(node).warning("hub_not_accepted", found)] : [];
}

/** Checks that the configured hash function gives the hash by which the node knows a block. */
async function checkHashing(
  node: SubstrateNode,
  block: Hash256,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, hashing } = node;
  const header = await client.call(calls.header(block), signal);
  if (header === undefined) throw client.fault("lagging", "chain_getHeader", "no final block");
  if (headerHash(header, hashing) === block) return [];
  const other: HashAlgorithm = hashing === "Keccak" ? "Blake2" : "Keccak";
  const found = headerHash(header, other) === block
    ? `headers are hashed with ${other}; set hashing = "${other}"`
    : "the hash of the latest block is neither Keccak nor Blake2 of its header; the chain's headers are of another form";
  return [accordingTo(node).failed("hashing_mismatch", found)];
}

/** Hash of a header. */
export function headerHash({ parent, height, fields }: Header, hashing: HashAlgorithm): Hash256 {
  const digest = fields.logs.map((encoded) => ({ kind: "unknown", encoded } as const));
  const header = { ...fields, parentHash: parent, number: Number(height), digest };
  return toHash256(hashFunction(hashing)(substrateHeaderCodec.enc(header)));
}

/** Checks that the newest runtime has the pallets, and what this program assumes of calls, storage and events. */
async function checkRuntime(
  node: SubstrateNode,
  pallets: readonly string[],
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { client, runtimes, use } = node;
  const { warning, failed } = accordingTo(node);
  const runtime = await runtimes.ofVersion(await client.call(calls.runtimeVersion(), signal), signal);
  const missing = pallets.filter((pallet) => !runtime.hasPallet(pallet));
  if (missing.length > 0) {
    const { specName, specVersion } = runtime.version;
    const found = `runtime ${specName} ${specVersion} lacks the pallets ${missing.join(", ")}`;
    return [failed("pallets_missing", found)];
  }
  return findUnmet(runtime, use).map(({ isOptional, text }) =>
    isOptional ? warning("runtime_differs", text) : failed("runtime_unsupported", text)
  );
}

/** Rows about a chain by what a node of it, or of another one, says. */
export function accordingTo(node: SubstrateNode, chain: string = node.id.stateMachine): RowsAbout {
  const { ok, warning, failed } = about(chain);
  const named = (rowOf: typeof ok): typeof ok => (check, text, advice) =>
    rowOf(check, `${node.id.stateMachine} via ${node.client.host}: ${text}`, advice);
  return { ok: named(ok), warning: named(warning), failed: named(failed) };
}
