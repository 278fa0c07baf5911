/**
 * Suspension of module pairs whose deliveries cost gas without effect: a module may succeed in every simulation and
 * fail in every block. Their messages are held, including those found later and after a restart. Their release is
 * decided in `decisions/suspension.ts`. Call everything here within a ledger transaction.
 */
import type { Chain } from "../../../core/chains/port.ts";
import type { MessageRow, SubmissionRow, SuspensionKey, SuspensionRow } from "../../ledger/ledger.ts";
import { type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import type { Message } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { NEVER_MS } from "../decisions/retry_schedule.ts";
import { toRequest } from "../decisions/route.ts";
import { afterFailure, afterSuccess, judgeSuspended } from "../decisions/suspension.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "../leg.ts";
import { type Candidate, findOwnPayment, parseRow, transition } from "../messages.ts";
import { losesGasOnRace } from "./competitors.ts";

/** Derives the pair that a message belongs to. The response to a GET request is received by the requesting module. */
export function toSuspensionKey(message: Message, target: StateMachine): SuspensionKey {
  const { from } = toRequest(message);
  return { target, from, to: message.kind === "post" ? message.request.to : from };
}

function nameOf({ from, to }: Pick<SuspensionKey, "from" | "to">): string {
  return `${toHex(from)} ${toHex(to)}`;
}

/**
 * Suspends the pair of a message for which our transaction was mined without effect; returns when one of its messages
 * may be retried, Unix milliseconds. `undefined` when failures cost nothing, and for our own payments.
 */
export function noteNotExecuted(
  deps: PipelineDeps,
  settings: PipelineSettings,
  target: Pick<Chain, "id" | "family">,
  failed: { readonly row: MessageRow; readonly transaction: Hash256 },
): number | undefined {
  if (!losesGasOnRace(target) || findOwnPayment(deps, settings, failed.row) !== undefined) return undefined;
  const { suspensions } = deps.ledger;
  const key = toSuspensionKey(parseRow(failed.row), target.id.stateMachine);
  const before = suspensions.find(key);
  const { transaction } = failed;
  const after = afterFailure(before, { transaction, nowMs: deps.clock.now() });
  if (after === before) return after.nextTryAtMs;
  suspensions.write({ ...key, ...after });
  deps.log.warn("modules_suspended", {
    chain: key.target,
    from: toHex(key.from),
    to: toHex(key.to),
    transaction,
    failures: after.failures,
    next: after.nextTryAtMs === NEVER_MS
      ? "no further automatic retry"
      : `one message is retried after ${new Date(after.nextTryAtMs).toISOString()}`,
  });
  return after.nextTryAtMs;
}

/** Releases the messages of a pair when our delivery of the retried message succeeded. */
export function noteExecuted(
  deps: PipelineDeps,
  settings: PipelineSettings,
  target: Pick<Chain, "id">,
  delivered: readonly Hash256[],
): void {
  const { suspensions } = deps.ledger;
  for (const pair of suspensions.listActive(target.id.stateMachine)) {
    if (pair.trial === undefined || !delivered.includes(pair.trial)) continue;
    suspensions.write({ ...pair, ...afterSuccess(pair) });
    wakeSuspended(deps, settings, pair);
    deps.log.info("modules_resumed", {
      chain: pair.target,
      from: toHex(pair.from),
      to: toHex(pair.to),
    });
  }
}

/** Reverts a first failure: the block of its transaction was reorganised, and the outcome may change. */
export function forgetFailure(deps: PipelineDeps, { submission, legSource }: SubmissionRow): void {
  const { suspensions, messages } = deps.ledger;
  for (const pair of suspensions.listActive(submission.chain)) {
    if (pair.lastTransaction !== submission.hash || pair.failures > 1) continue;
    suspensions.remove(pair);
    if (legSource !== undefined) messages.wake(legSource, pair.target, "suspended");
  }
}

/** Removes a pair and its failures on an operator's command: its messages are due again. */
export function releasePair(
  deps: PipelineDeps,
  settings: Pick<PipelineSettings, "hub">,
  pair: SuspensionKey,
): void {
  deps.ledger.suspensions.remove(pair);
  wakeSuspended(deps, settings, pair);
  deps.ledger.messages.wake(settings.hub, pair.target, "not_executed");
}

/** Makes suspended messages due; those of other pairs are held again when they are attempted. */
function wakeSuspended(
  deps: PipelineDeps,
  { hub }: Pick<PipelineSettings, "hub">,
  { target }: SuspensionKey,
): void {
  deps.ledger.messages.wake(hub, target, "suspended");
}

/** Holds the messages of suspended pairs, except one of each pair that may be retried now. */
export function leaveSuspended(
  deps: PipelineDeps,
  settings: PipelineSettings,
  { target }: Pick<Leg, "target">,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (!losesGasOnRace(target)) return candidates;
  const { suspensions } = deps.ledger;
  const active = new Map(suspensions.listActive(target.id.stateMachine).map((pair) => [nameOf(pair), pair]));
  if (active.size === 0) return candidates;
  return candidates.filter(({ row, message }) => {
    const name = nameOf(toSuspensionKey(message, row.target));
    const pair = active.get(name);
    if (pair === undefined || findOwnPayment(deps, settings, row) !== undefined) return true;
    const isTryOpen = isAnotherTried(deps, pair, candidates, row);
    const verdict = judgeSuspended(pair, { nowMs: deps.clock.now(), isTryOpen });
    if (verdict.kind === "wait") {
      transition(deps, row, "held", {
        reason: "suspended",
        detail: "earlier deliveries from this sender to this receiver cost gas and had no effect",
        nextAttemptAtMs: verdict.untilMs,
      });
      return false;
    }
    if (pair.trial !== row.commitment) {
      const chosen = { ...pair, trial: row.commitment };
      suspensions.write(chosen);
      active.set(name, chosen);
    }
    return true;
  });
}

/** True while another message of the pair is being retried: submitted, or among the candidates. */
function isAnotherTried(
  deps: PipelineDeps,
  { trial, target }: SuspensionRow,
  candidates: readonly Candidate[],
  row: MessageRow,
): boolean {
  if (trial === undefined || trial === row.commitment) return false;
  if (candidates.some((candidate) => candidate.row.commitment === trial)) return true;
  return deps.ledger.messages.find(trial, target)?.state === "submitted";
}
