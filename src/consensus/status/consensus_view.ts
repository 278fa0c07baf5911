/** The snapshot of the consensus relayer as a page and as text for a terminal. Pure. */
import { chainColumns, type ProgramView } from "../../core/checks/program_view.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import { type Cell, coloured, tableSection } from "../../core/telemetry/status_sections.ts";
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
    const name = ({ chain, target }: Client): string => short(`${chain} on ${target}`);
    /** What the light client knows is final, whenever the endpoints were asked last. */
    const newest = ({ chain, knownHeight }: Client): number | undefined => {
      const { head, final } = chains.find((each) => each.chain === chain) ?? {};
      const named = (final ?? head)?.height;
      return named === undefined ? undefined : Math.max(named, knownHeight ?? 0);
    };
    return [
      tableSection("Light clients", lightClients, {
        "light client": name,
        "knows": ({ knownHeight }) => knownHeight,
        newest,
        "last update": (client) => showAge(client, nowMs),
        "24 h": ({ ageMinByHour: line }) => ({ line, of: "age, minutes" }),
        "expires in": ({ expiresMs }) =>
          expiresMs && (expiresMs > nowMs ? formatDuration(expiresMs - nowMs) : "expired"),
        "our updates": ({ accepted }) => accepted,
        "polled": ({ lastPollMs }) => lastPollMs && age(lastPollMs),
        "now": (client) => showNow(client, nowMs),
        "trusts": ({ trusts }) => trusts,
      }),
      tableSection("Chains", chains, chainColumns(status, shows)),
      tableSection("Last updates", lightClients.filter(({ lastUpdate }) => lastUpdate !== undefined), {
        "light client": name,
        "when": ({ lastUpdate }) => lastUpdate && age(lastUpdate.atMs),
        "result": ({ lastUpdate: { result = "" } = {} }) =>
          coloured(result === "accepted" ? "good" : "warn", result),
        "bytes": ({ lastUpdate }) => lastUpdate?.bytes,
        "took": ({ lastUpdate: { findMs = 0, submitMs = 0 } = {} }) => formatDuration(findMs + submitMs),
        "what": ({ lastUpdate }) => lastUpdate?.detail,
      }),
      tableSection("Last failures", lightClients.filter(({ lastFailure }) => lastFailure !== undefined), {
        "light client": name,
        "when": ({ lastFailure }) => lastFailure && age(lastFailure.atMs),
        "endpoint": ({ lastFailure }) => lastFailure?.host,
        "what": ({ lastFailure }) => lastFailure?.text,
      }),
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
