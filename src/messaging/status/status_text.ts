/** The snapshot as text for a terminal. */
import type { HeightReading } from "../../core/rpc/endpoint_board.ts";
import { formatWarnings } from "../../core/telemetry/recent_warnings.ts";
import { formatDuration, formatSection } from "../../core/runtime/text_table.ts";
import type { ChainStatus, LegStatus, RelayStatus } from "./relay_status.ts";

/** Formats the snapshot. */
export function formatStatus(status: RelayStatus): string {
  const { nowMs } = status;
  const age = (ms: number): string => formatDuration(nowMs - ms);
  return [
    `causeway ${status.version}, hub ${status.hub}, ${
      status.startedAtMs === undefined
        ? "not running: from the database"
        : `running for ${age(status.startedAtMs)}`
    }`,
    formatSection(
      "In the way",
      status.reasons.map((reason) => [
        reason.leg ?? reason.chain ?? "program",
        `for ${age(reason.sinceMs)}`,
        `${reason.explanation} ${reason.help}`,
      ]),
    ) ?? "\nNothing is in the way.",
    formatSection("Chains", status.chains.map((chain) => chainCells(chain, age)), [
      ...["chain", "head", "final", "endpoints up", "balance", "hours left", "in flight", "light clients"],
    ]),
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

function chainCells(chain: ChainStatus, age: (ms: number) => string): readonly (string | undefined)[] {
  const { endpoints, wallet, inFlight } = chain;
  const up = endpoints.filter(({ isUp }) => isUp).length;
  return [
    `${chain.chain}${chain.isFrozen === true ? " (frozen)" : ""}`,
    heightText(chain.head, age),
    heightText(chain.final, age),
    endpoints.length === 0 ? "-" : `${up} of ${endpoints.length}`,
    wallet?.balance ?? "-",
    wallet?.runwayHours?.toString() ?? "-",
    inFlight === undefined ? "0" : `${inFlight.count}, oldest ${age(inFlight.oldestMs)}`,
    chain.lightClients.map(({ counterparty, height, roseAtMs }) =>
      `${counterparty} ${height} (${age(roseAtMs)})`
    )
      .join(", "),
  ];
}

function heightText(reading: HeightReading | undefined, age: (ms: number) => string): string {
  return reading === undefined ? "-" : `${reading.height} (${age(reading.readAtMs)} ago)`;
}

function legCells(leg: LegStatus, age: (ms: number) => string): readonly (string | undefined)[] {
  const oldestMs = Math.min(...leg.open.map((each) => each.oldestMs));
  return [
    `${leg.source} -> ${leg.target}`,
    leg.cursor?.toString() ?? "-",
    leg.open.map(({ count, state, reason }) => `${count} ${reason ?? state}`).join(", ") || "nothing",
    leg.open.length === 0 ? "-" : age(oldestMs),
    Object.entries(leg.endedDay).map(([state, count]) => `${count} ${state}`).join(", ") || "nothing",
  ];
}
