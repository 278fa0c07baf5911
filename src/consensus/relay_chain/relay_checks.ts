/** Checks of a relay chain's node, over a connection of their own: what proofs of finality and of heads are made of. */
import {
  about,
  adviseOnFault,
  type CheckCode,
  type CheckJob,
  type CheckRow,
  describeFault,
  type RowsAbout,
  silenceRow,
} from "../../core/checks/check_row.ts";
import { otherKeys } from "../../core/ismp/storage_keys.ts";
import { onFault } from "../../core/rpc/call.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { parachainHeadKey } from "../../core/substrate/parachain_heads.ts";
import type { RelayBlock, RelayChain } from "./relay_chain.ts";

/** Blocks below the final one whose state only archive nodes have: pruning nodes keep 256. */
const ARCHIVE_DEPTH = 300;

/** What the node is needed for. */
export interface RelayCheckOptions {
  /** Name of the rows: the hub, or the chain whose heads are proved. */
  readonly chain: string;
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

/** Creates the check. */
export function checkRelayNode(
  clock: Clock,
  open: () => CheckedRelay,
  options: RelayCheckOptions,
): CheckJob {
  const { chain, proves } = options;
  const run = async (signal: AbortSignal): Promise<readonly CheckRow[]> => {
    const relay = open();
    try {
      return await checkRelay({ clock, relay, options }, signal)
        .catch(onFault((fault) => [silenceRow(chain, fault, false)]));
    } finally {
      await relay.close();
    }
  };
  return { chain, check: typeof proves === "string" ? proves : "state_proof", run };
}

/** What one round needs. */
interface RelayRound {
  readonly clock: Clock;
  readonly relay: CheckedRelay;
  readonly options: RelayCheckOptions;
}

async function checkRelay(round: RelayRound, signal: AbortSignal): Promise<readonly CheckRow[]> {
  const { clock, relay, options: { chain, proves } } = round;
  const startMs = clock.now();
  const final = await relay.fetchFinalized(signal);
  const latency = `answers in ${Math.round(clock.now() - startMs)} ms, final block ${final.header.number}`;
  const rows = await Promise.all(
    typeof proves === "object" ? [checkHead(round, final, proves.headOf, signal)] : [
      proves === "grandpa" ? checkGrandpa(round, final, signal) : checkBeefy(round, signal),
      checkArchive(round, final, signal),
    ],
  );
  return [about(chain, relay.host).ok("endpoint", latency), ...rows];
}

/** Makes one check. @param refused result where the node refuses it */
async function judge(
  { relay, options: { chain } }: RelayRound,
  check: CheckCode,
  work: (at: RowsAbout) => Promise<CheckRow>,
  refused: "warning" | "failed" = "failed",
): Promise<CheckRow> {
  const at = about(chain, relay.host);
  return await work(at).catch(
    onFault((fault) =>
      at[refused](check, `${fault.where.method}: ${describeFault(fault)}`, adviseOnFault(fault))
    ),
  );
}

function checkHead(
  round: RelayRound,
  { header, hash }: RelayBlock,
  paraId: number,
  signal: AbortSignal,
): Promise<CheckRow> {
  const { relay } = round;
  const keys = [parachainHeadKey(paraId)];
  return judge(round, "state_proof", async ({ ok, failed }) => {
    const [head] = await relay.fetchStorage(keys, hash, signal);
    if (head === undefined) {
      const advice = "use a node of the hub's relay chain";
      return failed("state_proof", `has no head of parachain ${paraId}`, advice);
    }
    const nodes = await relay.fetchReadProof(keys, hash, signal);
    const found = `proves the head of parachain ${paraId} in block ${header.number} by ${nodes.length} nodes`;
    return ok("state_proof", found);
  });
}

function checkGrandpa(round: RelayRound, { header }: RelayBlock, signal: AbortSignal): Promise<CheckRow> {
  return judge(round, "grandpa", async ({ ok, warning }) => {
    const proof = await round.relay.proveFinality(header.number, signal);
    const advice = "use a full node of the chain that allows grandpa_proveFinality";
    return proof === undefined
      ? warning("grandpa", `no finality proof of block ${header.number}`, advice)
      : ok("grandpa", `a finality proof of ${proof.length} bytes`);
  });
}

function checkBeefy(round: RelayRound, signal: AbortSignal): Promise<CheckRow> {
  const { relay } = round;
  return judge(round, "beefy", async ({ ok }) => {
    const head = await relay.fetchBeefyFinalized(signal);
    await relay.fetchMmrProof(head, signal);
    const block = head.header.number;
    return ok(
      "beefy",
      `BEEFY has justified block ${block}, and the node proves its leaves (mmr_generateProof)`,
    );
  });
}

function checkArchive(round: RelayRound, { header }: RelayBlock, signal: AbortSignal): Promise<CheckRow> {
  const { relay } = round;
  const block = Math.max(1, header.number - ARCHIVE_DEPTH);
  return judge(round, "node_state", async ({ ok }) => {
    await relay.fetchStorage([otherKeys.timestampNow()], await relay.fetchHash(block, signal), signal);
    return ok("node_state", `has the state of block ${block}, ${ARCHIVE_DEPTH} below the final one`);
  }, "warning");
}
