/**
 * Submits updates to the hub: dry run, signature, broadcast, and polling until they are included. Another relayer may
 * be faster at any moment; that is no fault. Start reading at {@link submitUpdates}. Source:
 * docs/protocol/hub-consensus.md section 3.4 and docs/protocol/evm-consensus.md section 4.
 */
import { equalBytes } from "../core/encoding/bytes.ts";
import type { Refusal, SignedSubmission } from "../core/chains/submission.ts";
import type { ConsensusTarget, TargetReads, UpdateOutcome } from "../core/chains/consensus_target.ts";
import type {
  ConsensusStateId,
  StateMachine,
  StateMachineHeight,
  StateMachineId,
} from "../core/ismp/state_machine.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { awaitLogged } from "../core/runtime/waiting.ts";
import type { Log } from "../core/telemetry/log.ts";
import { delayAbort, SHUTDOWN_GRACE_MS } from "./delay_abort.ts";

/** Dependencies of the submission. */
export interface SubmitDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly hub: Pick<ConsensusTarget, "updates" | "sender" | "outcomes"> & {
    readonly reads: Pick<TargetReads, "fetchClient" | "fetchLatestHeight">;
  };
}

/** Updates of one chain that our own verifier accepts. */
export interface FoundUpdates {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly commitmentId: StateMachineId;
  /** In the order of the extrinsic. */
  readonly proofs: readonly Uint8Array[];
  /** State of the client that they build on, as the hub stores it. */
  readonly madeOn: Uint8Array;
  /** Height that the hub will know afterwards; `undefined` for a mere validator set rotation. */
  readonly height: bigint | undefined;
}

/** Outcome of the submission. */
export type SubmitResult =
  /** Included. `advanced`: the heights that the hub stored, possibly none. */
  | { readonly kind: "accepted"; readonly block: bigint; readonly advanced: readonly StateMachineHeight[] }
  /**
   * Another relayer submitted this height or a newer one; `undefined`: another update, on which ours must be rebuilt.
   */
  | { readonly kind: "overtaken"; readonly hubHeight: bigint | undefined }
  /** The hub refuses updates that our verifier accepts, and has not advanced in the meantime. */
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Neither included nor in the transaction pool any more, or not included in time. */
  | { readonly kind: "lost"; readonly reason: string };

/** Interval between polls of a submission. */
const POLL_MS = 2_000;

/**
 * Timeout of the inclusion. The transaction pool keeps an update for 25 blocks (docs/protocol/hub-consensus.md section
 * 3.4), 5 min at 12 s; twice that suffices for all hubs.
 */
const INCLUSION_TIMEOUT_MS = 600_000;

/** Timeout of another relayer's update that kept ours out of the transaction pool. */
const COMPETITOR_TIMEOUT_MS = 60_000;

/** Submits updates and waits until they are included or lost. */
export async function submitUpdates(
  deps: SubmitDeps,
  found: FoundUpdates,
  signal: AbortSignal,
): Promise<SubmitResult> {
  const { hub } = deps;
  const overtaken = await overtakenBy(hub, found, signal);
  if (overtaken !== undefined) return overtaken;
  const refusal = await hub.updates.dryRunUpdates(
    { id: found.consensusStateId, proofs: found.proofs },
    signal,
  );
  if (refusal !== undefined) return await refused(hub, found, refusal, signal);
  const submission = await hub.updates.prepareUpdates(
    { id: found.consensusStateId, proofs: found.proofs },
    signal,
  );
  const sent = await hub.sender.broadcast(submission, signal);
  if (sent.kind === "refused") return await refused(hub, found, sent.refusal, signal);
  if (sent.kind === "nonceUsed" || sent.kind === "underpriced") {
    return await movedOn(hub, found, signal) ??
      { kind: "lost", reason: `the transaction pool answered ${sent.kind}` };
  }
  deps.log.debug("update_sent", { chain: found.chain, extrinsic: submission.hash });
  const awaited = {
    event: "update_inclusion_awaited" as const,
    fields: { chain: found.chain },
  };
  // The transaction pool already has these bytes, or another relayer's update to the same height.
  const othersMs = sent.kind === "alreadyKnown" ? COMPETITOR_TIMEOUT_MS : 0;
  return await awaitLogged(deps, awaited, () => follow(deps, found, { submission, othersMs }, signal));
}

/** Polls the outcome; an abort leaves a grace period. */
async function follow(
  deps: SubmitDeps,
  found: FoundUpdates,
  { submission, othersMs }: { readonly submission: SignedSubmission; readonly othersMs: number },
  signal: AbortSignal,
): Promise<SubmitResult> {
  const startMs = deps.clock.now();
  const untilMs = startMs + INCLUSION_TIMEOUT_MS;
  const last = delayAbort(deps.clock, signal, SHUTDOWN_GRACE_MS);
  try {
    while (deps.clock.now() < untilMs) {
      const outcome = await deps.hub.outcomes.fetchUpdateOutcome(submission, last.signal);
      const isOthers = outcome.kind === "unknown" && deps.clock.now() < startMs + othersMs;
      const result = isOthers
        ? await movedOn(deps.hub, found, last.signal)
        : await judge(deps.hub, found, outcome, last.signal);
      if (result !== undefined) return result;
      await deps.clock.sleep(POLL_MS, last.signal);
    }
    return { kind: "lost", reason: `in no block after ${INCLUSION_TIMEOUT_MS / 60_000} min` };
  } finally {
    last.end();
  }
}

async function judge(
  hub: SubmitDeps["hub"],
  found: FoundUpdates,
  outcome: UpdateOutcome,
  signal: AbortSignal,
): Promise<SubmitResult | undefined> {
  if (outcome.kind === "pending") return undefined;
  if (outcome.kind === "included" && outcome.succeeded) {
    return { kind: "accepted", block: outcome.block.height, advanced: outcome.advanced ?? [] };
  }
  if (outcome.kind === "included" && outcome.refusal !== undefined) {
    return await refused(hub, found, outcome.refusal, signal);
  }
  const reason = outcome.kind === "included"
    ? `failed in block ${outcome.block.height}`
    : "neither in a block nor in the transaction pool";
  return await movedOn(hub, found, signal) ?? { kind: "lost", reason };
}

/** Returns the refusal, or its explanation: the hub has advanced. */
async function refused(
  hub: SubmitDeps["hub"],
  found: FoundUpdates,
  refusal: Refusal,
  signal: AbortSignal,
): Promise<SubmitResult> {
  return await movedOn(hub, found, signal) ?? { kind: "refused", refusal };
}

/** Detects an update that came first: to this height, or any other that invalidates ours. */
async function movedOn(
  hub: SubmitDeps["hub"],
  found: FoundUpdates,
  signal: AbortSignal,
): Promise<SubmitResult | undefined> {
  const overtaken = await overtakenBy(hub, found, signal);
  if (overtaken !== undefined) return overtaken;
  const client = await hub.reads.fetchClient(found.consensusStateId, "best", signal);
  const isSame = client === undefined || equalBytes(client.state, found.madeOn);
  return isSame ? undefined : { kind: "overtaken", hubHeight: undefined };
}

async function overtakenBy(
  hub: SubmitDeps["hub"],
  { commitmentId, height }: FoundUpdates,
  signal: AbortSignal,
): Promise<SubmitResult | undefined> {
  if (height === undefined) return undefined;
  const hubHeight = await hub.reads.fetchLatestHeight(commitmentId, signal);
  return hubHeight !== undefined && hubHeight >= height ? { kind: "overtaken", hubHeight } : undefined;
}
