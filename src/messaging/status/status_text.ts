/** The snapshot as text for a terminal. */
import { formatProgramStatus } from "../../core/checks/program_status.ts";
import type { HeightReading } from "../../core/rpc/endpoint_board.ts";
import { formatDuration, formatSection } from "../../core/runtime/text_table.ts";
import type { ChainStatus, InFlightStatus, LegStatus, RelayStatus, WalletStatus } from "./relay_status.ts";

const HOUR_MS = 3_600_000;

/** Formats the snapshot. */
export function formatStatus(status: RelayStatus): string {
  const { nowMs } = status;
  const waiting = status.legs.flatMap(({ open }) => open).reduce((sum, { count }) => sum + count, 0);
  const age = (ms: number): string => formatDuration(nowMs - ms);
  return formatProgramStatus({ ...status, waiting }, [
    formatChains(status, age),
    formatSection("Legs", status.legs.map((leg) => legCells(leg, age)), [
      ...["leg", "read up to", "waiting", "oldest", "ended in 24 h"],
    ]),
    formatSection(
      "Bandwidth left at the hub",
      status.legs.flatMap(({ source, bandwidth }) =>
        bandwidth.map(({ sender, leftBytes }) => [source, sender, `${leftBytes} bytes`])
      ),
    ),
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
  ]);
}

/** Says of a moment how long ago it was. */
type Age = (ms: number) => string;

/** Chains of a relayer that runs; the database alone knows nothing of them but transactions. */
function formatChains({ chains, startedAtMs }: RelayStatus, age: Age): string | undefined {
  if (startedAtMs === undefined) {
    const flights = chains.flatMap(({ chain, inFlight }) =>
      inFlight === undefined ? [] : [[chain, flightText(inFlight, age)]]
    );
    return formatSection("Transactions in flight", flights);
  }
  return formatSection("Chains", chains.map((chain) => chainCells(chain, age)), [
    ...["chain", "head", "final", "endpoints up", "balance", "runway", "in flight", "light clients"],
  ]);
}

function flightText({ count, oldestMs }: InFlightStatus, age: Age): string {
  return `${count}, oldest ${age(oldestMs)}`;
}

function chainCells(chain: ChainStatus, age: Age): readonly (string | undefined)[] {
  const { wallet, inFlight } = chain;
  const endpoints = chain.endpoints.filter(({ isSigner }) => !isSigner);
  const up = endpoints.filter(({ isUp }) => isUp).length;
  return [
    chain.chain,
    heightText(chain.head, age),
    heightText(chain.final, age),
    endpoints.length === 0 ? "-" : `${up} of ${endpoints.length}`,
    wallet?.balance ?? "-",
    wallet === undefined ? "-" : runwayText(wallet),
    inFlight === undefined ? "0" : flightText(inFlight, age),
    chain.lightClients.map(({ counterparty, height, roseAtMs, isFrozen }) =>
      `${counterparty} ${height} (${isFrozen ? "frozen" : age(roseAtMs)})`
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
