/**
 * Submits what a prover has found and reports it: to the log, to the observer, and to those who wait for the height. The
 * worker of a chain does it, and an operator's `prove`.
 */
import {
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdKey,
} from "../core/ismp/state_machine.ts";
import type { HeightNotifier } from "./height_notifier.ts";
import type { ConsensusProver, ProverFinding } from "./prover.ts";
import { type SubmitDeps, type SubmitResult, submitUpdates } from "./submit.ts";
import type { ObservedUpdate, UpdateObserver } from "./update_observer.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";

/** Dependencies of the delivery. */
export interface DeliverDeps extends Omit<SubmitDeps, "hub"> {
  /** The chain to prove to. */
  readonly hub: ConsensusTarget;
  readonly notifier: HeightNotifier;
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
  const { clock, log, hub, notifier, observer } = deps;
  const { chain, consensusStateId, commitmentId } = prover;
  const { proofs, madeOn, height, summary } = finding;
  log.debug("update_built", { summary, updates: proofs.length, bytes: bytesOf(proofs) });
  const found = { chain, consensusStateId, commitmentId, proofs, madeOn, height };
  const startMs = clock.now();
  const result = await submitUpdates(deps, found, signal);
  observer?.noteUpdate({ chain, target: hub.id.stateMachine }, {
    kind: height === undefined ? "rotation" : "update",
    result: result.kind,
    bytes: bytesOf(proofs),
    findMs,
    ...result.kind === "accepted" && { height: heightOf(result, commitmentId) },
    submitMs: clock.now() - startMs,
    detail: describeResult(summary, result),
  });
  if (result.kind === "accepted") {
    result.advanced.forEach((height) => notifier.notify(height));
    logAccepted(deps, finding, result);
  }
  if (result.kind === "overtaken") {
    log.info("update_overtaken.already_submitted", { height, hubHeight: result.hubHeight });
    if (result.hubHeight !== undefined) notifier.notify({ id: commitmentId, height: result.hubHeight });
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
