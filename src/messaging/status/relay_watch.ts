/** Watches a running messaging relayer for its operator: its chains and its ledger, besides what any program has. */
import { ChainBoard } from "../../core/chains/chain_board.ts";
import type { Chain } from "../../core/chains/port.ts";
import { HourlyMaxima } from "../../core/telemetry/status_sections.ts";
import { ProgramWatch } from "../../core/checks/program_watch.ts";
import { STARTING } from "../../core/checks/program_status.ts";
import { ChainNames } from "../../core/config/chain_names.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { onFault } from "../../core/rpc/call.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { Refreshed } from "../../core/runtime/refreshed.ts";
import { everyWorker, type Worker } from "../../core/runtime/worker.ts";
import { QueryFault, type StatusSources } from "../../core/telemetry/http/status_server.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type Ledger, LedgerFault } from "../ledger/ledger.ts";
import { pageMessages } from "./message_pages.ts";
import { createJournalCounters } from "./journal_counters.ts";
import { ofDatabase } from "./relay_reasons.ts";
import { type LedgerHistory, sumHistory } from "./relay_facts.ts";
import { buildStatus, emptyStatus, relayGauges, type RelayStatus } from "./relay_status.ts";
import { relayView } from "./status_view.ts";

/** Age of a snapshot up to which it is shown again: a scrape every 100 ms reads the database once in a while. */
const SNAPSHOT_EVERY_MS = 5_000;

/** Interval of tries to write a database that could not be written. */
const PROBE_EVERY_MS = 5_000;

/** Age of what is read of the last day and month: it is made of many rows. */
const HISTORY_EVERY_MS = 5 * 60_000;

/** Interval of reads that nothing else needs. */
const READ_EVERY_MS = 60_000;

/** Age from which the balance of an account that has native tokens is read again; an empty one at every round. */
const BALANCE_EVERY_MS = 5 * 60_000;

/** Chains of a session. */
interface WatchedChains<Hub, Entry> {
  readonly hub: Hub;
  readonly chains: readonly Entry[];
}

/** Chain of a session. */
type WatchedChain = { readonly chain: Chain };

/** The ledger and the chains while a session is open. */
interface WatchedSession {
  readonly ledger: Ledger;
  readonly count: (nowMs: number) => void;
  readonly history: Refreshed<LedgerHistory>;
  readonly hub: Pick<Chain, "id" | "reads">;
  readonly chains: readonly Chain[];
}

/** Watches one relayer. */
export class RelayWatch extends ProgramWatch<RelayStatus> {
  readonly #chains: ChainBoard;
  readonly #ages = new HourlyMaxima();
  #session: WatchedSession | undefined;

  constructor(clock: Clock, names: ChainNames = new ChainNames()) {
    super(clock, names, {
      ...relayView,
      program: "causeway",
      gauges: relayGauges,
      everyMs: SNAPSHOT_EVERY_MS,
    });
    this.#chains = new ChainBoard({
      clock,
      onStage: (target, stage, tookMs) =>
        this.registry.observe("causeway_message_stage_seconds", { target, stage }, tookMs / 1_000),
    });
  }

  /** Connections whose chains are observed. */
  observe<Hub extends Chain, Entry extends WatchedChain>(
    { hub, chains }: WatchedChains<Hub, Entry>,
  ): WatchedChains<Hub, Entry> {
    return {
      hub: this.#chains.observe(hub),
      chains: chains.map((entry) => ({ ...entry, chain: this.#chains.observe(entry.chain) })),
    };
  }

  /** Begins to read the ledger of a session; returns it with its transactions timed. */
  open(ledger: Ledger, { hub, chains }: WatchedChains<Pick<Chain, "id" | "reads">, WatchedChain>): Ledger {
    const { registry, clock } = this;
    const count = createJournalCounters({
      registry,
      statistics: ledger.statistics,
      feeDecimalsOf: (chain) => this.#chains.read(chain).feeTokenDecimals,
    }, clock.now());
    this.#session = {
      ledger,
      count,
      history: new Refreshed(clock, {
        everyMs: HISTORY_EVERY_MS,
        make: () => sumHistory(ledger, clock.now()),
      }),
      hub,
      chains: chains.map(({ chain }) => chain),
    };
    this.snapshot.drop();
    return {
      ...ledger,
      transaction: (work) => {
        const startMs = clock.now();
        try {
          return ledger.transaction(work);
        } finally {
          registry.observe("causeway_database_transaction_seconds", {}, (clock.now() - startMs) / 1_000);
        }
      },
    };
  }

  override sources(): StatusSources {
    const messagesJson = (query: URLSearchParams): string => {
      const { ledger } = this.#session ?? {};
      if (ledger === undefined) throw new QueryFault("No database is open yet.");
      return pageMessages({ ledger, names: this.names }, query);
    };
    return { ...super.sources(), messagesJson };
  }

  /** Ends reading the ledger, before it is closed. */
  close(): void {
    this.#session = undefined;
    this.forget();
  }

  /** Workers that only watch, and the one that tries whether a database can be written again. */
  workers(log: Log): readonly Worker[] {
    this.#session?.ledger.watchFault((fault) => {
      this.snapshot.drop();
      if (fault === undefined) log.info("database_restored");
      else log.error("database_fault", { code: fault.code, explanation: fault.message });
    });
    return [
      ...this.watchers(),
      everyWorker(this.clock, "database", PROBE_EVERY_MS, () => this.#probe()),
      everyWorker(this.clock, "balances", READ_EVERY_MS, (signal) => this.#readMissing(log, signal)),
    ];
  }

  protected read(): RelayStatus {
    const place = this.place(this.#session?.hub.id.stateMachine ?? "");
    if (this.#session === undefined) return emptyStatus(place, [STARTING]);
    const { ledger, hub, chains, count, history } = this.#session;
    const readChain = (chain: StateMachine): ReturnType<ChainBoard["read"]> => this.#chains.read(chain);
    try {
      count(place.nowMs);
      return buildStatus({
        ...place,
        ledger,
        hub: hub.id.stateMachine,
        chains: chains.map(({ id }) => id.stateMachine),
        readChain,
        history: history.get(),
        ages: this.#ages,
      });
    } catch (error) {
      if (!(error instanceof LedgerFault)) throw error;
      return emptyStatus(place, [ofDatabase(error)]);
    }
  }

  #probe(): void {
    const ledger = this.#session?.ledger;
    try {
      if (ledger?.fault() !== undefined) ledger.checkWritable();
    } catch (error) {
      if (!(error instanceof LedgerFault) || error.reaction === "stop") throw error;
    }
  }

  /**
   * Reads the balances of all accounts, and since when a height was known that was there at the start; the chains tell the
   * board themselves.
   */
  async #readMissing(log: Log, signal: AbortSignal): Promise<void> {
    const attempt = async (
      event: "read_failed.balance" | "read_failed.update_age",
      chain: StateMachine,
      read: () => Promise<unknown> | undefined,
    ): Promise<void> => {
      await read()?.catch(onFault((error) => log.debug(event, { chain, error })));
    };
    const { hub, chains = [] } = this.#session ?? {};
    const due = chains.filter(({ id, relayer }) => {
      const { account, balanceWei } = this.#chains.read(id.stateMachine);
      const { value, atMs } = balanceWei ?? { value: 0n, atMs: 0 };
      // Chains of a later session, whose accounts may be others, have arrays of their own.
      return account !== relayer || value === 0n || this.clock.now() - atMs >= BALANCE_EVERY_MS;
    });
    const pairs = hub === undefined ? [] : chains.flatMap((chain) => [[hub, chain], [chain, hub]] as const);
    await Promise.all([
      ...due.map(({ id, gas }) =>
        attempt("read_failed.balance", id.stateMachine, () => gas?.fetchBalance(signal))
      ),
      ...pairs.map(([{ id: { stateMachine }, reads }, { id }]) => {
        const known = this.#chains.read(stateMachine).counterparties
          .find(({ counterparty }) => counterparty === id.stateMachine);
        if (known === undefined || known.isDated || known.height === 0n) return undefined;
        const at = { id, height: known.height };
        return attempt("read_failed.update_age", stateMachine, () => reads.fetchUpdateTime(at, signal));
      }),
    ]);
  }
}
