/** The snapshot as a page and as text for a terminal. Pure. */
import { chainColumns, type ProgramView, type Shows } from "../../core/checks/program_view.ts";
import { findNamedChain } from "../../core/config/live_network.ts";
import { formatDecimal } from "../../core/encoding/bytes.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import {
  type Cell,
  coloured,
  type StatusSection,
  tableSection,
} from "../../core/telemetry/status_sections.ts";
import type { LegStatus } from "./relay_facts.ts";
import type { RelayStatus } from "./relay_status.ts";

/** Ages of a light client's newest height from which it is shown as a warning, and as bad. */
const OLD_HEIGHT_MS = { warn: 2 * 3_600_000, bad: 6 * 3_600_000 } as const;

/** Number of deliveries that are shown. */
const SHOWN_DELIVERIES = 3;

/** Runway from which a wallet is shown as a warning, hours. */
const SHORT_RUNWAY_HOURS = 24;

/** What the status of the messaging relayer shows. */
export const relayView: ProgramView<RelayStatus> = {
  role: "messaging relayer",
  countWaiting,
  facts: (status) => {
    const counts = status.legs.flatMap(({ endedDay }) => endedDay.delivered ?? 0);
    const ended = counts.reduce((sum, count) => sum + count, 0);
    const profit = status.money.reduce((sum, { day }) => sum + day.profitUsd, 0);
    return [
      `messages open: ${countWaiting(status)}`,
      `delivered in 24 h: ${ended}`,
      ...status.money.length === 0 ? [] : [`profit in 24 h: ${dollars(profit)}`],
    ];
  },
  sections: (status, shows) => [
    legsOf(status, shows),
    chainsOf(status, shows),
    walletsOf(status),
    earningsOf(status),
    lightClientsOf(status, shows),
    ...journalOf(status, shows),
  ],
};

function countWaiting({ legs }: RelayStatus): number {
  return legs.reduce((sum, leg) => sum + countOpen(leg), 0);
}

function countOpen({ open }: LegStatus): number {
  return open.reduce((sum, { count }) => sum + count, 0);
}

function legsOf({ legs, reasons, nowMs }: RelayStatus, { short }: Shows): StatusSection {
  return tableSection("Legs", legs, {
    "leg": ({ source, target }) => short(`${source} -> ${target}`),
    "read up to": ({ cursor }) => cursor,
    "open": countOpen,
    "waits for": ({ source, target, open }) => [
      // What stops a leg or one of its chains stops its messages, whether any are known yet or not.
      ...reasons.filter(({ isWarning, leg, chain }) =>
        isWarning !== true && (leg ?? chain) !== undefined &&
        (leg === undefined ? chain === source || chain === target : leg === `${source} -> ${target}`)
      ).map(({ code }) => coloured("bad", code)),
      ...showWaiting(open, nowMs),
    ],
    "ended in 24 h": ({ endedDay }) => Object.entries(endedDay).map(([state, count]) => `${count} ${state}`),
    "24 h": ({ deliveredByHour: line }) => ({ line, of: "deliveries an hour" }),
    "bandwidth left at the hub": ({ bandwidth }) =>
      bandwidth.map(({ sender, leftBytes }) => `${sender}: ${leftBytes} bytes`),
  });
}

function showWaiting(open: LegStatus["open"], nowMs: number): readonly Cell[] {
  return open.toSorted((a, b) => a.oldestMs - b.oldestMs).map((
    { state, reason, isDue, count, oldestMs },
  ) => ({
    text: `${count} ${reason ?? state}`,
    colour: isDue ? "warn" as const : "faint" as const,
    note: `oldest ${formatDuration(nowMs - oldestMs)}`,
  }));
}

/** Without a relayer the database knows nothing of chains but their transactions. */
function chainsOf(status: RelayStatus, shows: Shows): StatusSection {
  const { nowMs, startedAtMs } = status;
  const rows = status.chains.filter(({ inFlight }) => startedAtMs !== undefined || inFlight !== undefined);
  return tableSection("Chains", rows, {
    ...chainColumns(status, shows),
    "gas price": ({ gasPriceWei }) =>
      gasPriceWei && `${shortAmount(formatDecimal(BigInt(gasPriceWei), 9))} gwei`,
    "24 h": ({ gasPriceGweiByHour: line }) => ({ line, of: "gas price, gwei" }),
    "in flight": ({ inFlight }) =>
      inFlight &&
      { text: String(inFlight.count), note: `oldest ${formatDuration(nowMs - inFlight.oldestMs)}` },
  });
}

function walletsOf({ wallets }: RelayStatus): StatusSection {
  return tableSection("Wallets", wallets, {
    "wallet": ({ chain }) => chain,
    "account": ({ chain, address }) =>
      address && { text: address, href: explorerPage(chain, "address", address) },
    "balance": ({ balance, unit }) => `${shortAmount(balance)} ${unit}`,
    "runway": ({ runwayHours }) => showRunway(runwayHours),
    "top up for 7 d": ({ topUp, unit }) => topUp && coloured("warn", `${shortAmount(topUp)} ${unit}`),
  });
}

function earningsOf({ money }: RelayStatus): StatusSection {
  type Earned = RelayStatus["money"][number];
  const sums = (of: keyof Earned["day"]) => ({ day, month }: Earned): Cell => ({
    text: dollars(day[of]),
    note: `30 d ${dollars(month[of])}`,
  });
  return tableSection("Earnings in 24 h", money, {
    "chain": ({ chain }) => chain,
    earned: sums("earnedUsd"),
    spent: sums("spentUsd"),
    wasted: sums("wastedUsd"),
    profit: sums("profitUsd"),
    "24 h": ({ profitUsdByHour: line }) => ({ line, of: "profit an hour, dollars" }),
  });
}

function dollars(amount: number): string {
  return `${amount < 0 ? "-" : ""}$${Math.abs(amount).toFixed(2)}`;
}

function explorerPage(chain: string, kind: "address" | "tx", id: string): string | undefined {
  const named = findNamedChain(chain);
  return named && `${named.explorer}/${kind}/${id}`;
}

function showRunway(hours: number | undefined): Cell {
  if (hours === undefined) return coloured("faint", "no cost in 24 h");
  return coloured(hours < SHORT_RUNWAY_HOURS ? "bad" : "good", formatDuration(hours * 3_600_000));
}

function lightClientsOf({ lightClients, nowMs }: RelayStatus, { age, short }: Shows): StatusSection {
  const colourOf = (ageMs: number): "good" | "warn" | "bad" =>
    ageMs > OLD_HEIGHT_MS.bad ? "bad" : ageMs > OLD_HEIGHT_MS.warn ? "warn" : "good";
  return tableSection("Light clients", lightClients, {
    "light client": ({ chain, counterparty }) => short(`${counterparty} on ${chain}`),
    "height": ({ height }) => height,
    "last update": ({ roseAtMs, isFrozen }) =>
      isFrozen ? coloured("bad", "frozen") : coloured(colourOf(nowMs - roseAtMs), age(roseAtMs)),
    "24 h": ({ ageMinByHour: line }) => ({ line, of: "age, minutes" }),
  });
}

/** What was delivered, claimed and withdrawn. */
function journalOf({ delivered, claims, withdrawals }: RelayStatus, { age, short }: Shows): StatusSection[] {
  return [
    tableSection("Last deliveries", delivered.slice(0, SHOWN_DELIVERIES), {
      "message": ({ commitment }) => commitment,
      "transaction": ({ target, hash }) => hash && { text: hash, href: explorerPage(target, "tx", hash) },
      "leg": ({ source, target }) => short(`${source} -> ${target}`),
      "delivered": ({ deliveredAtMs }) => age(deliveredAtMs),
      "took": (row) => formatDuration(row.deliveredAtMs - row.seenAtMs),
    }),
    tableSection("Claims", claims, {
      "fees paid on": ({ source }) => source,
      "state": ({ state }) => state,
      "deliveries": ({ count }) => count,
      "fee tokens": ({ fees }) => fees && shortAmount(fees),
    }),
    tableSection("Last withdrawals", withdrawals, {
      "chain": ({ chain }) => chain,
      "state": ({ state }) => state,
      "amount": ({ amount, isWhole }) => isWhole ? shortAmount(amount) : `${amount} units`,
      "changed": ({ changedAtMs }) => age(changedAtMs),
      "detail": ({ detail }) => detail,
    }),
  ];
}

/** Cuts an amount to four digits after the point, or to its first digits when it is smaller. */
function shortAmount(amount: string): string {
  const [whole = "", fraction = ""] = amount.split(".");
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  const digits = whole === "0" ? Math.max(4, zeros + 2) : 4;
  const cut = fraction.slice(0, digits).replace(/0+$/, "");
  return cut === "" ? whole : `${whole}.${cut}`;
}
