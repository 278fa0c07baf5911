/**
 * Updates of light clients, and their way to the target: the worker of a light client submits them, and an operator's
 * `prove`. Start reading at {@link LightClient}.
 */
import {
  delayAbort,
  type ObservedUpdate,
  SHUTDOWN_GRACE_MS,
  type UpdateObserver,
  type UpdateRoute,
} from "./poll_loop.ts";
import type { ConsensusProver, ProverFinding } from "./prover.ts";
import type { ConsensusTarget, UpdateOutcome } from "../core/chains/consensus_target.ts";
import type { Refusal, SignedSubmission, SpentGas } from "../core/chains/submission.ts";
import type { CheckRow } from "../core/checks/check_row.ts";
import { equalBytes } from "../core/encoding/bytes.ts";
import { type StateMachineHeight, stateMachineIdKey } from "../core/ismp/state_machine.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { awaitLogged } from "../core/runtime/waiting.ts";
import type { Log } from "../core/telemetry/log.ts";

/** Dependencies of the delivery. */
export interface DeliverDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** The chain to prove to. */
  readonly hub: ConsensusTarget;
}

/** Nothing to submit now. */
export type NothingFound = Extract<ProverFinding, { readonly kind: "nothing" }> & {
  /** Why not although something is due: no source has the `updates`, or the `target` takes none until others act. */
  readonly lacking?: "updates" | "target";
};

/** Updates that were found, and ways to bring them to their target. */
export interface FoundUpdates {
  readonly kind: "updates";
  readonly observedAs: ObservedUpdate["kind"];
  /** True when more follow as soon as these are accepted. */
  readonly hasMore: boolean;
  /** For updates that are too large for any transaction: advice, and whether polling often helps. Absent: they are refused. */
  readonly ifTooLarge?: { readonly advice: string; readonly result: "failed" | "suspended" } | undefined;
  /** Asks the target whether it would take them. */
  tryOut(signal: AbortSignal): Promise<Attempt<TryResult>>;
  /** Submits them and follows them to their end. */
  submit(signal: AbortSignal): Promise<Attempt<SubmitResult>>;
}

/** Updates as they were submitted or tried, fewer than were found where they do not fit, with what became of them. */
export interface Attempt<Result> {
  readonly result: Result;
  /** What they contain. */
  readonly summary: string;
  readonly updates: number;
  readonly bytes: number;
  /** Height of the chain that they prove; `undefined`: none. */
  readonly height: bigint | undefined;
}

/** A light client that is kept up to date: of a chain on the hub, or of the hub on another chain. */
export interface LightClient {
  readonly route: UpdateRoute;
  /** Names the chain in every line. */
  readonly log: Log;
  /** Poll interval when there is nothing to do; absent: that of the hub. */
  readonly intervalMs?: number;
  /** True where the target charges nothing. */
  readonly isFree: boolean;
  /** Prefix of the log events of refusals and losses. */
  readonly failures: "update_failed" | "proofs_failed";
  /** Finds what makes it unusable with this configuration, before an operator's `prove`; absent: nothing that polls miss. */
  findProblems?(signal: AbortSignal): Promise<readonly CheckRow[]>;
  /** Finds what is to be submitted next. @throws {RpcFault} @throws {ProverFault} @throws {DeadlineFault} */
  find(signal: AbortSignal): Promise<NothingFound | FoundUpdates>;
}

/** Submits updates and reports them to the observer. @param findMs time that finding them took, milliseconds. */
export async function deliver(
  { clock, observer, route }: {
    readonly clock: Clock;
    /** Notified of updates; absent: nobody observes. */
    readonly observer?: UpdateObserver | undefined;
    readonly route: UpdateRoute;
  },
  { updates, findMs }: { readonly updates: FoundUpdates; readonly findMs: number },
  signal: AbortSignal,
): Promise<Attempt<SubmitResult>> {
  const startMs = clock.now();
  const attempt = await updates.submit(signal);
  const { result, bytes, summary } = attempt;
  observer?.noteUpdate(route, {
    kind: updates.observedAs,
    result: result.kind,
    bytes,
    findMs,
    ...result.kind === "accepted" && result.height !== undefined && { height: Number(result.height) },
    submitMs: clock.now() - startMs,
    detail: describeResult(summary, result),
  });
  return attempt;
}

/** Updates of a prover in extrinsics of a target. */
export function inExtrinsics(
  deps: DeliverDeps,
  client: Submission["client"],
  found: Extract<ProverFinding, { readonly kind: "updates" }>,
): FoundUpdates {
  const { hub, log } = deps;
  const { proofs, height, summary, hasMore, adviceIfTooLarge: advice } = found;
  const bytes = proofs.reduce((sum, proof) => sum + proof.length, 0);
  const contents = { summary, updates: proofs.length, bytes, height };
  return {
    kind: "updates",
    observedAs: height === undefined ? "rotation" : "update",
    hasMore,
    ifTooLarge: advice === undefined ? undefined : { advice, result: "failed" },
    tryOut: async (signal) => {
      const refusal = await hub.updates.dryRunUpdates({ id: client.consensusStateId, proofs }, signal);
      return {
        ...contents,
        result: refusal === undefined ? { kind: "accepted" } : { kind: "refused", refusal },
      };
    },
    submit: async (signal) => {
      log.debug("update_built", { summary, updates: proofs.length, bytes });
      const result = await submitUpdates({ ...deps, client, found }, signal);
      logResult(log, found, result);
      return { ...contents, result };
    },
  };
}

/** Describes a result for an observer: what was proved, or why it failed. */
function describeResult(summary: string, result: SubmitResult): ObservedUpdate["detail"] {
  if (result.kind === "lost") return `${summary}: ${result.reason}`;
  return result.kind === "refused" ? `${summary}: ${result.refusal.detail}` : summary;
}

/** Logs what needs nobody's attention; refusals and losses are for the caller to report. */
function logResult(
  log: Log,
  { height, summary, proofs }: Extract<ProverFinding, { readonly kind: "updates" }>,
  result: ExtrinsicResult,
): void {
  if (result.kind === "overtaken") {
    return log.info("update_overtaken.already_submitted", { height, hubHeight: result.hubHeight });
  }
  if (result.kind !== "accepted") return;
  const { advanced, block } = result;
  const fields = { summary, block, updates: proofs.length };
  if (advanced.length > 0) {
    const heights = advanced.map((of) => of.height).join(", ");
    return log.info("update_accepted", { heights, ...fields });
  }
  log.info(height === undefined ? "update_accepted" : "update_overtaken.superseded", { height, ...fields });
}

/** Result of asking the target. */
export type TryResult =
  /** `spent`: what it would cost at the price of the moment. */
  | { readonly kind: "accepted"; readonly spent?: SpentGas }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** A transaction in a block. */
interface InBlock {
  readonly block: bigint;
  /** Absent: the target is no EVM chain. */
  readonly transaction?: string;
  /** Absent: it was free, or the node does not say. */
  readonly spent?: SpentGas;
}

/** Outcome of a submission. */
export type SubmitResult =
  /** Included. `height`: the newest of the chain that the target knows by it; absent: it proved none. */
  | { readonly kind: "accepted"; readonly height?: bigint | undefined } & InBlock
  /** Included after another relayer's: it was paid for and changed nothing. */
  | { readonly kind: "wasted" } & InBlock
  /**
   * Another relayer submitted this height or a newer one; without a height: another update, on which ours must be rebuilt.
   */
  | { readonly kind: "overtaken"; readonly hubHeight?: bigint | undefined }
  /** The target refuses updates that our verifier accepts, and has not advanced in the meantime. */
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Neither included nor in the transaction pool any more, or not included in time. */
  | { readonly kind: "lost"; readonly reason: string };

/** Outcome in an extrinsic. */
export type ExtrinsicResult =
  | Exclude<SubmitResult, { readonly kind: "accepted" | "wasted" }>
  /** `advanced`: the heights that the hub stored, possibly none. */
  | Extract<SubmitResult, { readonly kind: "accepted" }> & {
    readonly advanced: readonly StateMachineHeight[];
  };

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
interface Submission extends DeliverDeps {
  readonly client: Pick<ConsensusProver, "chain" | "consensusStateId" | "commitmentId">;
  readonly found: Pick<Extract<ProverFinding, { readonly kind: "updates" }>, "proofs" | "madeOn" | "height">;
}

/** Submits the updates and waits until they are included or lost. */
export async function submitUpdates(submission: Submission, signal: AbortSignal): Promise<ExtrinsicResult> {
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
): Promise<ExtrinsicResult> {
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
): Promise<ExtrinsicResult | undefined> {
  if (outcome.kind === "pending") return undefined;
  if (outcome.kind === "included" && outcome.succeeded) {
    const { advanced = [], block } = outcome;
    const of = stateMachineIdKey(submission.client.commitmentId);
    const height = advanced.findLast(({ id }) => stateMachineIdKey(id) === of)?.height;
    return { kind: "accepted", block: block.height, height, advanced };
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
): Promise<ExtrinsicResult> {
  return await findAdvance(submission, signal) ?? { kind: "refused", refusal };
}

/** Detects an update that came first: to this height, or any other that invalidates ours. */
async function findAdvance(
  submission: Submission,
  signal: AbortSignal,
): Promise<ExtrinsicResult | undefined> {
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
): Promise<ExtrinsicResult | undefined> {
  if (height === undefined) return undefined;
  const hubHeight = await hub.reads.fetchLatestHeight(client.commitmentId, signal);
  return hubHeight !== undefined && hubHeight >= height ? { kind: "overtaken", hubHeight } : undefined;
}
