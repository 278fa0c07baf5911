/** Status page of the messaging relayer: the snapshot as HTML. Pure. */
import { formatDuration } from "../../core/runtime/text_table.ts";
import { renderProgramPage } from "../../core/checks/program_status.ts";
import { type HeightReading, renderEndpointState } from "../../core/rpc/endpoint_board.ts";
import {
  coloured,
  formatTime,
  type Html,
  markup,
  renderPage,
  renderReasons,
  renderSection,
  renderTable,
} from "../../core/telemetry/http/page.ts";
import type { NotReadyReason } from "../../core/telemetry/readiness.ts";
import type { ChainStatus, LegStatus, RelayStatus, WaitingMessages, WalletStatus } from "./relay_status.ts";

/** Age of a light client's newest height from which it is shown as a warning. */
const OLD_HEIGHT_MS = 2 * 3_600_000;

/** Age from which a height is shown with the time since it was read. */
const OLD_READING_MS = 90_000;

/** Runway from which a wallet is shown as a warning, hours. */
const SHORT_RUNWAY_HOURS = 24;

/** Makes the page of a relayer that cannot tell more than why it does not relay. */
export function renderReasonsPage(reasons: readonly NotReadyReason[], nowMs: number): string {
  return renderPage({
    title: "causeway",
    subtitle: "messaging relayer",
    nowMs,
    startedAtMs: undefined,
    sections: [renderReasons(reasons, nowMs)],
  });
}

/** Makes the page. */
export function renderStatusPage(status: RelayStatus): string {
  return renderProgramPage(status, "messaging relayer", [
    renderSection("Legs", renderLegs(status)),
    ...renderBandwidth(status),
    renderSection("Chains", renderChains(status)),
    renderSection("Light clients", renderLightClients(status)),
    renderSection("Last deliveries", renderDelivered(status)),
    renderSection("Claims", renderClaims(status)),
    renderSection("Last withdrawals", renderWithdrawals(status)),
  ]);
}

function renderLegs({ legs, nowMs }: RelayStatus): Html {
  return renderTable<LegStatus>(
    [
      {
        name: "leg",
        cell: ({ source, target }) => markup`${source} → ${target}`,
      },
      { name: "read up to", isNumber: true, cell: ({ cursor }) => cursor },
      { name: "open", isNumber: true, cell: ({ open }) => open.reduce((sum, { count }) => sum + count, 0) },
      { name: "waits for", cell: ({ open }) => renderWaiting(open, nowMs) },
      {
        name: "delivered, 24 h",
        isNumber: true,
        cell: ({ endedDay }) => endedDay.delivered ?? 0,
      },
      {
        name: "by others, 24 h",
        isNumber: true,
        cell: ({ endedDay }) => endedDay.delivered_by_other ?? 0,
      },
    ],
    legs,
    "No chain is configured.",
  );
}

/** Senders whose messages wait for bandwidth; a section of its own while there are some. */
function renderBandwidth({ legs }: RelayStatus): readonly Html[] {
  const rows = legs.flatMap(({ source, bandwidth }) => bandwidth.map((each) => ({ source, ...each })));
  if (rows.length === 0) return [];
  const table = renderTable<typeof rows[number]>(
    [
      { name: "sender", cell: ({ sender }) => markup`<code>${sender}</code>` },
      { name: "on", cell: ({ source }) => source },
      { name: "bytes left at the hub", isNumber: true, cell: ({ leftBytes }) => leftBytes },
    ],
    rows,
    "Nothing waits for bandwidth.",
  );
  return [renderSection("Bandwidth", table)];
}

function renderWaiting(open: readonly WaitingMessages[], nowMs: number): Html[] {
  return open.toSorted((a, b) => a.oldestMs - b.oldestMs).map(({ state, reason, isDue, count, oldestMs }) =>
    markup`<div>${count} ${coloured(isDue ? "warn" : "faint", reason ?? state)}, oldest ${
      formatDuration(
        nowMs - oldestMs,
      )
    }</div>`
  );
}

function renderChains({ chains, nowMs }: RelayStatus): Html {
  return renderTable<ChainStatus>(
    [
      {
        name: "chain",
        cell: ({ chain, isHub }) => isHub ? markup`${chain} (hub)` : chain,
      },
      { name: "head", isNumber: true, cell: ({ head }) => renderHeight(head, nowMs) },
      { name: "final", isNumber: true, cell: ({ final }) => renderHeight(final, nowMs) },
      { name: "endpoints", cell: ({ endpoints }) => endpoints.map((each) => renderEndpoint(each, nowMs)) },
      { name: "balance", isNumber: true, cell: ({ wallet }) => wallet && shortAmount(wallet.balance) },
      { name: "runway", isNumber: true, cell: ({ wallet }) => wallet && renderRunway(wallet) },
      {
        name: "in flight",
        isNumber: true,
        cell: ({ inFlight }) =>
          inFlight && markup`${inFlight.count}, oldest ${formatDuration(nowMs - inFlight.oldestMs)}`,
      },
    ],
    chains,
    "No chain is configured.",
  );
}

function renderHeight(reading: HeightReading | undefined, nowMs: number): Html | undefined {
  if (reading === undefined) return undefined;
  const { height, readAtMs } = reading;
  return nowMs - readAtMs < OLD_READING_MS
    ? markup`${height}`
    : markup`<div>${height}</div>${coloured("faint", `${formatDuration(nowMs - readAtMs)} ago`)}`;
}

function renderEndpoint(endpoint: ChainStatus["endpoints"][number], nowMs: number): Html {
  const { isSigner, isUp, latencyMs, lagBlocks } = endpoint;
  const host = `${endpoint.host}${isSigner ? " (signer)" : ""}`;
  const state = renderEndpointState(endpoint, nowMs);
  if (!isUp) return markup`<div>${host} ${state}</div>`;
  const lag = lagBlocks === undefined || lagBlocks === 0 ? "" : `, ${lagBlocks} blocks behind`;
  return markup`<div>${host} ${state} ${coloured("faint", `${latencyMs} ms${lag}`)}</div>`;
}

function renderRunway({ runwayHours: hours }: WalletStatus): Html {
  if (hours === undefined) return coloured("faint", "nothing spent in 24 h");
  const text = formatDuration(hours * 3_600_000);
  return hours < SHORT_RUNWAY_HOURS ? coloured("bad", text) : markup`${text}`;
}

function renderLightClients({ chains, nowMs }: RelayStatus): Html {
  const rows = chains.flatMap(({ chain, lightClients }) =>
    lightClients.map((client) => ({ chain, ...client }))
  );
  return renderTable<typeof rows[number]>(
    [
      {
        name: "light client",
        cell: ({ chain, counterparty }) => markup`${counterparty} on ${chain}`,
      },
      { name: "height", isNumber: true, cell: ({ height }) => height },
      {
        name: "last update",
        isNumber: true,
        cell: ({ roseAtMs, isFrozen }) => {
          if (isFrozen) return coloured("bad", "frozen");
          const ageMs = nowMs - roseAtMs;
          return coloured(ageMs > OLD_HEIGHT_MS ? "warn" : "good", `${formatDuration(ageMs)} ago`);
        },
      },
    ],
    rows,
    "Not read yet.",
  );
}

function renderDelivered({ delivered, nowMs }: RelayStatus): Html {
  return renderTable<RelayStatus["delivered"][number]>(
    [
      {
        name: "message",
        cell: ({ commitment }) => markup`<code>${shortHash(commitment)}</code>`,
      },
      {
        name: "leg",
        cell: ({ source, target }) => markup`${source} → ${target}`,
      },
      {
        name: "delivered",
        isNumber: true,
        cell: (row) => `${formatDuration(nowMs - row.deliveredAtMs)} ago`,
      },
      { name: "took", isNumber: true, cell: (row) => formatDuration(row.deliveredAtMs - row.seenAtMs) },
    ],
    delivered,
    "None yet.",
  );
}

function renderClaims({ claims }: RelayStatus): Html {
  return renderTable<RelayStatus["claims"][number]>(
    [
      { name: "fees paid on", cell: ({ source }) => source },
      { name: "state", cell: ({ state }) => state },
      { name: "deliveries", isNumber: true, cell: ({ count }) => count },
      { name: "fees", isNumber: true, cell: ({ fees }) => fees && shortAmount(fees) },
    ],
    claims,
    "Nothing is to be claimed.",
  );
}

function renderWithdrawals({ withdrawals }: RelayStatus): Html {
  return renderTable<RelayStatus["withdrawals"][number]>(
    [
      { name: "chain", cell: ({ chain }) => chain },
      { name: "state", cell: ({ state }) => state },
      {
        name: "amount",
        isNumber: true,
        cell: ({ amount, isWhole }) => isWhole ? shortAmount(amount) : `${amount} units`,
      },
      { name: "changed", isNumber: true, cell: ({ changedAtMs }) => formatTime(changedAtMs) },
      { name: "detail", cell: ({ detail }) => detail },
    ],
    withdrawals,
    "None yet.",
  );
}

/** Cuts an amount to four digits after the point, or to its first digits when it is smaller. */
function shortAmount(amount: string): string {
  const [whole = "", fraction = ""] = amount.split(".");
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  const digits = whole === "0" ? Math.max(4, zeros + 2) : 4;
  const cut = fraction.slice(0, digits).replace(/0+$/, "");
  return cut === "" ? whole : `${whole}.${cut}`;
}

function shortHash(hash: string): string {
  return hash.length <= 16 ? hash : `${hash.slice(0, 10)}…${hash.slice(-4)}`;
}
