/** Status page of the consensus relayer: the snapshot as HTML. Pure. */
import { formatDuration } from "../../core/runtime/text_table.ts";
import { renderProgramPage } from "../../core/checks/program_status.ts";
import { type EndpointReading, renderEndpointState } from "../../core/rpc/endpoint_board.ts";
import { coloured, type Html, markup, renderSection, renderTable } from "../../core/telemetry/http/page.ts";
import { type ConsensusStatus, MAX_UPDATE_AGE_MS, type RouteStatus } from "./consensus_status.ts";
import type { RouteReading } from "./light_client_board.ts";

/** Makes the page. */
export function renderConsensusPage(status: ConsensusStatus): string {
  return renderProgramPage(status, "consensus relayer", [
    renderSection("Light clients", renderClients(status)),
    renderSection("Last updates", renderUpdates(status)),
    renderSection("Last failures", renderFailures(status)),
    renderSection("Endpoints", renderEndpoints(status)),
  ]);
}

function renderClients({ lightClients, nowMs }: ConsensusStatus): Html {
  return renderTable<RouteStatus>(
    [
      { name: "light client", cell: ({ chain, target }) => markup`${chain} on ${target}` },
      { name: "knows", isNumber: true, cell: ({ knownHeight }) => knownHeight },
      { name: "newest", isNumber: true, cell: ({ head, final }) => (final ?? head)?.height },
      { name: "last update", isNumber: true, cell: (client) => renderAge(client, nowMs) },
      {
        name: "expires in",
        isNumber: true,
        cell: ({ expiresMs }) => expiresMs && formatDuration(expiresMs - nowMs),
      },
      { name: "our updates", isNumber: true, cell: ({ accepted }) => accepted },
      { name: "trusts", cell: ({ trusts }) => trusts },
      { name: "now", cell: (client) => renderNow(client, nowMs) },
    ],
    lightClients,
    "No light client is advanced.",
  );
}

function renderAge({ updatedMs, isFrozen }: RouteReading, nowMs: number): Html | undefined {
  if (isFrozen === true) return coloured("bad", "frozen");
  if (updatedMs === undefined) return undefined;
  const ageMs = nowMs - updatedMs;
  return coloured(ageMs > MAX_UPDATE_AGE_MS ? "bad" : "good", `${formatDuration(ageMs)} ago`);
}

function renderNow({ failingSinceMs, waitsFor, lastPollMs }: RouteReading, nowMs: number): Html {
  if (failingSinceMs !== undefined) {
    return coloured("bad", markup`polls fail for ${formatDuration(nowMs - failingSinceMs)}`);
  }
  if (waitsFor !== undefined) {
    const { reason, sinceMs } = waitsFor;
    return markup`${reason} ${coloured("faint", markup`for ${formatDuration(nowMs - sinceMs)}`)}`;
  }
  return lastPollMs === undefined ? coloured("faint", "starting") : markup`updating`;
}

function renderUpdates({ lightClients, nowMs }: ConsensusStatus): Html {
  const rows = lightClients.flatMap(({ chain, target, lastUpdate }) =>
    lastUpdate === undefined ? [] : [{ chain, target, ...lastUpdate }]
  );
  return renderTable<typeof rows[number]>(
    [
      { name: "light client", cell: ({ chain, target }) => markup`${chain} on ${target}` },
      { name: "when", isNumber: true, cell: ({ atMs }) => `${formatDuration(nowMs - atMs)} ago` },
      { name: "result", cell: ({ result }) => coloured(result === "accepted" ? "good" : "warn", result) },
      { name: "bytes", isNumber: true, cell: ({ bytes }) => bytes },
      { name: "took", isNumber: true, cell: ({ findMs, submitMs }) => formatDuration(findMs + submitMs) },
      { name: "what", cell: ({ detail }) => detail },
    ],
    rows,
    "None since the start.",
  );
}

function renderFailures({ lightClients, nowMs }: ConsensusStatus): Html {
  const rows = lightClients.flatMap(({ chain, target, lastFailure }) =>
    lastFailure === undefined ? [] : [{ chain, target, ...lastFailure }]
  );
  return renderTable<typeof rows[number]>(
    [
      { name: "light client", cell: ({ chain, target }) => markup`${chain} on ${target}` },
      { name: "when", isNumber: true, cell: ({ atMs }) => `${formatDuration(nowMs - atMs)} ago` },
      { name: "endpoint", cell: ({ host }) => host },
      { name: "what", cell: ({ text }) => text },
    ],
    rows,
    "None since the start.",
  );
}

function renderEndpoints({ endpoints, nowMs }: ConsensusStatus): Html {
  return renderTable<EndpointReading>(
    [
      { name: "endpoint", cell: ({ host, isSigner }) => `${host}${isSigner ? " (signer)" : ""}` },
      { name: "chain", cell: ({ chain }) => chain },
      { name: "state", cell: (endpoint) => renderEndpointState(endpoint, nowMs) },
      { name: "answers in", isNumber: true, cell: ({ latencyMs }) => `${latencyMs} ms` },
      {
        name: "behind",
        isNumber: true,
        cell: ({ lagBlocks }) => lagBlocks ? `${lagBlocks} blocks` : undefined,
      },
      { name: "requests", isNumber: true, cell: ({ requests }) => requests },
    ],
    endpoints,
    "None was asked yet.",
  );
}
