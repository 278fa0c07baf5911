/** The snapshot as text for a terminal. */
import type { HeightReading } from "../../core/rpc/endpoint_board.ts";
import { formatWarnings } from "../../core/telemetry/recent_warnings.ts";
import { formatDuration, formatSection } from "../../core/runtime/text_table.ts";
import type { ChainStatus, InFlightStatus, LegStatus, RelayStatus, WalletStatus } from "./relay_status.ts";

const HOUR_MS = 3_600_000;

/** Formats the snapshot. */
export function formatStatus(status: RelayStatus): string {
  const { nowMs } = status;
  const age = (ms: number): string => formatDuration(nowMs - ms);
  return [
    ...status.startedAtMs === undefined
      ? formatStopped(status, age)
      : formatRunning({ ...status, startedAtMs: status.startedAtMs }, age),
    formatSection("Legs", status.legs.map((leg) => legCells(leg, age)), [
      ...["leg", "read up to", "waiting", "oldest", "ended in 24 h"],
    ]),
    formatSection(
      "Last deliveries",
      status.delivered.map((each) => [
        `${age(each.deliveredAtMs)} ago`,
        `${each.source} -> ${each.target}`,
        each.commitment,
        `${formatDuration(each.deliveredAtMs - each.seenAtMs)} after it was seen`,
      ]),
    ),
    formatSection(
      "Claims",
      status.claims.map(({ source, state, count, fees }) => [source, state, String(count), fees]),
      [
        ...["fees of", "state", "deliveries", "fee tokens"],
      ],
    ),
    formatSection(
      "Withdrawals",
      status.withdrawals.map((each) => [
        `${age(each.changedAtMs)} ago`,
        each.chain,
        each.state,
        `${each.amount}${each.isWhole ? "" : " units"}`,
        each.detail,
      ]),
    ),
    formatWarnings(status.warnings),
  ].filter((part) => part !== undefined).join("\n");
}

/** Says of a moment how long ago it was. */
type Age = (ms: number) => string;

/** State and chains of a relayer that runs. */
function formatRunning(
  { version, hub, startedAtMs, reasons, chains }: RelayStatus & { readonly startedAtMs: number },
  age: Age,
): readonly (string | undefined)[] {
  return [
    `causeway ${version}, hub ${hub}, running for ${age(startedAtMs)}`,
    formatSection(
      "In the way",
      reasons.map((reason) => [
        reason.leg ?? reason.chain ?? "program",
        `for ${age(reason.sinceMs)}`,
        `${reason.explanation} ${reason.help}`,
      ]),
    ) ?? "\nNothing is in the way.",
    formatSection("Chains", chains.map((chain) => chainCells(chain, age)), [
      ...["chain", "head", "final", "endpoints up", "balance", "runway", "in flight", "light clients"],
    ]),
  ];
}

/** What the database alone knows: neither chains nor endpoints, and of a reason not since when it holds. */
function formatStopped(
  { version, hub, reasons, chains }: RelayStatus,
  age: Age,
): readonly (string | undefined)[] {
  return [
    `causeway ${version}, hub ${hub}`,
    "\nNo relayer runs on this database: nothing is delivered until one is started. This is what the database knows.",
    formatSection(
      "In the way besides",
      reasons.map(({ leg, chain, explanation, help }) => [
        leg ?? chain ?? "program",
        `${explanation} ${help}`,
      ]),
    ),
    formatSection(
      "Transactions in flight",
      chains.flatMap(({ chain, inFlight }) =>
        inFlight === undefined ? [] : [[chain, flightText(inFlight, age)]]
      ),
    ),
  ];
}

function flightText({ count, oldestMs }: InFlightStatus, age: Age): string {
  return `${count}, oldest ${age(oldestMs)}`;
}

function chainCells(chain: ChainStatus, age: Age): readonly (string | undefined)[] {
  const { wallet, inFlight } = chain;
  const endpoints = chain.endpoints.filter(({ isSigner }) => !isSigner);
  const up = endpoints.filter(({ isUp }) => isUp).length;
  return [
    `${chain.chain}${chain.isFrozen === true ? " (frozen)" : ""}`,
    heightText(chain.head, age),
    heightText(chain.final, age),
    endpoints.length === 0 ? "-" : `${up} of ${endpoints.length}`,
    wallet?.balance ?? "-",
    wallet === undefined ? "-" : runwayText(wallet),
    inFlight === undefined ? "0" : flightText(inFlight, age),
    chain.lightClients.map(({ counterparty, height, roseAtMs }) =>
      `${counterparty} ${height} (${age(roseAtMs)})`
    )
      .join(", "),
  ];
}

function heightText(reading: HeightReading | undefined, age: Age): string {
  return reading === undefined ? "-" : `${reading.height} (${age(reading.readAtMs)} ago)`;
}

function runwayText({ runwayHours }: WalletStatus): string {
  return runwayHours === undefined ? "nothing spent in 24 h" : formatDuration(runwayHours * HOUR_MS);
}

function legCells(leg: LegStatus, age: Age): readonly (string | undefined)[] {
  const oldestMs = Math.min(...leg.open.map((each) => each.oldestMs));
  return [
    `${leg.source} -> ${leg.target}`,
    leg.cursor?.toString() ?? "-",
    leg.open.map(({ count, state, reason }) => `${count} ${reason ?? state}`).join(", ") || "nothing",
    leg.open.length === 0 ? "-" : age(oldestMs),
    Object.entries(leg.endedDay).map(([state, count]) => `${count} ${state}`).join(", ") || "nothing",
  ];
}
