/** The snapshot as text for a terminal. */
import { escapeControls } from "../../core/config/redact.ts";
import { formatTable, shownTime } from "../../core/runtime/text_table.ts";
import type { ChainStatus, LegStatus, RelayStatus } from "./relay_status.ts";

/** Formats the snapshot. */
export function formatStatus(status: RelayStatus): string {
  const { nowMs } = status;
  const age = (ms: number): string => ageText(nowMs - ms);
  return [
    `causeway ${status.version}, hub ${status.hub}, ${
      status.startedAtMs === undefined
        ? "not running: from the database"
        : `running for ${age(status.startedAtMs)}`
    }`,
    section(
      "In the way",
      status.reasons.map((reason) => [
        reason.leg ?? reason.chain ?? "program",
        `for ${age(reason.sinceMs)}`,
        `${reason.explanation} ${reason.help}`,
      ]),
    ) ?? "\nNothing is in the way.",
    section("Chains", status.chains.map((chain) => chainCells(chain, age)), [
      ...["chain", "head", "final", "endpoints up", "balance", "hours left", "in flight", "light clients"],
    ]),
    section("Legs", status.legs.map((leg) => legCells(leg, age)), [
      ...["leg", "read up to", "waiting", "oldest", "ended in 24 h"],
    ]),
    section(
      "Last deliveries",
      status.delivered.map((each) => [
        `${age(each.deliveredAtMs)} ago`,
        `${each.source} -> ${each.target}`,
        each.commitment,
        `${ageText(each.deliveredAtMs - each.seenAtMs)} after it was seen`,
      ]),
    ),
    section(
      "Claims",
      status.claims.map(({ source, state, count, fees }) => [source, state, String(count), fees]),
      [
        ...["fees of", "state", "deliveries", "fee tokens"],
      ],
    ),
    section(
      "Withdrawals",
      status.withdrawals.map((each) => [
        `${age(each.changedAtMs)} ago`,
        each.chain,
        each.state,
        `${each.amount}${each.isWhole ? "" : " units"}`,
        each.detail,
      ]),
    ),
    section(
      "Warnings",
      status.warnings.map(({ atMs, level, text, event }) => [
        shownTime(new Date(atMs).toISOString()),
        level,
        `${text} [${event}]`,
      ]),
    ),
  ].filter((part) => part !== undefined).join("\n");
}

function section(
  title: string,
  rows: readonly (readonly (string | undefined)[])[],
  heading?: readonly string[],
): string | undefined {
  if (rows.length === 0) return undefined;
  const table = formatTable(heading === undefined ? rows : [heading, ...rows]);
  return `\n${escapeControls(title)}\n${table.split("\n").map((line) => `  ${line}`).join("\n")}`;
}

function chainCells(chain: ChainStatus, age: (ms: number) => string): readonly (string | undefined)[] {
  const { endpoints, wallet, inFlight } = chain;
  const up = endpoints.filter(({ isUp }) => isUp).length;
  return [
    `${chain.chain}${chain.isFrozen === true ? " (frozen)" : ""}`,
    chain.head?.toString() ?? "-",
    chain.final?.toString() ?? "-",
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

/** A duration in its largest units. */
function ageText(ms: number): string {
  const sec = Math.max(0, Math.round(ms / 1000));
  if (sec < 120) return `${sec} s`;
  if (sec < 7_200) return `${Math.round(sec / 60)} min`;
  return sec < 172_800 ? `${Math.round(sec / 3_600)} h` : `${Math.round(sec / 86_400)} d`;
}
