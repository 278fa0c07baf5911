/** Checks of a relay chain's node, over a connection of their own: what proofs of finality and of heads are made of. */
import type { CheckJob, CheckRow } from "../../core/checks/check_row.ts";
import { describeFault, REQUEST_TIMEOUT_MS } from "../../core/checks/check_row.ts";
import { otherKeys } from "../../core/ismp/storage_keys.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../../core/runtime/retry.ts";
import { parachainHeadKey } from "../../core/substrate/parachain_heads.ts";
import type { RelayBlock, RelayChain } from "./relay_chain.ts";

/** Blocks below the final one whose state only archive nodes have: pruning nodes keep 256. */
const ARCHIVE_DEPTH = 300;

/** What the node is needed for. */
export interface RelayCheckOptions {
  /** Name of the rows: the hub, or the chain whose heads are proved. */
  readonly chain: string;
  /** Configuration key of the node. */
  readonly key: string;
  readonly proves: "grandpa" | "beefy" | { readonly headOf: number };
}

/** Connection of one round. */
type CheckedRelay = Pick<
  RelayChain,
  | "host"
  | "fetchFinalized"
  | "fetchBeefyFinalized"
  | "fetchHash"
  | "fetchMmrProof"
  | "fetchReadProof"
  | "fetchStorage"
  | "proveFinality"
  | "close"
>;

/** Creates the checks; the result lists those of one round. */
export function checkRelayNode(
  clock: Clock,
  open: () => CheckedRelay,
  options: RelayCheckOptions,
): () => readonly CheckJob[] {
  const run = async (signal: AbortSignal): Promise<readonly CheckRow[]> => {
    const relay = open();
    try {
      return await checkRelay({ clock, relay, options }, signal);
    } finally {
      await relay.close();
    }
  };
  const { chain, proves } = options;
  return () => [{ chain, check: typeof proves === "string" ? proves : "state_proof", run }];
}

/** What one round needs. */
interface RelayRound {
  readonly clock: Clock;
  readonly relay: CheckedRelay;
  readonly options: RelayCheckOptions;
}

async function checkRelay(round: RelayRound, signal: AbortSignal): Promise<readonly CheckRow[]> {
  const { clock, relay, options: { chain, key, proves } } = round;
  const row = { chain, endpoint: relay.host } as const;
  const startMs = clock.now();
  let final: RelayBlock;
  try {
    const deadline = { what: `an answer of ${relay.host}`, afterMs: REQUEST_TIMEOUT_MS, signal };
    final = await withDeadline(clock, deadline, (inner) => relay.fetchFinalized(inner));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RpcFault) && !(error instanceof DeadlineFault)) throw error;
    const reason = error instanceof RpcFault ? describeFault(error) : "timeout";
    const advice = `check ${key} and that the node runs`;
    return [{ ...row, check: "endpoint", result: "failed", found: `does not answer: ${reason}`, advice }];
  }
  const latency = `answers in ${Math.round(clock.now() - startMs)} ms, final block ${final.header.number}`;
  const rows = await Promise.all(
    typeof proves === "object" ? [checkHead(round, final, proves.headOf, signal)] : [
      proves === "grandpa" ? checkGrandpa(round, final, signal) : checkBeefy(round, signal),
      checkArchive(round, final, signal),
    ],
  );
  return [{ ...row, check: "endpoint", result: "ok", found: latency }, ...rows];
}

/** A row without its place. */
type Verdict = Pick<CheckRow, "result" | "found" | "advice">;

/** Makes one check. @param refused judges a fault of the node by its description. */
async function judge(
  { relay, options: { chain } }: RelayRound,
  check: CheckRow["check"],
  work: () => Promise<Verdict>,
  refused: (reason: string) => Verdict,
): Promise<CheckRow> {
  const row = { chain, endpoint: relay.host, check };
  try {
    return { ...row, ...await work() };
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    return { ...row, ...refused(describeFault(fault)) };
  }
}

function checkHead(
  round: RelayRound,
  { header, hash }: RelayBlock,
  paraId: number,
  signal: AbortSignal,
): Promise<CheckRow> {
  const { relay, options: { key } } = round;
  const keys = [parachainHeadKey(paraId)];
  return judge(round, "state_proof", async () => {
    const [head] = await relay.fetchStorage(keys, hash, signal);
    if (head === undefined) {
      const found = `has no head of parachain ${paraId}`;
      return { result: "failed", found, advice: `name a node of the hub's relay chain in ${key}` };
    }
    const nodes = await relay.fetchReadProof(keys, hash, signal);
    const found = `proves the head of parachain ${paraId} in block ${header.number} by ${nodes.length} nodes`;
    return { result: "ok", found };
  }, (reason) => ({
    result: "failed",
    found: `proves no head of parachain ${paraId}: ${reason}`,
    advice: "use a full node of the relay chain that allows state_getReadProof",
  }));
}

function checkGrandpa(round: RelayRound, { header }: RelayBlock, signal: AbortSignal): Promise<CheckRow> {
  const advice = "use a full node of the chain that allows grandpa_proveFinality";
  return judge(round, "grandpa", async () => {
    const proof = await round.relay.proveFinality(header.number, signal);
    return proof === undefined
      ? { result: "warning", found: `no finality proof of block ${header.number}`, advice }
      : { result: "ok", found: `a finality proof of ${proof.length} bytes` };
  }, (reason) => ({ result: "failed", found: `no finality proofs: ${reason}`, advice }));
}

async function checkBeefy(round: RelayRound, signal: AbortSignal): Promise<CheckRow> {
  const { relay } = round;
  let known: string | undefined;
  return await judge(round, "beefy", async () => {
    const head = await relay.fetchBeefyFinalized(signal);
    known = `BEEFY has justified block ${head.header.number}`;
    await relay.fetchMmrProof(head, signal);
    return { result: "ok", found: `${known}, and the node proves its leaves (mmr_generateProof)` };
  }, (reason) => ({
    result: "failed",
    found: known === undefined
      ? `no BEEFY finality: ${reason}`
      : `${known}, and the node proves no leaves (mmr_generateProof): ${reason}`,
    advice: "use a full node of a relay chain with BEEFY, with its offchain database",
  }));
}

function checkArchive(round: RelayRound, { header }: RelayBlock, signal: AbortSignal): Promise<CheckRow> {
  const { relay } = round;
  const block = Math.max(1, header.number - ARCHIVE_DEPTH);
  return judge(round, "node_state", async () => {
    await relay.fetchStorage([otherKeys.timestampNow()], await relay.fetchHash(block, signal), signal);
    return { result: "ok", found: `has the state of block ${block}, ${ARCHIVE_DEPTH} below the final one` };
  }, (reason) => ({
    result: "warning",
    found: `has no state of block ${block}: ${reason}; what was missed for an hour cannot be proved`,
    advice: "use an archive node (--state-pruning=archive)",
  }));
}
