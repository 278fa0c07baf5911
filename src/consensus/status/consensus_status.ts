/**
 * Snapshot of the consensus relayer: what its status page shows and `/status.json` returns. Plain data that survives
 * JSON; times are Unix milliseconds.
 */
import { formatDuration } from "../../core/runtime/text_table.ts";
import { type ProgramStatus, toCheckReasons } from "../../core/checks/program_status.ts";
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

/** Time for which all polls of a light client may fail. */
const MAX_FAILING_MS = 15 * 60_000;

/** Age from which a light client counts as stalled, where the configuration sets no limit. */
export const MAX_UPDATE_AGE_MS = 6 * 3_600_000;

/** Finds the reasons for which the program does not do its work. Pure. */
export function findStallReasons(
  { nowMs, lightClients, endpoints, checks }: Pick<
    ConsensusStatus,
    "nowMs" | "lightClients" | "endpoints" | "checks"
  >,
): readonly FoundReason[] {
  return [
    ...[...Map.groupBy(endpoints, ({ chain }) => chain)].flatMap(([chain, all]) =>
      findEndpointReasons(chain, all)
    ),
    ...lightClients.flatMap((client) => ofClient(client, nowMs)),
    ...toCheckReasons(checks),
  ];
}

function ofClient(client: RouteReading, nowMs: number): FoundReason[] {
  const { chain, target, failingSinceMs, updatedMs, isFrozen } = client;
  const place = { chain, leg: `${chain} -> ${target}` };
  const found: FoundReason[] = [];
  if (isFrozen === true) {
    found.push({
      ...place,
      code: "light_client_frozen",
      explanation: `The light client of ${chain} on ${target} is frozen and accepts no updates.`,
      help: "Nothing can be done here: governance has to unfreeze it.",
    });
  }
  if (failingSinceMs !== undefined && nowMs - failingSinceMs > MAX_FAILING_MS) {
    found.push({
      ...place,
      code: "polls_failing",
      explanation: `Every poll has failed for ${formatDuration(nowMs - failingSinceMs)}.`,
      help: "Look at the last warnings about this chain.",
      sinceMs: failingSinceMs,
    });
  }
  if (updatedMs !== undefined && nowMs - updatedMs > MAX_UPDATE_AGE_MS) {
    found.push({
      ...place,
      code: "light_client_stalled",
      explanation: `The light client accepted its last update ${formatDuration(nowMs - updatedMs)} ago.`,
      help: "Check that the chain finalizes, and the last warnings about it.",
      sinceMs: updatedMs + MAX_UPDATE_AGE_MS,
    });
  }
  return found;
}
