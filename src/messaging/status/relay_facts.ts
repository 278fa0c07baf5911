/**
 * What a snapshot of the messaging relayer consists of: read from the ledger and, where a relayer runs, from what it has
 * read of its chains and endpoints. Plain data that survives JSON: times are Unix milliseconds, heights numbers, amounts
 * decimal text in whole tokens. Reads a few hundred rows of counts at most; nothing is requested.
 */
import type { ChainSnapshot } from "../../core/chains/chain_board.ts";
import { HourlyMaxima, toHours } from "../../core/telemetry/status_sections.ts";
import { type SnapshotPlace, toChainStatus } from "../../core/checks/program_status.ts";
import { findNamedChain } from "../../core/config/live_network.ts";
import { formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Ledger, MessageReason, OpenCount, Period } from "../ledger/ledger.ts";
import { wastedResults } from "../ledger/spending.ts";
import { readBandwidth } from "../relay/limits/bandwidth.ts";
import { findSpendingStop } from "../relay/limits/spending.ts";
import { countGaps } from "../relay/scan.ts";

/** Where the facts come from. */
export interface StatusInput extends SnapshotPlace {
  readonly ledger: Pick<Ledger, "statistics" | "cursors" | "notes" | "withdrawals" | "fault">;
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

/** Time in which a leg is expected to deliver something while messages are due. */
const RECENT_MS = 15 * 60_000;

/** Reasons of open messages that are ours or our nodes' to solve; all others wait for a chain, a price or a person. */
const DUE_REASONS: ReadonlySet<MessageReason> = new Set([
  "proof_unavailable",
  "untraceable",
  "unfunded",
  "stuck",
  "race",
  "fee_unknown",
  "price_unknown",
  "target_unprovable",
  "runtime_unsupported",
  "reverted",
]);

/** True for open messages that only wait for this program and its nodes. */
function isDue({ state, reason }: Pick<OpenCount, "state" | "reason">): boolean {
  return reason === undefined ? state !== "not_executed" : DUE_REASONS.has(reason);
}

/** Members of the snapshot that are the relayer's own. */
export type RelayFacts = ReturnType<typeof readFacts>;

/** A leg of the snapshot. */
export type LegStatus = RelayFacts["legs"][number];

/** Reads the facts. May throw a `LedgerFault`. */
export const readFacts = (input: StatusInput) => ({
  chains: listChains(input),
  wallets: listWallets(input),
  money: listMoney(input),
  lightClients: listLightClients(input),
  legs: listLegs(input),
  /** Newest first. */
  delivered: input.ledger.statistics.listLastDelivered(LAST_ROWS),
  claims: listClaims(input),
  /** Newest first. */
  withdrawals: listWithdrawals(input),
  /** Gaps that reconciliations have ever found. */
  reconciliationGaps: countGaps(input.ledger),
  /** False while the database cannot be read or written. */
  isDatabaseUp: input.ledger.fault() === undefined,
});

/** The hub and the chains. */
const listChains = (input: StatusInput) => {
  const { hub, nowMs, ledger, readChain, history: { mined } } = input;
  const inFlight = ledger.statistics.sumInFlight();
  return [hub, ...input.chains].map((chain) => ({
    ...toChainStatus(input, chain),
    gasPriceWei: readChain(chain).gasPriceWei?.value.toString(),
    /** What our transactions paid on average. */
    gasPriceGweiByHour: toHours(
      mined.filter((each) => each.chain === chain).map((each) => ({ ...each, value: each.gasPriceGwei })),
      nowMs,
    ),
    /** Nothing is sent to it before this time because of `maximum_daily_loss`; absent: the limit is not reached. */
    lossLimit: findSpendingStop({
      ledger,
      clock: { now: () => nowMs },
      target: { id: { stateMachine: chain } },
    }),
    /** Transactions that are in no block. */
    inFlight: inFlight.find((sum) => sum.chain === chain),
  }));
};

/** Our accounts. Amounts are whole native tokens. */
const listWallets = ({ chains, ledger, nowMs, readChain }: StatusInput) =>
  chains.flatMap((chain) => {
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
      /** Symbol of the native token, where it is known. */
      unit: findNamedChain(chain)?.unit ?? "native tokens",
      balance: formatDecimal(value, 18),
      readAtMs,
      /** Cost of the last 24 hours. */
      spentDay: formatDecimal(BigInt(Math.round(costWei)), 18),
      /** What is missing for seven days at that rate; absent: nothing. */
      topUp: missing > 0n ? formatDecimal(missing, 18) : undefined,
      /** Hours until the balance is spent at that rate, from the first of those costs on; absent: nothing was spent. */
      runwayHours: costWei > 0 ? Math.round(Number(value) / costWei * hours * 10) / 10 : undefined,
    }];
  });

/** Earnings and costs of the chains on which something was mined within a month. */
const listMoney = ({ history: { day, month, mined }, nowMs }: StatusInput) =>
  [...new Set(month.map(({ chain }) => chain))].sort().map((chain) => ({
    chain,
    day: toAccount(day.filter((each) => each.chain === chain)),
    month: toAccount(month.filter((each) => each.chain === chain)),
    profitUsdByHour: toHours(
      mined.filter((each) => each.chain === chain).map((each) => ({ ...each, value: each.profitUsd })),
      nowMs,
      0,
    ),
  }));

/** Dollars of a period. Approximate: a cost counts where the price was known, a fee once it is. */
const toAccount = (sums: LedgerHistory["month"]) => {
  const add = (rows: typeof sums, value: (row: typeof sums[number]) => number): number =>
    rows.reduce((sum, row) => sum + value(row), 0);
  const [earnedUsd, spentUsd] = [add(sums, (row) => row.earnedUsd), add(sums, (row) => row.spentUsd)];
  /** What transactions cost that earned nothing. */
  const wastedUsd = add(sums.filter(({ result }) => wastedResults.has(result)), (row) => row.spentUsd);
  return { earnedUsd, spentUsd, wastedUsd, profitUsd: earnedUsd - spentUsd };
};

/** What chains know of each other. */
const listLightClients = ({ hub, chains, readChain, ages, nowMs }: StatusInput) =>
  [hub, ...chains].flatMap((chain) =>
    readChain(chain).counterparties.map(({ counterparty, height, isFrozen, roseAtMs }) => ({
      chain,
      counterparty,
      height: Number(height),
      /** True: nothing of the counterparty is accepted. */
      isFrozen,
      /** Time at which that height was accepted, as far as it is known; else at which it was first seen. */
      roseAtMs,
      /** Highest age of the newest height in each hour, minutes; since the start of the program. */
      ageMinByHour: ages.note(`${counterparty} on ${chain}`, (nowMs - roseAtMs) / 60_000, nowMs),
    }))
  );

/** The legs of the configured chains, and those of which there are rows. */
const listLegs = ({ ledger, hub, chains, nowMs, history: { delivered } }: StatusInput) => {
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
      /** Height of the source up to which every message is recorded; absent: nothing was read yet. */
      cursor: cursor && Number(cursor.scanned),
      /** Messages that have not ended, by state and by what they wait for (absent: their turn). */
      open: open.filter(isOfLeg).map(({ state, reason, count, oldestMs }) => {
        return { state, reason, isDue: isDue({ state, reason }), count, oldestMs };
      }),
      /** Ended within 24 hours, by state; those without any are left out. */
      endedDay: Object.fromEntries(day.filter(isOfLeg).map(({ state, count }) => [state, count])),
      deliveredByHour: toHours(delivered.filter(isOfLeg), nowMs, 0),
      /** Delivered by us within 15 minutes. */
      deliveredRecently: recent.filter(isOfLeg).filter(({ state }) => state === "delivered")
        .reduce((sum, { count }) => sum + count, 0),
      /** Senders whose messages wait for bandwidth at the hub, with what they have left. */
      bandwidth: target === hub
        ? readBandwidth(ledger, source).map(({ sender, left }) => ({ sender, leftBytes: left.toString() }))
        : [],
    };
  });
};

/** Deliveries of requests of each chain by the state of their claim; fees in whole fee tokens, where they are known. */
const listClaims = ({ ledger, readChain }: StatusInput) =>
  ledger.statistics.sumUnclaimed().map(({ source, state, count, feeUnits }) => {
    const { feeTokenDecimals: decimals } = readChain(source);
    const fees = decimals === undefined ? decimals : formatDecimal(BigInt(Math.round(feeUnits)), decimals);
    return { source, state, count, fees };
  });

/** The last withdrawals; amounts in whole fee tokens where the decimals are known, else in units. */
const listWithdrawals = ({ ledger, readChain }: StatusInput) =>
  ledger.withdrawals.listRecent(LAST_ROWS).map(({ chain, state, amount, detail, updatedAtMs }) => {
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
