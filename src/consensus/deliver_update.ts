/**
 * Submits what a prover has found and reports it to the log and to the observer. The worker of a chain does it, and an
 * operator's `prove`.
 */
import { delayAbort, type ObservedUpdate, SHUTDOWN_GRACE_MS, type UpdateObserver } from "./poll_loop.ts";
import type { ConsensusProver, ProverFinding } from "./prover.ts";
import type { ConsensusTarget, UpdateOutcome } from "../core/chains/consensus_target.ts";
import type { Refusal, SignedSubmission } from "../core/chains/submission.ts";
import { equalBytes } from "../core/encoding/bytes.ts";
import {
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdKey,
} from "../core/ismp/state_machine.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { awaitLogged } from "../core/runtime/waiting.ts";
import type { Log } from "../core/telemetry/log.ts";

/** Dependencies of the delivery. */
export interface DeliverDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** The chain to prove to. */
  readonly hub: ConsensusTarget;
  /** Notified of updates; absent: nobody observes. */
  readonly observer?: UpdateObserver | undefined;
}

/** Updates that a prover has found. */
export type UpdatesFinding = Extract<ProverFinding, { readonly kind: "updates" }>;

/** What is delivered. */
export interface UpdateToDeliver {
  readonly prover: Pick<ConsensusProver, "chain" | "consensusStateId" | "commitmentId">;
  readonly finding: UpdatesFinding;
  /** Time that the prover took for it, milliseconds. */
  readonly findMs: number;
}

/** Submits the updates and follows them; refusals and losses are for the caller to report. */
export async function deliverUpdate(
  deps: DeliverDeps,
  { prover, finding, findMs }: UpdateToDeliver,
  signal: AbortSignal,
): Promise<SubmitResult> {
  const { clock, log, hub, observer } = deps;
  const { chain, commitmentId } = prover;
  const { proofs, height, summary } = finding;
  log.debug("update_built", { summary, updates: proofs.length, bytes: bytesOf(proofs) });
  const startMs = clock.now();
  const result = await submitUpdates({ clock, log, hub, client: prover, found: finding }, signal);
  observer?.noteUpdate({ chain, target: hub.id.stateMachine }, {
    kind: height === undefined ? "rotation" : "update",
    result: result.kind,
    bytes: bytesOf(proofs),
    findMs,
    ...result.kind === "accepted" && { height: heightOf(result, commitmentId) },
    submitMs: clock.now() - startMs,
    detail: describeResult(summary, result),
  });
  if (result.kind === "accepted") logAccepted(deps, finding, result);
  if (result.kind === "overtaken") {
    log.info("update_overtaken.already_submitted", { height, hubHeight: result.hubHeight });
  }
  return result;
}

/** Height of the chain that an update has stored; `undefined`: it stored none. */
function heightOf(
  { advanced }: Extract<SubmitResult, { kind: "accepted" }>,
  of: StateMachineId,
): number | undefined {
  const stored = advanced.findLast(({ id }) => stateMachineIdKey(id) === stateMachineIdKey(of));
  return stored && Number(stored.height);
}

/** Bytes of proofs. */
export function bytesOf(proofs: readonly Uint8Array[]): number {
  return proofs.reduce((sum, proof) => sum + proof.length, 0);
}

/** Describes a result for an observer: what was proved, or why it failed. */
function describeResult(summary: string, result: SubmitResult): ObservedUpdate["detail"] {
  if (result.kind === "lost") return `${summary}: ${result.reason}`;
  return result.kind === "refused" ? `${summary}: ${result.refusal.detail}` : summary;
}

function logAccepted(
  { log }: Pick<DeliverDeps, "log">,
  { height, summary, proofs }: UpdatesFinding,
  { block, advanced }: { readonly block: bigint; readonly advanced: readonly StateMachineHeight[] },
): void {
  const fields = { summary, block, updates: proofs.length };
  if (advanced.length > 0) {
    const heights = advanced.map((of) => of.height).join(", ");
    return log.info("update_accepted", { heights, ...fields });
  }
  log.info(height === undefined ? "update_accepted" : "update_overtaken.superseded", { height, ...fields });
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

/** Updates of one poll, and the client that they advance. */
interface Submission extends Omit<DeliverDeps, "observer"> {
  readonly client: UpdateToDeliver["prover"];
  readonly found: Pick<UpdatesFinding, "proofs" | "madeOn" | "height">;
}

/** Submits the updates and waits until they are included or lost. */
export async function submitUpdates(submission: Submission, signal: AbortSignal): Promise<SubmitResult> {
  const { hub, log, client: { chain, consensusStateId: id }, found: { proofs } } = submission;
  const overtaken = await findOvertaking(submission, signal);
  if (overtaken !== undefined) return overtaken;
  const refusal = await hub.updates.dryRunUpdates({ id, proofs }, signal);
  if (refusal !== undefined) return await explainRefusal(submission, refusal, signal);
  const signed = await hub.updates.prepareUpdates({ id, proofs }, signal);
  const sent = await hub.sender.broadcast(signed, signal);
  if (sent.kind === "refused") return await explainRefusal(submission, sent.refusal, signal);
  if (sent.kind === "nonceUsed" || sent.kind === "underpriced") {
    return await findAdvance(submission, signal) ??
      { kind: "lost", reason: `the transaction pool answered ${sent.kind}` };
  }
  log.debug("update_sent", { chain, extrinsic: signed.hash });
  const awaited = { event: "long_wait.update_inclusion" as const, fields: { chain } };
  // The transaction pool already has these bytes, or another relayer's update to the same height.
  const othersMs = sent.kind === "alreadyKnown" ? COMPETITOR_TIMEOUT_MS : 0;
  return await awaitLogged(submission, awaited, () => follow(submission, { signed, othersMs }, signal));
}

/**
 * Polls the outcome; an abort leaves a grace period. @param othersMs time for which an unknown submission may be
 * another relayer's update.
 */
async function follow(
  submission: Submission,
  { signed, othersMs }: { readonly signed: SignedSubmission; readonly othersMs: number },
  signal: AbortSignal,
): Promise<SubmitResult> {
  const { hub, clock } = submission;
  const startMs = clock.now();
  const last = delayAbort(clock, signal, SHUTDOWN_GRACE_MS);
  try {
    while (clock.now() < startMs + INCLUSION_TIMEOUT_MS) {
      const outcome = await hub.outcomes.fetchOutcome(signed, last.signal);
      const isOthers = outcome.kind === "unknown" && clock.now() < startMs + othersMs;
      const result = isOthers
        ? await findAdvance(submission, last.signal)
        : await judge(submission, outcome, last.signal);
      if (result !== undefined) return result;
      await clock.sleep(POLL_MS, last.signal);
    }
    return { kind: "lost", reason: `in no block after ${INCLUSION_TIMEOUT_MS / 60_000} min` };
  } finally {
    last.end();
  }
}

async function judge(
  submission: Submission,
  outcome: UpdateOutcome,
  signal: AbortSignal,
): Promise<SubmitResult | undefined> {
  if (outcome.kind === "pending") return undefined;
  if (outcome.kind === "included" && outcome.succeeded) {
    return { kind: "accepted", block: outcome.block.height, advanced: outcome.advanced ?? [] };
  }
  if (outcome.kind === "included" && outcome.refusal !== undefined) {
    return await explainRefusal(submission, outcome.refusal, signal);
  }
  const reason = outcome.kind === "included"
    ? `failed in block ${outcome.block.height}`
    : "neither in a block nor in the transaction pool";
  return await findAdvance(submission, signal) ?? { kind: "lost", reason };
}

/** Returns the refusal, or its explanation: the hub has advanced. */
async function explainRefusal(
  submission: Submission,
  refusal: Refusal,
  signal: AbortSignal,
): Promise<SubmitResult> {
  return await findAdvance(submission, signal) ?? { kind: "refused", refusal };
}

/** Detects an update that came first: to this height, or any other that invalidates ours. */
async function findAdvance(submission: Submission, signal: AbortSignal): Promise<SubmitResult | undefined> {
  const overtaken = await findOvertaking(submission, signal);
  if (overtaken !== undefined) return overtaken;
  const { hub, client: { consensusStateId }, found } = submission;
  const stored = await hub.reads.fetchClient(consensusStateId, "best", signal);
  const isSame = stored === undefined || equalBytes(stored.state, found.madeOn);
  return isSame ? undefined : { kind: "overtaken", hubHeight: undefined };
}

/** Detects an update to this height or a newer one. */
async function findOvertaking(
  { hub, client, found: { height } }: Submission,
  signal: AbortSignal,
): Promise<SubmitResult | undefined> {
  if (height === undefined) return undefined;
  const hubHeight = await hub.reads.fetchLatestHeight(client.commitmentId, signal);
  return hubHeight !== undefined && hubHeight >= height ? { kind: "overtaken", hubHeight } : undefined;
}
