/** The snapshot of the consensus relayer as a page and as text for a terminal. Pure. */
import { chainColumns, type ProgramView } from "../../core/checks/program_view.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import {
  type Cell,
  coloured,
  type Column,
  numberColumn,
  tableSection,
  textColumn,
} from "../../core/telemetry/status_sections.ts";
import { type ConsensusStatus, MAX_UPDATE_AGE_MS, type RouteReading } from "./consensus_status.ts";

type Client = ConsensusStatus["lightClients"][number];

/** What the status of the consensus relayer shows. */
export const consensusView: ProgramView<ConsensusStatus> = {
  role: "consensus relayer",
  facts: ({ lightClients }) => {
    const accepted = lightClients.reduce((sum, each) => sum + each.accepted, 0);
    return [`light clients: ${lightClients.length}`, `our updates since the start: ${accepted}`];
  },
  sections: (status, shows) => {
    const { nowMs, lightClients, chains } = status;
    const { age, short } = shows;
    const name: Column<Client> = textColumn(
      "light client",
      ({ chain, target }) => short(`${chain} on ${target}`),
    );
    /** What the light client knows is final, whenever the endpoints were asked last. */
    const newest = ({ chain, knownHeight }: Client): number | undefined => {
      const { head, final } = chains.find((each) => each.chain === chain) ?? {};
      const named = (final ?? head)?.height;
      return named === undefined ? undefined : Math.max(named, knownHeight ?? 0);
    };
    return [
      tableSection("Light clients", lightClients, [
        name,
        numberColumn("knows", ({ knownHeight }) => knownHeight),
        numberColumn("newest", newest),
        numberColumn("last update", (client) => showAge(client, nowMs)),
        textColumn("24 h", ({ ageMinByHour: line }) => ({ line, of: "age, minutes" })),
        numberColumn(
          "expires in",
          ({ expiresMs }) => expiresMs && (expiresMs > nowMs ? formatDuration(expiresMs - nowMs) : "expired"),
        ),
        numberColumn("our updates", ({ accepted }) => accepted),
        numberColumn("polled", ({ lastPollMs }) => lastPollMs && age(lastPollMs)),
        textColumn("now", (client) => showNow(client, nowMs)),
        textColumn("trusts", ({ trusts }) => trusts),
      ]),
      tableSection("Chains", chains, chainColumns(status, shows)),
      tableSection("Last updates", lightClients.filter(({ lastUpdate }) => lastUpdate !== undefined), [
        name,
        numberColumn("when", ({ lastUpdate }) => lastUpdate && age(lastUpdate.atMs)),
        textColumn(
          "result",
          ({ lastUpdate: { result = "" } = {} }) => coloured(result === "accepted" ? "good" : "warn", result),
        ),
        numberColumn("bytes", ({ lastUpdate }) => lastUpdate?.bytes),
        numberColumn(
          "took",
          ({ lastUpdate: { findMs = 0, submitMs = 0 } = {} }) => formatDuration(findMs + submitMs),
        ),
        textColumn("what", ({ lastUpdate }) => lastUpdate?.detail),
      ]),
      tableSection("Last failures", lightClients.filter(({ lastFailure }) => lastFailure !== undefined), [
        name,
        numberColumn("when", ({ lastFailure }) => lastFailure && age(lastFailure.atMs)),
        textColumn("endpoint", ({ lastFailure }) => lastFailure?.host),
        textColumn("what", ({ lastFailure }) => lastFailure?.text),
      ]),
    ];
  },
};

function showAge({ updatedMs, isFrozen }: RouteReading, nowMs: number): Cell {
  if (isFrozen === true) return coloured("bad", "frozen");
  if (updatedMs === undefined) return undefined;
  const ageMs = nowMs - updatedMs;
  return coloured(ageMs > MAX_UPDATE_AGE_MS ? "bad" : "good", `${formatDuration(ageMs)} ago`);
}

function showNow({ failingSinceMs, waitsFor, lastPollMs }: RouteReading, nowMs: number): Cell {
  if (failingSinceMs !== undefined) {
    return coloured("bad", `polls fail for ${formatDuration(nowMs - failingSinceMs)}`);
  }
  if (waitsFor !== undefined) {
    return { text: waitsFor.reason, note: `for ${formatDuration(nowMs - waitsFor.sinceMs)}` };
  }
  return lastPollMs === undefined ? coloured("faint", "starting") : "updating";
}
