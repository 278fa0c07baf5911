/**
 * Fills the snapshot from the ledger and, where a relayer runs, from what it has read of its chains and endpoints.
 * Reads a few hundred rows of counts at most; nothing is requested.
 */
import type { ChainSnapshot } from "../../core/chains/chain_board.ts";
import { HourlyMaxima, toHours } from "../../core/checks/hours.ts";
import { type SnapshotPlace, toChainStatus, toProgramStatus } from "../../core/checks/program_status.ts";
import { ChainNames } from "../../core/config/chain_names.ts";
import { findNamedChain } from "../../core/config/live_network.ts";
import { formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import type { MessagingConfig } from "../config/schema.ts";
import { wastedResults } from "../ledger/spending.ts";
import type { Ledger, OpenCount, Period } from "../ledger/ledger.ts";
import { readBandwidth } from "../relay/limits/bandwidth.ts";
import { findSpendingStop } from "../relay/limits/spending.ts";
import { countGaps } from "../relay/scan.ts";
import { findReasons, isDue, ofDatabase, RECENT_MS } from "./relay_reasons.ts";
import type { LegStatus, RelayStatus } from "./relay_status.ts";

/** Input of the snapshot. */
export interface StatusInput extends SnapshotPlace {
  readonly ledger: Pick<Ledger, "statistics" | "cursors" | "meta" | "withdrawals" | "fault">;
  readonly hub: StateMachine;
  /** Configured chains without the hub. */
  readonly chains: readonly StateMachine[];
  /** Last reads of a chain; nothing without a relayer. */
  readonly readChain: (chain: StateMachine) => ChainSnapshot;
  /** What the ledger knows of the last day and month; it may be some minutes old. */
  readonly history: LedgerHistory;
  readonly ages: HourlyMaxima;
}

/** What the ledger knows of the last day and month. */
export type LedgerHistory = ReturnType<typeof sumHistory>;

/** Reads what a snapshot shows of the last day and month: rows of a month, so not for every snapshot. */
export const sumHistory = ({ statistics }: Pick<Ledger, "statistics">, nowMs: number) => {
  const since = (days: number): Period => ({ afterMs: nowMs - days * DAY_MS, untilMs: nowMs });
  return {
    day: statistics.sumMined(since(1)),
    month: statistics.sumMined(since(30)),
    mined: statistics.sumMinedByHour(since(1)),
    delivered: statistics.countDeliveredByHour(since(1)),
  };
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Time for which the first costs are taken to be those of the whole: one transaction says little about the next minute. */
const MIN_EXTRAPOLATED_MS = HOUR_MS;

/** Time for which a top-up should last. */
const TOP_UP_HOURS = 7 * 24;

/** Rows of the last deliveries and withdrawals. */
const LAST_ROWS = 10;

/** Members of the snapshot that are the relayer's own. */
type OwnStatus = Omit<RelayStatus, "version" | "nowMs" | "hub" | "reasons" | "checks" | "warnings">;

/** Snapshot while there is no database to read. */
export function emptyStatus(place: SnapshotPlace, found: readonly FoundReason[]): RelayStatus {
  return toProgramStatus<OwnStatus>(place, {
    ...{ program: "causeway", chains: [], wallets: [], money: [], lightClients: [], legs: [] },
    ...{ delivered: [], claims: [], withdrawals: [], reconciliationGaps: 0 },
    isDatabaseUp: found.every(({ code }) => code !== "database_fault"),
  }, found);
}

/** Builds the snapshot. May throw a `LedgerFault`. */
export function buildStatus(input: StatusInput): RelayStatus {
  const { ledger, hub, nowMs } = input;
  const chains = listChains(input);
  const fault = ledger.fault();
  const own: OwnStatus = {
    program: "causeway",
    chains,
    wallets: listWallets(input),
    money: listMoney(input),
    lightClients: [hub, ...input.chains].flatMap((chain) =>
      input.readChain(chain).counterparties.map(({ height, ...each }) => ({
        chain,
        ...each,
        height: Number(height),
        ageMinByHour: input.ages.note(
          `${each.counterparty} on ${chain}`,
          (nowMs - each.roseAtMs) / 60_000,
          nowMs,
        ),
      }))
    ),
    legs: listLegs(input),
    delivered: ledger.statistics.listLastDelivered(LAST_ROWS),
    claims: listClaims(input),
    withdrawals: listWithdrawals(input),
    reconciliationGaps: countGaps(ledger),
    isDatabaseUp: fault === undefined,
  };
  const found = findReasons({ ...own, nowMs, hub });
  return toProgramStatus(input, own, [...fault === undefined ? [] : [ofDatabase(fault)], ...found]);
}

/** Builds the snapshot of a database that no relayer uses. May throw a `LedgerFault`. */
export function readStatus(
  { ledger, config: { hub, chains }, clock }: {
    readonly ledger: StatusInput["ledger"];
    readonly config: Pick<MessagingConfig, "hub" | "chains">;
    readonly clock: Pick<Clock, "now">;
  },
): RelayStatus {
  return buildStatus({
    ledger,
    program: "causeway",
    hub: hub.stateMachine,
    chains: chains.map(({ stateMachine }) => stateMachine),
    names: new ChainNames([hub, ...chains]),
    nowMs: clock.now(),
    readChain: () => ({ counterparties: [] }),
    history: sumHistory(ledger, clock.now()),
    ages: new HourlyMaxima(),
  });
}

function listChains(input: StatusInput): RelayStatus["chains"] {
  const { hub, nowMs, ledger, readChain, history: { mined } } = input;
  const inFlight = ledger.statistics.sumInFlight();
  return [hub, ...input.chains].map((chain) => ({
    ...toChainStatus(input, chain),
    gasPriceWei: readChain(chain).gasPriceWei?.value.toString(),
    gasPriceGweiByHour: toHours(
      mined.filter((each) => each.chain === chain).map((each) => ({ ...each, value: each.gasPriceGwei })),
      nowMs,
    ),
    lossLimit: findSpendingStop({
      ledger,
      clock: { now: () => nowMs },
      target: { id: { stateMachine: chain } },
    }),
    inFlight: inFlight.find((sum) => sum.chain === chain),
  }));
}

function listWallets({ chains, ledger, nowMs, readChain }: StatusInput): RelayStatus["wallets"] {
  return chains.flatMap((chain) => {
    const { balanceWei, account } = readChain(chain);
    if (balanceWei === undefined) return [];
    const { value, atMs: readAtMs } = balanceWei;
    const period = { afterMs: nowMs - DAY_MS, untilMs: nowMs };
    const { costWei = 0, sinceMs = nowMs } = ledger.statistics.sumSpent(chain, period) ?? {};
    // A relayer that began an hour ago spends in a day more than it has spent so far.
    const hours = Math.max(nowMs - sinceMs, MIN_EXTRAPOLATED_MS) / HOUR_MS;
    const missing = BigInt(Math.round(costWei / hours * TOP_UP_HOURS)) - value;
    return [{
      chain,
      address: account && toHex(account),
      unit: findNamedChain(chain)?.unit ?? "native tokens",
      balance: formatDecimal(value, 18),
      readAtMs,
      spentDay: formatDecimal(BigInt(Math.round(costWei)), 18),
      topUp: missing > 0n ? formatDecimal(missing, 18) : undefined,
      ...costWei > 0 && { runwayHours: Math.round(Number(value) / costWei * hours * 10) / 10 },
    }];
  });
}

/** Chains on which something was mined within a month. */
function listMoney({ history: { day, month, mined }, nowMs }: StatusInput): RelayStatus["money"] {
  return [...new Set(month.map(({ chain }) => chain))].sort().map((chain) => ({
    chain,
    day: toAccount(day.filter((each) => each.chain === chain)),
    month: toAccount(month.filter((each) => each.chain === chain)),
    profitUsdByHour: toHours(
      mined.filter((each) => each.chain === chain).map((each) => ({ ...each, value: each.profitUsd })),
      nowMs,
      0,
    ),
  }));
}

function toAccount(sums: LedgerHistory["month"]): RelayStatus["money"][number]["day"] {
  const add = (rows: typeof sums, value: (row: typeof sums[number]) => number): number =>
    rows.reduce((sum, row) => sum + value(row), 0);
  const [earnedUsd, spentUsd] = [add(sums, (row) => row.earnedUsd), add(sums, (row) => row.spentUsd)];
  const wastedUsd = add(sums.filter(({ result }) => wastedResults.has(result)), (row) => row.spentUsd);
  return { earnedUsd, spentUsd, wastedUsd, profitUsd: earnedUsd - spentUsd };
}

/** The legs of the configured chains, and those of which there are rows. */
function listLegs({ ledger, hub, chains, nowMs, history: { delivered } }: StatusInput): RelayStatus["legs"] {
  const { statistics } = ledger;
  const open = statistics.countOpen();
  const day = statistics.countEnded({ afterMs: nowMs - DAY_MS, untilMs: nowMs });
  const recent = statistics.countEnded({ afterMs: nowMs - RECENT_MS, untilMs: nowMs });
  const cursors = ledger.cursors.list();
  const pairs = [
    ...chains.flatMap((chain) => [{ source: chain, target: hub }, { source: hub, target: chain }]),
    ...open,
    ...day,
  ];
  const unique = new Map(pairs.map(({ source, target }) => [`${source} ${target}`, { source, target }]));
  return [...unique.values()].map(({ source, target }) => {
    const isOfLeg = (row: Pick<OpenCount, "source" | "target">): boolean =>
      row.source === source && row.target === target;
    const cursor = cursors.find(isOfLeg);
    return {
      source,
      target,
      ...cursor && { cursor: Number(cursor.scanned) },
      open: open.filter(isOfLeg).map(toWaiting),
      endedDay: Object.fromEntries(day.filter(isOfLeg).map(({ state, count }) => [state, count])),
      deliveredByHour: toHours(delivered.filter(isOfLeg), nowMs, 0),
      deliveredRecently: recent.filter(isOfLeg).filter(({ state }) => state === "delivered")
        .reduce((sum, { count }) => sum + count, 0),
      bandwidth: target === hub
        ? readBandwidth(ledger, source).map(({ sender, left }) => ({ sender, leftBytes: left.toString() }))
        : [],
    };
  });
}

function toWaiting({ state, reason, count, oldestMs }: OpenCount): LegStatus["open"][number] {
  const kind = { state, ...reason && { reason } };
  return { ...kind, isDue: isDue(kind), count, oldestMs };
}

function listClaims({ ledger, readChain }: StatusInput): RelayStatus["claims"] {
  return ledger.statistics.sumUnclaimed().map(({ feeUnits, ...sum }) => {
    const { feeTokenDecimals: decimals } = readChain(sum.source);
    return {
      ...sum,
      ...decimals !== undefined && { fees: formatDecimal(BigInt(Math.round(feeUnits)), decimals) },
    };
  });
}

function listWithdrawals({ ledger, readChain }: StatusInput): RelayStatus["withdrawals"] {
  return ledger.withdrawals.listRecent(LAST_ROWS).map(({ chain, state, amount, detail, updatedAtMs }) => {
    const { feeTokenDecimals: decimals } = readChain(chain);
    return {
      chain,
      state,
      amount: decimals === undefined ? amount.toString() : formatDecimal(amount, decimals),
      isWhole: decimals !== undefined,
      detail,
      changedAtMs: updatedAtMs,
    };
  });
}
