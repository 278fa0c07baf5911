/**
 * Fills the snapshot from the ledger and, where a relayer runs, from what it has read of its chains and endpoints.
 * Reads a few hundred rows of counts at most; nothing is requested.
 */
import type { ChainSnapshot } from "../../core/chains/chain_board.ts";
import { type SnapshotPlace, toChainStatus, toProgramStatus } from "../../core/checks/program_status.ts";
import { ChainNames } from "../../core/config/chain_names.ts";
import { formatDecimal } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import type { MessagingConfig } from "../config/schema.ts";
import type { Ledger, OpenCount } from "../ledger/ledger.ts";
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
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Time for which the first costs are taken to be those of the whole: one transaction says little about the next minute. */
const MIN_EXTRAPOLATED_MS = HOUR_MS;

/** Rows of the last deliveries and withdrawals. */
const LAST_ROWS = 10;

/** Members of the snapshot that are the relayer's own. */
type OwnStatus = Omit<RelayStatus, "version" | "nowMs" | "hub" | "reasons" | "checks" | "warnings">;

/** Snapshot while there is no database to read. */
export function emptyStatus(place: SnapshotPlace, found: readonly FoundReason[]): RelayStatus {
  return toProgramStatus<OwnStatus>(place, {
    ...{ program: "causeway", chains: [], wallets: [], lightClients: [], legs: [] },
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
    lightClients: [hub, ...input.chains].flatMap((chain) =>
      input.readChain(chain).counterparties.map(({ height, ...each }) => ({
        chain,
        ...each,
        height: Number(height),
      }))
    ),
    legs: listLegs(input),
    delivered: ledger.statistics.listLastDelivered(LAST_ROWS).map((row) => ({
      source: row.source,
      target: row.target,
      commitment: row.commitment,
      seenAtMs: row.seenAtMs,
      deliveredAtMs: row.endedAtMs,
    })),
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
  });
}

function listChains(input: StatusInput): RelayStatus["chains"] {
  const { hub, nowMs, ledger, readChain } = input;
  const inFlight = ledger.statistics.sumInFlight();
  return [hub, ...input.chains].map((chain) => ({
    ...toChainStatus(input, chain),
    gasPriceWei: readChain(chain).gasPriceWei?.value.toString(),
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
    const { balanceWei } = readChain(chain);
    if (balanceWei === undefined) return [];
    const { value, atMs: readAtMs } = balanceWei;
    const period = { afterMs: nowMs - DAY_MS, untilMs: nowMs };
    const { costWei = 0, sinceMs = nowMs } = ledger.statistics.sumSpent(chain, period) ?? {};
    // A relayer that began an hour ago spends in a day more than it has spent so far.
    const hours = Math.max(nowMs - sinceMs, MIN_EXTRAPOLATED_MS) / HOUR_MS;
    return [{
      chain,
      balance: formatDecimal(value, 18),
      readAtMs,
      spentDay: formatDecimal(BigInt(Math.round(costWei)), 18),
      ...costWei > 0 && { runwayHours: Math.round(Number(value) / costWei * hours * 10) / 10 },
    }];
  });
}

/** The legs of the configured chains, and those of which there are rows. */
function listLegs({ ledger, hub, chains, nowMs }: StatusInput): RelayStatus["legs"] {
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
