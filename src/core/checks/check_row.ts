/**
 * Results of checks for the operator, as data: `check` prints them, the running programs log their changes and keep
 * them on a board. Pure. Start reading at {@link CheckRow}.
 */
import { type ConfigResult, renderDiagnostic } from "../config/diagnostics.ts";
import { RpcFault, type RpcFaultCode } from "../rpc/call.ts";
import type { Clock } from "../runtime/clock.ts";
import { mapLimited } from "../runtime/limit.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import { findingAdvice, type FindingCode } from "./findings.ts";

/** Result of one check. `warning`: works, but needs attention. `failed`: must be fixed. */
export type CheckOutcome = "ok" | "warning" | "failed";

/** Checks with their subject, by code. A code never changes its meaning. */
export const checkSubjects = {
  endpoint: "the endpoint answers, and how fast",
  chain_id: "the endpoint serves the configured chain",
  head: "the newest block of the endpoint, against its other endpoints",
  finalized: "the endpoint knows the newest final block",
  batch: "calls that the endpoint accepts in one request",
  logs: "blocks that the endpoint accepts in one eth_getLogs",
  simulation: "how deliveries are simulated with the endpoint",
  state_proof: "the endpoint proves the state that the hub knows",
  clock: "this machine's clock against the chain's newest block",
  host: "the ISMP host contract, its handler, fee token and hub",
  node: "the node's chain, runtime, hashing and RPC methods",
  node_state: "the node keeps the state that proofs are made of",
  offchain_index: "the node keeps what the chain indexes offchain",
  hub_view: "what the hub knows of the chain, and since when",
  host_view: "what the chain knows of the hub, and since when",
  balance: "the account's balance against the cost of 100 deliveries",
  nonce: "nonces of the account that this relayer did not use",
  signer: "the account that signs",
  configuration: "warnings about the configuration, and files of keys that others may read",
  price: "sources of the native token's price",
  database: "the database: writable, its version and its owner",
  instance: "another instance that holds the database",
  light_client: "the light client that updates advance",
  beacon_routes: "what the beacon node serves",
  beacon_forks: "forks of the beacon chain by the node's schedule, and whether they can be followed",
  grandpa: "finality proofs of the relay chain's node",
  beefy: "BEEFY justifications of the relay chain's node",
} as const;

/** Code of a check: its subject, or what it found. */
export type CheckCode = keyof typeof checkSubjects | FindingCode;

/** Result of one check of one chain or endpoint. Texts may hold words of nodes: escape them where they are shown. */
export interface CheckRow {
  /** State machine, or {@link MACHINE} for what belongs to no chain. */
  readonly chain: string;
  /** Host of the endpoint, where the check is about one. */
  readonly endpoint?: string | undefined;
  readonly check: CheckCode;
  readonly result: CheckOutcome;
  /** A sentence without a full stop. */
  readonly found: string;
  /** What the operator can do; absent: nothing needs to be done. */
  readonly advice?: string | undefined;
}

/** Name in the place of a chain for checks of the machine, the files and the program itself. */
export const MACHINE = "machine";

/** Makes a row of one result; without `advice` that of the finding's code applies. */
type RowOf = (check: CheckCode, found: string, advice?: string) => CheckRow;

/** Rows about one subject, by their result. */
export type RowsAbout = Readonly<Record<CheckOutcome, RowOf>>;

/** Rows about a chain, or about one of its endpoints. */
export function about(chain: string, endpoint?: string): RowsAbout {
  const place = endpoint === undefined ? { chain } : { chain, endpoint };
  const rowOf = (result: CheckOutcome): RowOf => (check, found, advice = adviceOf(check)) => {
    const row = { ...place, check, result, found };
    return result === "ok" || advice === undefined ? row : { ...row, advice };
  };
  return { ok: rowOf("ok"), warning: rowOf("warning"), failed: rowOf("failed") };
}

const adviceByCode: Partial<Record<CheckCode, string>> = findingAdvice;

function adviceOf(check: CheckCode): string | undefined {
  const advice = adviceByCode[check];
  return advice === "" ? undefined : advice;
}

/** True for what keeps a chain out while it is checked before its first use. */
export function keepsOut({ result }: CheckRow): boolean {
  return result === "failed";
}

/** Counts of results. */
export type CheckCounts = Readonly<Record<CheckOutcome, number>>;

/** Counts the rows by result. */
export function countResults(rows: readonly CheckRow[]): CheckCounts {
  const counts = { ok: 0, warning: 0, failed: 0 };
  for (const { result } of rows) counts[result]++;
  return counts;
}

/** Worst result of the rows; `ok` without any. */
export function worstResult(rows: readonly CheckRow[]): CheckOutcome {
  const { failed, warning } = countResults(rows);
  return failed > 0 ? "failed" : warning > 0 ? "warning" : "ok";
}

/** Checks that are made together: what they read belongs to one subject. */
export interface CheckJob {
  readonly chain: string;
  /** Code of the row that says that the job itself had no result. */
  readonly check: CheckCode;
  /** May throw an `RpcFault`: then the row tells it; of the chain's own endpoint, that there is no answer at all. */
  readonly run: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
}

/** Jobs of rows that are known without asking anybody. */
export function knownRows(rows: readonly CheckRow[]): readonly CheckJob[] {
  return rows.map((row) => ({ chain: row.chain, check: row.check, run: () => Promise.resolve([row]) }));
}

/** Time of one job, ms: all run at once, and the whole takes at most ten seconds. */
export const CHECK_TIMEOUT_MS = 9_000;

/** Time of one request to an endpoint, ms: two in a row fit into {@link CHECK_TIMEOUT_MS}. */
export const REQUEST_TIMEOUT_MS = 4_000;

/**
 * Runs jobs; rows are in the order of the jobs. Throws the signal's reason, and defects.
 * @param atOnce jobs at a time, for a program that has other work; absent: all
 */
export async function runChecks(
  { clock, atOnce = Number.MAX_SAFE_INTEGER }: { readonly clock: Clock; readonly atOnce?: number },
  jobs: readonly CheckJob[],
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const results = await mapLimited(jobs, { max: atOnce, signal }, (job, each) => runJob(clock, job, each));
  const endpoints = results.flatMap((result) => result instanceof Error ? [] : result)
    .filter(({ check }) => check === "endpoint");
  return eachOnce(results.flatMap((result, at): readonly CheckRow[] => {
    if (!(result instanceof Error)) return result;
    const { chain = "", check = "endpoint" } = jobs[at] ?? {};
    const row = result instanceof RpcFault
      ? faultRow({ chain, check }, result)
      : about(chain).failed(check, NO_RESULT, "check the endpoints of the chain, or run the check again");
    const asked = result instanceof RpcFault ? [chain, result.where.chain] : [chain];
    return asked.some((each) => isSilent(endpoints, each, row.endpoint)) ? [] : [row];
  }));
}

/** Found of a check that takes too long. */
const NO_RESULT = `no result within ${CHECK_TIMEOUT_MS / 1_000} s`;

/**
 * True where nothing answers at the endpoints of a chain, which their own rows say: what else could not be asked there is
 * the same fact. @param hosts of the endpoints, with commas between them; `undefined`: all of the chain
 */
function isSilent(rows: readonly CheckRow[], chain: string, hosts: string | undefined): boolean {
  const asked = rows.filter((row) =>
    row.chain === chain && (hosts?.split(", ").includes(row.endpoint ?? "") ?? true)
  );
  return asked.length > 0 && asked.every(({ result }) => result === "failed");
}

/** Sections may share an endpoint: what two jobs find of it is one row, the worse one. */
function eachOnce(rows: readonly CheckRow[]): readonly CheckRow[] {
  const found = new Map<unknown, CheckRow>();
  for (const row of rows) {
    const key = row.endpoint === undefined ? row : JSON.stringify([row.chain, row.endpoint, row.check]);
    if ((found.get(key)?.result ?? "ok") === "ok") found.set(key, row);
  }
  return [...found.values()];
}

async function runJob(
  clock: Clock,
  { chain, check, run }: CheckJob,
  signal: AbortSignal,
): Promise<readonly CheckRow[] | RpcFault | DeadlineFault> {
  try {
    const deadline = { what: `check ${check} of ${chain}`, afterMs: CHECK_TIMEOUT_MS, signal };
    return await withDeadline(clock, deadline, run);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RpcFault && check === "endpoint" && error.where.chain === chain) {
      return [silenceRow(chain, error, false)];
    }
    if (error instanceof RpcFault || error instanceof DeadlineFault) return error;
    throw error;
  }
}

/** Row of a check that ended with a fault of an endpoint. */
function faultRow(
  { chain, check }: Pick<CheckRow, "chain" | "check">,
  fault: RpcFault,
): CheckRow {
  const { where: { endpointHost: endpoint, method } } = fault;
  return about(chain, endpoint).failed(check, `${method}: ${describeFault(fault)}`, adviseOnFault(fault));
}

/** Row of an endpoint that gives no answer at all. @param hasOthers true: others of the chain are used */
export function silenceRow(chain: string, fault: RpcFault, hasOthers: boolean): CheckRow {
  const found = `does not answer: ${describeFault(fault)}${hasOthers ? "; the others are used" : ""}`;
  const at = about(chain, fault.where.endpointHost);
  return at[hasOthers ? "warning" : "failed"]("endpoint", found, adviseOnFault(fault));
}

/** What an endpoint answered instead, in a few words. */
export function describeFault({ code, detail }: RpcFault): string {
  return detail === undefined ? code : `${code} (${detail})`;
}

/** What helps against a fault of an endpoint, where it is more than another endpoint. */
const faultAdvice: Partial<Record<RpcFaultCode, string>> = {
  unreachable: "check the URL and that the node runs",
  timeout: "check the load of the node, or use a faster endpoint",
  throttled: "use a plan with more requests, or another endpoint",
  unauthorized: "check the key in the URL and the plan",
  over_budget: "raise requests_per_second",
  missing_method: "allow the method at the node, or use an endpoint that offers it",
  pruned: "use a node that keeps old state (an archive node)",
  wrong_chain: "correct or remove the URL",
  runtime_unsupported: "update this program",
};

/** What helps against a fault of an endpoint. */
export function adviseOnFault({ code }: RpcFault): string {
  return faultAdvice[code] ?? "check the node, or use another endpoint";
}

/** Row about what was said of a configuration file when it was read. */
export function judgeConfiguration(
  file: string,
  { remarks }: Pick<ConfigResult<unknown>, "remarks">,
): CheckRow {
  const { ok, warning } = about(MACHINE);
  const warnings = remarks.filter(({ kind }) => kind === "warning");
  return warnings.length === 0
    ? ok("configuration", `nothing is wrong with ${file}`)
    : warning("configuration", warnings.map((each) => renderDiagnostic(file, each)).join("; "));
}
