/**
 * Results of checks for the operator, as data: `check` prints them, the running programs log their changes and keep
 * them on a board. Pure. Start reading at {@link CheckRow}.
 */
import type { EventCode } from "../telemetry/events.ts";

/** Result of one check. `warning`: works, but needs attention. `failed`: must be fixed. */
export type CheckOutcome = "ok" | "warning" | "failed";

/** Checks with their subject, by code. A code never changes its meaning. */
export const checkSubjects = {
  endpoint: "the endpoint answers, and how fast",
  chain_id: "the endpoint serves the configured chain",
  head: "the newest block of the endpoint, against its other endpoints",
  finalized: "the endpoint knows the newest final block",
  batch: "calls that the endpoint takes in one request",
  logs: "blocks that the endpoint takes in one eth_getLogs",
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
  key_file: "key files that others may read",
  price: "sources of the native token's price",
  database: "the database: writable, its version and its owner",
  instance: "another instance that holds the database",
  open_files: "files and connections that the program may open",
  light_client: "the light client that updates advance",
  beacon_routes: "what the beacon node serves, and so the size of an update",
  beacon_forks: "forks of the beacon chain by the node's schedule, and whether they can be followed",
  grandpa: "finality proofs of the relay chain's node",
  beefy: "BEEFY justifications of the relay chain's node",
} as const;

/** Code of a check: one of {@link checkSubjects}, or the event of a start check that found something. */
export type CheckCode = keyof typeof checkSubjects | EventCode;

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
