/**
 * Snapshot of the consensus relayer: what its status page shows and `/status.json` returns. Plain data that survives
 * JSON; times are Unix milliseconds.
 */
import { formatDuration } from "../../core/runtime/text_table.ts";
import { findStoppedChain, type ProgramStatus } from "../../core/checks/program_status.ts";
import type { ChainHeights, EndpointReading } from "../../core/rpc/endpoint_board.ts";
import { findEndpointReasons } from "../../core/rpc/endpoint_board.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import type { RouteReading } from "./light_client_board.ts";

/** A light client, and the chain that it follows. Absent heights: no endpoint has named one yet. */
export type RouteStatus = RouteReading & ChainHeights;

/** The snapshot. */
export interface ConsensusStatus extends ProgramStatus {
  readonly program: "causeway-consensus";
  readonly startedAtMs: number;
  readonly lightClients: readonly RouteStatus[];
  readonly endpoints: readonly EndpointReading[];
}

/** Time for which all polls of a light client may fail until that is told, and until nothing counts as done for it. */
const FAILING_MS = { told: 60_000, stopped: 15 * 60_000 } as const;

/** Age from which a light client counts as stalled, where the configuration sets no limit. */
export const MAX_UPDATE_AGE_MS = 6 * 3_600_000;

/** Finds what is in the way of updates. Pure. */
export function findStallReasons(
  { nowMs, hub, lightClients, endpoints }: Pick<
    ConsensusStatus,
    "nowMs" | "hub" | "lightClients" | "endpoints"
  >,
): readonly FoundReason[] {
  const chains = Map.groupBy(lightClients, ({ chain }) => chain);
  return [
    ...[...Map.groupBy(endpoints, ({ chain }) => chain)].flatMap(([chain, all]) =>
      findEndpointReasons(chain, all)
    ),
    ...[...chains].flatMap(([chain, [heights = {}]]) => findStoppedChain(chain, heights, { nowMs, hub })),
    ...lightClients.flatMap((client) => ofClient(client, nowMs)),
  ];
}

function ofClient(client: RouteReading, nowMs: number): FoundReason[] {
  const { chain, target, failingSinceMs, updatedMs, isFrozen, expiresMs } = client;
  const place = { chain, leg: `${chain} -> ${target}` };
  const name = `The light client of ${chain} on ${target}`;
  const found: FoundReason[] = [];
  if (isFrozen === true) {
    found.push({
      ...place,
      code: "light_client_frozen",
      explanation: `${name} is frozen and accepts no updates.`,
      help: "Nothing can be done here: governance has to unfreeze it.",
    });
  }
  const hasExpired = expiresMs !== undefined && expiresMs <= nowMs;
  if (hasExpired) {
    found.push({
      ...place,
      code: "light_client_expired",
      explanation: `${name} has expired and accepts no updates.`,
      help: `Nothing can be done here: governance of ${target} has to create it again.`,
      sinceMs: expiresMs,
    });
  }
  if (failingSinceMs !== undefined && nowMs - failingSinceMs > FAILING_MS.told) {
    const { lastFailure } = client;
    const what = lastFailure === undefined ? "" : `: ${lastFailure.text}${hostText(lastFailure.host)}`;
    found.push({
      ...place,
      code: "polls_failing",
      explanation: `Every poll has failed for ${formatDuration(nowMs - failingSinceMs)}${what}.`,
      help: "Read the last warnings about this chain.",
      isWarning: nowMs - failingSinceMs <= FAILING_MS.stopped,
      sinceMs: failingSinceMs,
      nextMs: client.nextPollMs,
    });
  }
  if (updatedMs !== undefined && nowMs - updatedMs > MAX_UPDATE_AGE_MS && !hasExpired) {
    const { waitsFor } = client;
    const why = waitsFor === undefined ? "" : ` It waits: ${waitsFor.reason}.`;
    found.push({
      ...place,
      code: "light_client_stalled",
      explanation: `The light client accepted its last update ${
        formatDuration(nowMs - updatedMs)
      } ago.${why}`,
      help: "Check that the chain finalizes, and the last warnings about it.",
      sinceMs: updatedMs + MAX_UPDATE_AGE_MS,
    });
  }
  return found;
}

function hostText(host: string | undefined): string {
  return host === undefined ? "" : ` (${host})`;
}
