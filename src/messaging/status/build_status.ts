/**
 * Fills the snapshot from the ledger and, where a relayer runs, from what it has read of its chains and endpoints.
 * Reads a few hundred rows of counts at most; nothing is requested.
 */
import type { ChainSnapshot } from "../../core/chains/chain_board.ts";
import { type BoardRow, toCheckReasons } from "../../core/checks/program_status.ts";
import { formatDecimal } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { ChainHeights, EndpointReading } from "../../core/rpc/endpoint_board.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { programVersion } from "../../core/runtime/version.ts";
import type { FoundReason, NotReadyReason } from "../../core/telemetry/readiness.ts";
import type { RecentWarning } from "../../core/telemetry/open_log.ts";
import type { MessagingConfig } from "../config/schema.ts";
import type { InFlightSum, Ledger, OpenCount, SpentSum } from "../ledger/ledger.ts";
import type {
  ChainStatus,
  ClaimStatusSum,
  LegStatus,
  RelayStatus,
  WalletStatus,
  WithdrawalStatus,
} from "./relay_status.ts";
import { readBandwidth } from "../relay/limits/bandwidth.ts";
import { findSpendingStop } from "../relay/limits/spending.ts";
import { findReasons, isDue, ofDatabase, RECENT_MS } from "./relay_reasons.ts";

/** What a running relayer knows beside its database. */
export interface RunningRelayer {
  readonly startedAtMs: number;
  readonly readChain: (chain: StateMachine) => ChainSnapshot;
  readonly endpoints: readonly EndpointReading[];
  readonly readHeights: (chain: StateMachine) => ChainHeights;
  readonly warnings: readonly RecentWarning[];
  readonly checks: readonly BoardRow[];
  /** What the log says is in the way. */
  readonly troubles: readonly FoundReason[];
  /** Dates the reasons that were found. */
  readonly dateReasons: (found: readonly FoundReason[]) => readonly NotReadyReason[];
}

/** Input of the snapshot. */
export interface StatusInput {
  readonly ledger: Pick<Ledger, "statistics" | "cursors" | "meta" | "withdrawals" | "fault">;
  readonly hub: StateMachine;
  /** Configured chains without the hub. */
  readonly chains: readonly StateMachine[];
  readonly nowMs: number;
  /** Absent: no relayer runs. */
  readonly running?: RunningRelayer | undefined;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Time for which the first costs are taken to be those of the whole: one transaction says little about the next minute. */
const MIN_EXTRAPOLATED_MS = HOUR_MS;

/** Rows of the last deliveries and withdrawals. */
const LAST_ROWS = 10;

/** Builds the snapshot. May throw a `LedgerFault`. */
export function buildStatus(input: StatusInput): RelayStatus {
  const { ledger, hub, nowMs, running } = input;
  const legs = listLegs(input);
  const inFlight = ledger.statistics.sumInFlight();
  const chains = [hub, ...input.chains].map((chain) => toChain(input, chain, inFlight));
  const snapshot = { nowMs, hub, chains, legs };
  const checks = running?.checks ?? [];
  const fault = ledger.fault();
  const own = [...fault === undefined ? [] : [ofDatabase(fault)], ...findReasons(snapshot)];
  const found = [...own, ...listUntold(running?.troubles ?? [], own), ...toCheckReasons(checks)];
  const dated = running?.dateReasons(found) ??
    found.map(({ graceMs: _grace, mark: _mark, ...reason }) => ({ ...reason, sinceMs: nowMs }));
  return {
    program: "causeway",
    version: programVersion,
    ...running && { startedAtMs: running.startedAtMs },
    ...snapshot,
    reasons: dated,
    delivered: ledger.statistics.listLastDelivered(LAST_ROWS).map((row) => ({
      source: row.source,
      target: row.target,
      commitment: row.commitment,
      seenAtMs: row.seenAtMs,
      deliveredAtMs: row.endedAtMs,
    })),
    claims: listClaims(input),
    withdrawals: listWithdrawals(input),
    checks,
    warnings: running?.warnings ?? [],
  };
}

/** Troubles of the log that the snapshot does not tell by itself. */
function listUntold(troubles: readonly FoundReason[], told: readonly FoundReason[]): readonly FoundReason[] {
  return troubles.filter(({ code, chain, leg }) =>
    !told.some((each) => each.code === code && each.chain === chain && each.leg === leg)
  );
}

/** Builds the snapshot of a database that no relayer uses. May throw a `LedgerFault`. */
export function readStatus(
  { ledger, config, clock }: {
    readonly ledger: StatusInput["ledger"];
    readonly config: Pick<MessagingConfig, "hub" | "chains">;
    readonly clock: Pick<Clock, "now">;
  },
): RelayStatus {
  const chains = config.chains.map(({ stateMachine }) => stateMachine);
  return buildStatus({ ledger, hub: config.hub.stateMachine, chains, nowMs: clock.now() });
}

function toChain(
  { hub, nowMs, ledger, running }: StatusInput,
  chain: StateMachine,
  inFlight: readonly InFlightSum[],
): ChainStatus {
  const reading = running?.readChain(chain);
  const flying = inFlight.find((sum) => sum.chain === chain);
  const isHub = chain === hub;
  const lossLimit = findSpendingStop({
    ledger,
    clock: { now: () => nowMs },
    target: { id: { stateMachine: chain } },
  });
  const base: ChainStatus = {
    chain,
    isHub,
    ...running?.readHeights(chain),
    endpoints: (running?.endpoints ?? []).filter((endpoint) => endpoint.chain === chain)
      .map(({ chain: _, ...endpoint }) => endpoint),
    lightClients: (reading?.counterparties ?? []).map(({ height, ...each }) => ({
      ...each,
      height: Number(height),
    })),
    ...lossLimit && { lossLimit },
    ...flying && {
      inFlight: {
        count: flying.count,
        oldestMs: flying.oldestMs,
        replacements: flying.replacements,
        nonceGap: flying.nonceGap,
      },
    },
  };
  if (reading === undefined) return base;
  const { gasPriceWei, balanceWei } = reading;
  const sumSpent = (): SpentSum | undefined =>
    ledger.statistics.sumSpent(chain, { afterMs: nowMs - DAY_MS, untilMs: nowMs });
  return {
    ...base,
    ...gasPriceWei && { gasPriceWei: gasPriceWei.value.toString() },
    ...balanceWei && { wallet: toWallet(balanceWei, sumSpent(), nowMs) },
  };
}

function toWallet(
  { value, atMs }: { readonly value: bigint; readonly atMs: number },
  spent: SpentSum | undefined,
  nowMs: number,
): WalletStatus {
  const { costWei = 0, sinceMs = nowMs } = spent ?? {};
  // A relayer that began an hour ago spends in a day more than it has spent so far.
  const hours = Math.max(nowMs - sinceMs, MIN_EXTRAPOLATED_MS) / HOUR_MS;
  return {
    balance: formatDecimal(value, 18),
    readAtMs: atMs,
    spentDay: formatDecimal(BigInt(Math.round(costWei)), 18),
    ...costWei > 0 && { runwayHours: Math.round(Number(value) / costWei * hours * 10) / 10 },
  };
}

/** The legs of the configured chains, and those of which there are rows. */
function listLegs({ ledger, hub, chains, nowMs }: StatusInput): readonly LegStatus[] {
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
    const isOfLeg = (row: { readonly source: StateMachine; readonly target: StateMachine }): boolean =>
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

function listClaims({ ledger, running }: StatusInput): readonly ClaimStatusSum[] {
  return ledger.statistics.sumUnclaimed().map(({ source, state, count, feeUnits }) => {
    const decimals = running?.readChain(source).feeTokenDecimals;
    return {
      source,
      state,
      count,
      ...decimals !== undefined && { fees: formatDecimal(BigInt(Math.round(feeUnits)), decimals) },
    };
  });
}

function listWithdrawals({ ledger, running }: StatusInput): readonly WithdrawalStatus[] {
  return ledger.withdrawals.listRecent(LAST_ROWS).map(({ chain, state, amount, detail, updatedAtMs }) => {
    const decimals = running?.readChain(chain).feeTokenDecimals;
    return {
      chain,
      state,
      amount: decimals === undefined ? amount.toString() : formatDecimal(amount, decimals),
      isWhole: decimals !== undefined,
      ...detail !== undefined && { detail },
      changedAtMs: updatedAtMs,
    };
  });
}
