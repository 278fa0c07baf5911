/**
 * Watches a running relayer for its operator: what is observed of endpoints, chains and database comes together here,
 * and is served as metrics, readiness, status and page. Relaying depends on nothing of this.
 */
import type { Chain } from "../../core/chains/port.ts";
import { CheckBoard, renderProgramPage, STARTING, toCheckReasons } from "../../core/checks/program_status.ts";
import { ChainBoard } from "../../core/chains/chain_board.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { EndpointBoard } from "../../core/rpc/endpoint_board.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { Refreshed } from "../../core/runtime/refreshed.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { StatusSources } from "../../core/telemetry/http/status_server.ts";
import { ProgramWatch } from "../../core/telemetry/program_watch.ts";
import { type FoundReason, type NotReadyReason, ReasonMemory } from "../../core/telemetry/readiness.ts";
import { type Ledger, LedgerFault } from "../ledger/ledger.ts";
import { countGaps } from "../relay/scan.ts";
import { buildStatus } from "./build_status.ts";
import { ofDatabase } from "./relay_reasons.ts";
import type { RelayStatus } from "./relay_status.ts";
import { renderStatusPage } from "./status_view.ts";
import { writeStatusGauges } from "./status_gauges.ts";
import type { MetricRegistry } from "../../core/telemetry/metrics.ts";

/** Age of a snapshot up to which it is shown again: a scrape every 100 ms reads the database once in a while. */
const SNAPSHOT_EVERY_MS = 5_000;

/** Age of an exposition up to which it is sent again. */
const EXPOSITION_EVERY_MS = 1_000;

/** Interval of tries to write a database that could not be written. */
const PROBE_EVERY_MS = 5_000;

/** Interval of balances, and of reasons that nobody asks for meanwhile. */
const LOOK_EVERY_MS = 60_000;

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
  readonly counters: JournalCounters;
  readonly hub: StateMachine;
  readonly chains: readonly Chain[];
}

/** Watches one relayer. */
export class RelayWatch {
  readonly program: ProgramWatch;
  readonly endpoints: EndpointBoard;
  readonly #clock: Clock;
  readonly #checks: Pick<CheckBoard, "rows">;
  readonly #chains: ChainBoard;
  readonly #memory: ReasonMemory;
  readonly #snapshot: Refreshed<RelayStatus>;
  readonly #exposition: Refreshed<Promise<string>>;
  #session: WatchedSession | undefined;

  /** @param checks board of the checks that the relayer makes. */
  constructor(clock: Clock, checks: Pick<CheckBoard, "rows"> = new CheckBoard()) {
    this.#clock = clock;
    this.#checks = checks;
    this.program = new ProgramWatch(clock, "causeway");
    const { registry } = this.program;
    this.endpoints = new EndpointBoard({ clock, registry });
    this.#chains = new ChainBoard({
      clock,
      onStage: (target, stage, tookMs) =>
        registry.observe("causeway_message_stage_seconds", { target, stage }, tookMs / 1_000),
    });
    this.#memory = new ReasonMemory(clock);
    this.#snapshot = new Refreshed(clock, { everyMs: SNAPSHOT_EVERY_MS, make: () => this.#build() });
    this.#exposition = new Refreshed(clock, { everyMs: EXPOSITION_EVERY_MS, make: () => this.#expose() });
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
  open(ledger: Ledger, { hub, chains }: WatchedChains<Pick<Chain, "id">, WatchedChain>): Ledger {
    const { registry } = this.program;
    const counters = new JournalCounters({
      registry,
      statistics: ledger.statistics,
      feeDecimalsOf: (chain) => this.#chains.read(chain).feeTokenDecimals,
    }, this.#clock.now());
    this.#session = {
      ledger,
      counters,
      hub: hub.id.stateMachine,
      chains: chains.map(({ chain }) => chain),
    };
    return {
      ...ledger,
      transaction: (work) => {
        const startMs = this.#clock.now();
        try {
          return ledger.transaction(work);
        } finally {
          const tookMs = this.#clock.now() - startMs;
          registry.observe("causeway_database_transaction_seconds", {}, tookMs / 1_000);
        }
      },
    };
  }

  /** Ends reading the ledger, before it is closed. */
  close(): void {
    this.#session = undefined;
    this.program.troubles.clear();
    this.endpoints.clear();
  }

  /** Workers that only watch, and the one that tries whether a database can be written again. */
  workers(log: Log): readonly Worker[] {
    this.#session?.ledger.watchFault((fault) => {
      this.#snapshot.drop();
      if (fault === undefined) log.info("database_restored");
      else log.error("database_fault", { code: fault.code, explanation: fault.message });
    });
    return [this.program.loopWorker(), {
      name: "database",
      run: async (signal) => {
        while (!signal.aborted) {
          this.#probe();
          await this.#clock.sleep(PROBE_EVERY_MS, signal);
        }
      },
    }, {
      name: "balances",
      run: async (signal) => {
        while (!signal.aborted) {
          await this.#readBalances(log, signal);
          this.reasons();
          await this.#clock.sleep(LOOK_EVERY_MS, signal);
        }
      },
    }];
  }

  /** The snapshot. Throws a `LedgerFault` when the database cannot be read; `undefined`: nothing is open yet. */
  status(): RelayStatus | undefined {
    return this.#session === undefined ? undefined : this.#snapshot.get();
  }

  /** Reasons for which the relayer is not ready. */
  reasons(): readonly NotReadyReason[] {
    return this.#look().reasons;
  }

  /** The snapshot; where there is none, the reasons say why. */
  #look(): { readonly status: RelayStatus | undefined; readonly reasons: readonly NotReadyReason[] } {
    try {
      const status = this.status();
      const starting = (): readonly FoundReason[] => [
        STARTING,
        ...this.program.troubles.list(),
        ...toCheckReasons(this.#checks.rows),
      ];
      return { status, reasons: status?.reasons ?? this.#memory.date(starting()) };
    } catch (error) {
      if (!(error instanceof LedgerFault)) throw error;
      return { status: undefined, reasons: this.#memory.date([ofDatabase(error)]) };
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

  /** What the status server serves. */
  sources(): StatusSources {
    return {
      metrics: () => this.#exposition.get(),
      reasons: () => this.reasons(),
      page: () => {
        const { status, reasons } = this.#look();
        if (status !== undefined) return renderStatusPage(status);
        const silent = { program: "causeway", reasons, nowMs: this.#clock.now() };
        return renderProgramPage(silent, "messaging relayer", []);
      },
      statusJson: () => {
        const { status, reasons } = this.#look();
        return `${JSON.stringify(status ?? { reasons }, null, 2)}\n`;
      },
    };
  }

  #build(): RelayStatus {
    if (this.#session === undefined) throw new Error("No session is open");
    const { ledger, hub, chains } = this.#session;
    return buildStatus({
      ledger,
      hub,
      chains: chains.map(({ id }) => id.stateMachine),
      nowMs: this.#clock.now(),
      running: {
        startedAtMs: this.program.startedAtMs,
        readChain: (chain) => this.#chains.read(chain),
        endpoints: this.endpoints.list(),
        readHeights: (chain) => this.endpoints.heights(chain),
        warnings: this.program.warnings,
        checks: this.#checks.rows,
        troubles: this.program.troubles.list(),
        dateReasons: (found: readonly FoundReason[]) => this.#memory.date(found),
      },
    });
  }

  #expose(): Promise<string> {
    const { registry } = this.program;
    this.program.collect();
    this.endpoints.collect();
    try {
      this.#session?.counters.read(this.#clock.now());
      const status = this.status();
      if (status !== undefined) writeStatusGauges(registry, status);
      else registry.set("causeway_ready", {}, 0);
      if (this.#session !== undefined) {
        registry.set("causeway_reconciliation_gaps", {}, countGaps(this.#session.ledger));
      }
      registry.set("causeway_database_up", {}, this.#session?.ledger.fault() === undefined ? 1 : 0);
    } catch (error) {
      if (!(error instanceof LedgerFault)) throw error;
      registry.set("causeway_ready", {}, 0);
      registry.set("causeway_database_up", {}, 0);
    }
    return registry.expose();
  }

  /** Reads the balances of all accounts at once; the board is told by the chains themselves. */
  async #readBalances(log: Log, signal: AbortSignal): Promise<void> {
    await Promise.all((this.#session?.chains ?? []).map(async ({ id, gas }) => {
      try {
        await gas?.fetchBalance(signal);
      } catch (error) {
        if (!(error instanceof RpcFault)) throw error;
        log.debug("read_failed.balance", { chain: id.stateMachine, error });
      }
    }));
  }
}

/** What the counters need. */
interface JournalDeps {
  readonly registry: MetricRegistry;
  readonly statistics: Ledger["statistics"];
  /** Decimals of a chain's fee token; `undefined`: not read yet. */
  readonly feeDecimalsOf: (chain: StateMachine) => number | undefined;
}

/** Reads the ledger's news into the registry; counters begin at the start of the program, as those of Prometheus do. */
class JournalCounters {
  readonly #deps: JournalDeps;
  #readUntilMs: number;

  constructor(deps: JournalDeps, startMs: number) {
    this.#deps = deps;
    this.#readUntilMs = startMs;
  }

  /**
   * Reads what was written before `nowMs`. May throw a `LedgerFault`: then the period is read next time. Everything is
   * read before anything is counted, so that a fault counts nothing twice.
   */
  read(nowMs: number): void {
    const { registry, statistics, feeDecimalsOf } = this.#deps;
    // Rows of this very millisecond may still be written.
    const period = { afterMs: this.#readUntilMs, untilMs: nowMs - 1 };
    if (period.untilMs <= period.afterMs) return;
    const [ended, sums, mined, sending, finality, claimed, withdrawn] = [
      statistics.countEnded(period),
      statistics.sumMined(period),
      statistics.listMinedTransactions(period),
      statistics.listWaitsForSending(period),
      statistics.listWaitsForFinality(period),
      statistics.sumClaimed(period),
      statistics.sumWithdrawn(period),
    ];
    this.#readUntilMs = period.untilMs;
    for (const { source, target, state, count } of ended) {
      registry.add("causeway_messages_ended_total", { source, target, status: state }, count);
    }
    const observe = (target: string, stage: string, tookMs: number): void =>
      registry.observe("causeway_message_stage_seconds", { target, stage }, Math.max(0, tookMs) / 1_000);
    for (const { target, tookMs } of sending) observe(target, "sent", tookMs);
    for (const { target, tookMs } of finality) observe(target, "final", tookMs);
    for (const { chain, messages, signedAtMs, minedAtMs } of mined) {
      observe(chain, "included", minedAtMs - signedAtMs);
      if (messages > 0) registry.observe("causeway_batch_messages", { target: chain }, messages);
    }
    for (const { chain, purpose, result, count, spent, spentUsd, earnedUsd, offeredUsd } of sums) {
      const labels = { chain, purpose, result };
      registry.add("causeway_transactions_total", labels, count);
      registry.add("causeway_gas_spent_total", labels, spent);
      registry.add("causeway_gas_spent_dollars_total", labels, spentUsd);
      registry.add("causeway_revenue_dollars_total", { chain }, earnedUsd);
      registry.add("causeway_fees_offered_dollars_total", { chain }, offeredUsd);
    }
    const toTokens = (chain: StateMachine, units: number): number =>
      units / 10 ** (feeDecimalsOf(chain) ?? Infinity);
    for (const { source, feeUnits } of claimed) {
      registry.add("causeway_fees_claimed_total", { source }, toTokens(source, feeUnits));
    }
    for (const { chain, units } of withdrawn) {
      registry.add("causeway_fees_withdrawn_total", { chain }, toTokens(chain, units));
    }
  }
}
