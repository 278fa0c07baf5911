/** The snapshot of the consensus relayer as a page and as text for a terminal. Pure. */
import { formatProgramStatus, renderProgramPage } from "../../core/checks/program_status.ts";
import { showEndpoint } from "../../core/rpc/endpoint_board.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import {
  type Cell,
  coloured,
  type StatusSection,
  tableSection,
} from "../../core/telemetry/status_sections.ts";
import { type ConsensusStatus, MAX_UPDATE_AGE_MS } from "./consensus_status.ts";
import type { RouteReading } from "./light_client_board.ts";

/** Makes the page. */
export function renderConsensusPage(status: ConsensusStatus): string {
  return renderProgramPage(status, "consensus relayer", provableSections(status));
}

/** Formats the snapshot for a terminal. */
export function formatConsensusStatus(status: ConsensusStatus): string {
  return formatProgramStatus(status, provableSections(status));
}

function provableSections(status: ConsensusStatus): readonly StatusSection[] {
  const { nowMs } = status;
  const age = (ms: number): string => `${formatDuration(nowMs - ms)} ago`;
  const clients = status.lightClients.map((client) => ({
    ...client,
    name: `${client.chain} on ${client.target}`,
  }));
  const updates = clients.flatMap(({ name, lastUpdate }) => lastUpdate ? [{ name, ...lastUpdate }] : []);
  const failures = clients.flatMap(({ name, lastFailure }) => lastFailure ? [{ name, ...lastFailure }] : []);
  return [
    tableSection({ title: "Light clients", rows: clients, otherwise: "No light client is advanced." }, [
      { name: "light client", cell: ({ name }) => name },
      { name: "knows", isNumber: true, cell: ({ knownHeight }) => knownHeight },
      { name: "newest", isNumber: true, cell: ({ head, final }) => (final ?? head)?.height },
      { name: "last update", isNumber: true, cell: (client) => showAge(client, nowMs) },
      {
        name: "expires in",
        isNumber: true,
        cell: ({ expiresMs }) =>
          expiresMs && (expiresMs > nowMs ? formatDuration(expiresMs - nowMs) : "expired"),
      },
      { name: "our updates", isNumber: true, cell: ({ accepted }) => accepted },
      { name: "polled", isNumber: true, cell: ({ lastPollMs }) => lastPollMs && age(lastPollMs) },
      { name: "now", cell: (client) => showNow(client, nowMs) },
      { name: "trusts", cell: ({ trusts }) => trusts },
    ]),
    tableSection({ title: "Last updates", rows: updates, otherwise: "None since the start." }, [
      { name: "light client", cell: ({ name }) => name },
      { name: "when", isNumber: true, cell: ({ atMs }) => age(atMs) },
      { name: "result", cell: ({ result }) => coloured(result === "accepted" ? "good" : "warn", result) },
      { name: "bytes", isNumber: true, cell: ({ bytes }) => bytes },
      { name: "took", isNumber: true, cell: ({ findMs, submitMs }) => formatDuration(findMs + submitMs) },
      { name: "what", cell: ({ detail }) => detail },
    ]),
    tableSection({ title: "Last failures", rows: failures, otherwise: "None since the start." }, [
      { name: "light client", cell: ({ name }) => name },
      { name: "when", isNumber: true, cell: ({ atMs }) => age(atMs) },
      { name: "endpoint", cell: ({ host }) => host },
      { name: "what", cell: ({ text }) => text },
    ]),
    tableSection({ title: "Endpoints", rows: status.endpoints, otherwise: "None was asked yet." }, [
      { name: "endpoint", cell: (endpoint) => showEndpoint(endpoint, nowMs) },
      { name: "chain", cell: ({ chain }) => chain },
      { name: "requests", isNumber: true, cell: ({ requests }) => requests },
      { name: "last fault", cell: ({ lastFault }) => lastFault },
    ]),
  ];
}

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
