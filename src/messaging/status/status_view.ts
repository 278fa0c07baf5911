/** The snapshot as a page and as text for a terminal. Pure. */
import { formatProgramStatus, renderProgramPage } from "../../core/checks/program_status.ts";
import { type HeightReading, showEndpoint } from "../../core/rpc/endpoint_board.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import { formatTime } from "../../core/telemetry/http/page.ts";
import {
  type Cell,
  coloured,
  type StatusSection,
  tableSection,
} from "../../core/telemetry/status_sections.ts";
import type { RelayStatus, WaitingMessages, WalletStatus } from "./relay_status.ts";

/** Age of a light client's newest height from which it is shown as a warning. */
const OLD_HEIGHT_MS = 2 * 3_600_000;

/** Runway from which a wallet is shown as a warning, hours. */
const SHORT_RUNWAY_HOURS = 24;

/** Makes the page. */
export function renderStatusPage(status: RelayStatus): string {
  return renderProgramPage(status, "messaging relayer", sectionsOf(status));
}

/** Formats the snapshot for a terminal. */
export function formatStatus(status: RelayStatus): string {
  const waiting = status.legs.flatMap(({ open }) => open).reduce((sum, { count }) => sum + count, 0);
  return formatProgramStatus({ ...status, waiting }, sectionsOf(status));
}

function sectionsOf(status: RelayStatus): readonly StatusSection[] {
  const { nowMs } = status;
  const age = (ms: number): string => `${formatDuration(nowMs - ms)} ago`;
  return [
    legs(status),
    chains(status, age),
    lightClients(status, age),
    tableSection({ title: "Last deliveries", rows: status.delivered, otherwise: "None yet." }, [
      { name: "message", cell: ({ commitment }) => commitment },
      { name: "leg", cell: ({ source, target }) => `${source} -> ${target}` },
      { name: "delivered", isNumber: true, cell: ({ deliveredAtMs }) => age(deliveredAtMs) },
      { name: "took", isNumber: true, cell: (row) => formatDuration(row.deliveredAtMs - row.seenAtMs) },
    ]),
    tableSection({ title: "Claims", rows: status.claims, otherwise: "Nothing is to be claimed." }, [
      { name: "fees paid on", cell: ({ source }) => source },
      { name: "state", cell: ({ state }) => state },
      { name: "deliveries", isNumber: true, cell: ({ count }) => count },
      { name: "fee tokens", isNumber: true, cell: ({ fees }) => fees && shortAmount(fees) },
    ]),
    tableSection({ title: "Last withdrawals", rows: status.withdrawals, otherwise: "None yet." }, [
      { name: "chain", cell: ({ chain }) => chain },
      { name: "state", cell: ({ state }) => state },
      {
        name: "amount",
        isNumber: true,
        cell: ({ amount, isWhole }) => isWhole ? shortAmount(amount) : `${amount} units`,
      },
      { name: "changed", isNumber: true, cell: ({ changedAtMs }) => formatTime(changedAtMs) },
      { name: "detail", cell: ({ detail }) => detail },
    ]),
  ];
}

function legs({ legs: rows, nowMs }: RelayStatus): StatusSection {
  return tableSection({ title: "Legs", rows, otherwise: "No chain is configured." }, [
    { name: "leg", cell: ({ source, target }) => `${source} -> ${target}` },
    { name: "read up to", isNumber: true, cell: ({ cursor }) => cursor },
    { name: "open", isNumber: true, cell: ({ open }) => open.reduce((sum, { count }) => sum + count, 0) },
    { name: "waits for", cell: ({ open }) => showWaiting(open, nowMs) },
    {
      name: "ended in 24 h",
      cell: ({ endedDay }) => Object.entries(endedDay).map(([state, count]) => `${count} ${state}`),
    },
    {
      name: "bandwidth left at the hub",
      cell: ({ bandwidth }) => bandwidth.map(({ sender, leftBytes }) => `${sender}: ${leftBytes} bytes`),
    },
  ]);
}

function showWaiting(open: readonly WaitingMessages[], nowMs: number): Cell {
  return open.toSorted((a, b) => a.oldestMs - b.oldestMs).map((
    { state, reason, isDue, count, oldestMs },
  ) => ({
    text: `${count} ${reason ?? state}`,
    colour: isDue ? "warn" as const : "faint" as const,
    note: `oldest ${formatDuration(nowMs - oldestMs)}`,
  }));
}

/** Without a relayer the database knows nothing of chains but their transactions. */
function chains(status: RelayStatus, age: (ms: number) => string): StatusSection {
  const { nowMs, startedAtMs } = status;
  const rows = status.chains.filter(({ inFlight }) => startedAtMs !== undefined || inFlight !== undefined);
  const showHeight = (reading: HeightReading | undefined): Cell =>
    reading && { text: String(reading.height), note: age(reading.readAtMs) };
  return tableSection({ title: "Chains", rows, otherwise: "No chain is configured." }, [
    { name: "chain", cell: ({ chain, isHub }) => isHub ? `${chain} (hub)` : chain },
    { name: "head", isNumber: true, cell: ({ head }) => showHeight(head) },
    { name: "final", isNumber: true, cell: ({ final }) => showHeight(final) },
    { name: "endpoints", cell: ({ endpoints }) => endpoints.map((each) => showEndpoint(each, nowMs)) },
    { name: "balance", isNumber: true, cell: ({ wallet }) => wallet && shortAmount(wallet.balance) },
    { name: "runway", isNumber: true, cell: ({ wallet }) => wallet && showRunway(wallet) },
    {
      name: "in flight",
      isNumber: true,
      cell: ({ inFlight }) =>
        inFlight &&
        { text: String(inFlight.count), note: `oldest ${formatDuration(nowMs - inFlight.oldestMs)}` },
    },
  ]);
}

function showRunway({ runwayHours: hours }: WalletStatus): Cell {
  if (hours === undefined) return coloured("faint", "nothing spent in 24 h");
  return coloured(hours < SHORT_RUNWAY_HOURS ? "bad" : "good", formatDuration(hours * 3_600_000));
}

function lightClients({ chains: all, nowMs }: RelayStatus, age: (ms: number) => string): StatusSection {
  const rows = all.flatMap(({ chain, lightClients: known }) => known.map((client) => ({ chain, ...client })));
  return tableSection({ title: "Light clients", rows, otherwise: "Not read yet." }, [
    { name: "light client", cell: ({ chain, counterparty }) => `${counterparty} on ${chain}` },
    { name: "height", isNumber: true, cell: ({ height }) => height },
    {
      name: "last update",
      isNumber: true,
      cell: ({ roseAtMs, isFrozen }) =>
        isFrozen
          ? coloured("bad", "frozen")
          : coloured(nowMs - roseAtMs > OLD_HEIGHT_MS ? "warn" : "good", age(roseAtMs)),
    },
  ]);
}

/** Cuts an amount to four digits after the point, or to its first digits when it is smaller. */
function shortAmount(amount: string): string {
  const [whole = "", fraction = ""] = amount.split(".");
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  const digits = whole === "0" ? Math.max(4, zeros + 2) : 4;
  const cut = fraction.slice(0, digits).replace(/0+$/, "");
  return cut === "" ? whole : `${whole}.${cut}`;
}
