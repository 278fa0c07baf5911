/** Checks of a relay chain's node, over a connection of their own: what proofs of finality and of heads are made of. */
import {
  about,
  type CheckJob,
  type CheckRow,
  describeFault,
  REQUEST_TIMEOUT_MS,
  type RowsAbout,
} from "../../core/checks/check_row.ts";
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
  const at = about(chain, relay.host);
  const startMs = clock.now();
  let final: RelayBlock;
  try {
    const deadline = { what: `an answer of ${relay.host}`, afterMs: REQUEST_TIMEOUT_MS, signal };
    final = await withDeadline(clock, deadline, (inner) => relay.fetchFinalized(inner));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RpcFault) && !(error instanceof DeadlineFault)) throw error;
    const reason = error instanceof RpcFault ? describeFault(error) : "timeout";
    return [at.failed("endpoint", `does not answer: ${reason}`, `check ${key} and that the node runs`)];
  }
  const latency = `answers in ${Math.round(clock.now() - startMs)} ms, final block ${final.header.number}`;
  const rows = await Promise.all(
    typeof proves === "object" ? [checkHead(round, final, proves.headOf, signal)] : [
      proves === "grandpa" ? checkGrandpa(round, final, signal) : checkBeefy(round, signal),
      checkArchive(round, final, signal),
    ],
  );
  return [at.ok("endpoint", latency), ...rows];
}

/** Makes one check. @param refused makes the row of a fault of the node from its description. */
async function judge(
  { relay, options: { chain } }: RelayRound,
  work: (at: RowsAbout) => Promise<CheckRow>,
  refused: (at: RowsAbout, reason: string) => CheckRow,
): Promise<CheckRow> {
  const at = about(chain, relay.host);
  try {
    return await work(at);
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    return refused(at, describeFault(fault));
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
  return judge(round, async ({ ok, failed }) => {
    const [head] = await relay.fetchStorage(keys, hash, signal);
    if (head === undefined) {
      const advice = `name a node of the hub's relay chain in ${key}`;
      return failed("state_proof", `has no head of parachain ${paraId}`, advice);
    }
    const nodes = await relay.fetchReadProof(keys, hash, signal);
    const found = `proves the head of parachain ${paraId} in block ${header.number} by ${nodes.length} nodes`;
    return ok("state_proof", found);
  }, ({ failed }, reason) => {
    const advice = "use a full node of the relay chain that allows state_getReadProof";
    return failed("state_proof", `proves no head of parachain ${paraId}: ${reason}`, advice);
  });
}

function checkGrandpa(round: RelayRound, { header }: RelayBlock, signal: AbortSignal): Promise<CheckRow> {
  const advice = "use a full node of the chain that allows grandpa_proveFinality";
  return judge(round, async ({ ok, warning }) => {
    const proof = await round.relay.proveFinality(header.number, signal);
    return proof === undefined
      ? warning("grandpa", `no finality proof of block ${header.number}`, advice)
      : ok("grandpa", `a finality proof of ${proof.length} bytes`);
  }, ({ failed }, reason) => failed("grandpa", `no finality proofs: ${reason}`, advice));
}

async function checkBeefy(round: RelayRound, signal: AbortSignal): Promise<CheckRow> {
  const { relay } = round;
  let known = "";
  return await judge(round, async ({ ok }) => {
    const head = await relay.fetchBeefyFinalized(signal);
    known = `BEEFY has justified block ${head.header.number}, and the node proves `;
    await relay.fetchMmrProof(head, signal);
    return ok("beefy", `${known}its leaves (mmr_generateProof)`);
  }, ({ failed }, reason) => {
    const missing = known === "" ? "no BEEFY finality" : `${known}no leaves (mmr_generateProof)`;
    const advice = "use a full node of a relay chain with BEEFY, with its offchain database";
    return failed("beefy", `${missing}: ${reason}`, advice);
  });
}

function checkArchive(round: RelayRound, { header }: RelayBlock, signal: AbortSignal): Promise<CheckRow> {
  const { relay } = round;
  const block = Math.max(1, header.number - ARCHIVE_DEPTH);
  return judge(round, async ({ ok }) => {
    await relay.fetchStorage([otherKeys.timestampNow()], await relay.fetchHash(block, signal), signal);
    return ok("node_state", `has the state of block ${block}, ${ARCHIVE_DEPTH} below the final one`);
  }, ({ warning }, reason) => {
    const found = `has no state of block ${block}: ${reason}; what was missed for an hour cannot be proved`;
    return warning("node_state", found, "use an archive node (--state-pruning=archive)");
  });
}
