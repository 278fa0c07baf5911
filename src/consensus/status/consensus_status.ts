/**
 * Snapshot of the consensus relayer: what its status page shows and `/status.json` returns, and the gauges that are read
 * in it. Plain data that survives JSON; times are Unix milliseconds.
 */
import * as z from "zod";
import { hours } from "../../core/checks/hours.ts";
import { findChainReasons, listed, programStatus } from "../../core/checks/program_status.ts";
import { formatDuration } from "../../core/runtime/text_table.ts";
import { gaugesOf, type SnapshotGauges } from "../../core/telemetry/metrics.ts";
import type { FoundReason } from "../../core/telemetry/readiness.ts";
import type { PollFailure } from "../poll_loop.ts";
import type { ObservedUpdate } from "../poll_loop.ts";

/** A light client as last seen. Absent: not yet. */
const lightClient = z.object({
  /** Chain whose finality is proved. */
  chain: z.string(),
  /** Chain that holds the light client. */
  target: z.string(),
  lastPollMs: z.number().optional(),
  /** What the prover waits for, and since when. */
  waitsFor: z.object({ reason: z.string(), sinceMs: z.number() }).optional(),
  /** When a light client whose last poll failed is polled again, at the latest. */
  nextPollMs: z.number().optional(),
  /** Time since which every poll failed. */
  failingSinceMs: z.number().optional(),
  /** Last failure of a poll, also after others that succeeded. */
  lastFailure: z.custom<PollFailure & { readonly atMs: number }>().optional(),
  lastUpdate: z.custom<ObservedUpdate & { readonly atMs: number }>().optional(),
  /** Updates of ours that were accepted since the start. */
  accepted: z.number(),
  /** Last update of the light client, from any relayer. */
  updatedMs: z.number().optional(),
  isFrozen: z.boolean().optional(),
  /** Height of the chain that the target knows. */
  knownHeight: z.number().optional(),
  /** What the light client trusts besides that height: of EVM hosts the relay chain's block and authority set. */
  trusts: z.string().optional(),
  /** Time at which it expires without another update; absent also: it never does. */
  expiresMs: z.number().optional(),
});

/** A light client as last seen. */
export type RouteReading = Readonly<z.output<typeof lightClient>>;

/** The snapshot. */
const consensusStatus = programStatus.extend({
  program: z.literal("causeway-consensus"),
  /** With the highest age of its last update in each hour, minutes; since the start of the program. */
  lightClients: listed(lightClient.extend({ ageMinByHour: hours })),
});

/** The snapshot. */
export type ConsensusStatus = Readonly<z.output<typeof consensusStatus>>;

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
