/**
 * Snapshot of the consensus relayer: what its status page shows and `/status.json` returns, and the gauges that are read
 * in it. Plain data that survives JSON; times are Unix milliseconds.
 */
import type { Drawing } from "../../core/telemetry/status_sections.ts";
import { findChainReasons, type ProgramStatus } from "../../core/checks/program_status.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import { gaugesOf, type SnapshotGauges } from "../../core/telemetry/metrics.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import type { PollFailure } from "../poll_loop.ts";
import type { ObservedUpdate } from "../poll_loop.ts";

/** A light client as last seen. Absent: not yet. */
export interface RouteReading {
  /** Chain whose finality is proved. */
  readonly chain: string;
  /** Chain that holds the light client. */
  readonly target: string;
  readonly lastPollMs?: number | undefined;
  /** What the prover waits for, and since when. */
  readonly waitsFor?: { readonly reason: string; readonly sinceMs: number } | undefined;
  /** When a light client whose last poll failed is polled again, at the latest. */
  readonly nextPollMs?: number | undefined;
  /** Time since which every poll failed. */
  readonly failingSinceMs?: number | undefined;
  /** Last failure of a poll, also after others that succeeded. */
  readonly lastFailure?: PollFailure & { readonly atMs: number } | undefined;
  readonly lastUpdate?: ObservedUpdate & { readonly atMs: number } | undefined;
  /** Updates of ours that were accepted since the start. */
  readonly accepted: number;
  /** Last update of the light client, from any relayer. */
  readonly updatedMs?: number | undefined;
  readonly isFrozen?: boolean | undefined;
  /** Height of the chain that the target knows. */
  readonly knownHeight?: number | undefined;
  /** What the light client trusts besides that height: of EVM hosts the relay chain's block and authority set. */
  readonly trusts?: string | undefined;
  /** Time at which it expires without another update; absent also: it never does. */
  readonly expiresMs?: number | undefined;
}

/** The snapshot. */
export interface ConsensusStatus extends ProgramStatus {
  /** With the highest age of its last update in each hour, minutes; since the start of the program. */
  readonly lightClients: readonly (RouteReading & { readonly ageMinByHour: Drawing["line"] })[];
}

/** Gauges of the consensus relayer. */
export const consensusGauges: SnapshotGauges<ConsensusStatus> = gaugesOf(
  ({ lightClients }) => lightClients.filter(({ updatedMs }) => updatedMs !== undefined),
  ["chain", "target"],
  {
    causeway_update_age_seconds: [
      "Time since the light client of `chain` on `target` last accepted an update of any relayer",
      ({ updatedMs = 0 }, { nowMs }) => Math.max(0, nowMs - updatedMs) / 1_000,
    ],
  },
);

/** Time for which all polls of a light client may fail until that is told, and until nothing counts as done for it. */
const FAILING_MS = { told: 60_000, stopped: 15 * 60_000 } as const;

/** Age from which a light client counts as stalled, where the configuration sets no limit. */
export const MAX_UPDATE_AGE_MS = 6 * 3_600_000;

/** Finds what is in the way of updates. Pure. */
export function findStallReasons(
  { chains, lightClients, ...program }: Pick<ConsensusStatus, "nowMs" | "hub" | "lightClients" | "chains">,
): readonly FoundReason[] {
  return [
    ...chains.flatMap((chain) => findChainReasons(chain, program)),
    ...lightClients.flatMap((client) => ofClient(client, program.nowMs)),
  ];
}

function ofClient(client: RouteReading, nowMs: number): FoundReason[] {
  const { chain, target, failingSinceMs, updatedMs, isFrozen, expiresMs } = client;
  const name = `The light client of ${chain} on ${target}`;
  const found: Omit<FoundReason, "chain" | "leg">[] = [];
  if (isFrozen === true) {
    found.push({
      code: "light_client_frozen",
      explanation: `${name} is frozen and accepts no updates.`,
      help: "Nothing can be done here: governance has to unfreeze it.",
    });
  }
  const hasExpired = expiresMs !== undefined && expiresMs <= nowMs;
  if (hasExpired) {
    found.push({
      code: "light_client_expired",
      explanation: `${name} has expired and accepts no updates.`,
      help: `Nothing can be done here: governance of ${target} has to create it again.`,
      sinceMs: expiresMs,
    });
  }
  if (failingSinceMs !== undefined && nowMs - failingSinceMs > FAILING_MS.told) {
    const { text = "", host } = client.lastFailure ?? {};
    const what = [text, host && `(${host})`].filter(Boolean).join(" ");
    found.push({
      code: "polls_failing",
      explanation: `Every poll has failed for ${formatDuration(nowMs - failingSinceMs)}: ${what}.`,
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
      code: "light_client_stalled",
      explanation: `The light client accepted its last update ${
        formatDuration(nowMs - updatedMs)
      } ago.${why}`,
      help: "Check that the chain finalizes, and the last warnings about it.",
      sinceMs: updatedMs + MAX_UPDATE_AGE_MS,
    });
  }
  return found.map((reason) => ({ ...reason, chain, leg: `${chain} -> ${target}` }));
}
