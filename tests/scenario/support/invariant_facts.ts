/** What the invariants of a run are checked against: what the relayers left behind, and what the chains say. */
import type { DevnetRole } from "../../../devnet/evm/accounts.ts";
import type { ChainHistory } from "../../../devnet/traffic/chain_history.ts";
import type { MinedTransaction } from "./consensus_hosts.ts";
import type { HubBooks } from "./hub_books.ts";
import type { LedgerSnapshot } from "./ledger_reader.ts";
import type { RelayerProcess } from "./relayer_process.ts";

/** What is looked at of a process; `endedAtMs`: milliseconds since 1970, `undefined` while it runs. */
export type ProcessTrace = Pick<RelayerProcess, "lines" | "text" | "endedAtMs">;

/** One relayer: an account, a database, and every process that ran with them, in order. */
export interface RelayerTrace {
  readonly role: DevnetRole;
  readonly ledger: LedgerSnapshot;
  /** Databases that gave way to replicas which were behind, as they were in the end. */
  readonly lost?: readonly LedgerSnapshot[];
  readonly processes: readonly (ProcessTrace & Pick<RelayerProcess, "assertNoErrors">)[];
}

/** What the hub's records are held against; `before`: its credit when the scene began. */
export interface MoneyFacts extends HubBooks {
  readonly before: HubBooks["credit"];
}

/** What the invariants of one relayer are checked against. */
export interface Facts {
  readonly hub: string;
  readonly histories: ReadonlyMap<string, ChainHistory>;
  /** Height of `source` that `target` knows. */
  readonly told: (source: string, target: string) => bigint;
  readonly trace: Pick<RelayerTrace, "role" | "ledger" | "lost"> & {
    readonly processes: readonly ProcessTrace[];
  };
  /** The relayer's transactions by EVM chain. */
  readonly mined: ReadonlyMap<string, readonly MinedTransaction[]>;
  readonly money: MoneyFacts;
  /** Names of the relayer on chains that do not know it by the address of its role, lower-case hex, by chain. */
  readonly accounts?: ReadonlyMap<string, string>;
}
