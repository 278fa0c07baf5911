/**
 * Due messages of a leg to the hub, in the order of their attempts: fresh ones first, then at most a fifth of those
 * that the hub has refused before. What it would refuse regardless of the proof (no bandwidth, a blocked sender) is
 * held before anything is proved, and does not displace others.
 */
import { LedgerFault, type MessageRow } from "../ledger/ledger.ts";
import { toHex } from "../../core/encoding/bytes.ts";
import type { Message } from "../../core/ismp/message.ts";
import { Allowances } from "./decisions/admission.ts";
import { toRequest } from "./decisions/route.ts";
import { type DueInput, listReady, type Ready } from "./due_messages.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "./leg.ts";
import { markRefused } from "./transitions.ts";
import { parseRow } from "./message_row.ts";
import { type Candidate, stillOpen } from "./receipts.ts";

/** Divisor of a batch that gives the maximum number of messages refused before: each costs dry runs of its own. */
const REFUSED_SHARE = 5;

/** Maximum number of senders without bandwidth whose limits are read in each round. */
const MAX_WATCHED = 100;

/** Maximum number of pages per round: the rest follows in the next one, at once. */
const MAX_PAGES = 10;

/** Messages that may be delivered now. */
export interface Admitted {
  readonly fresh: readonly Candidate[];
  /** Refused before; delivered apart from the fresh ones. */
  readonly refused: readonly Candidate[];
  /** True when there is probably more. */
  readonly hasMore: boolean;
}

/** Lists due messages; on legs to chains without limits all of them are fresh. May throw an `RpcFault`. */
export async function listAdmitted(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  facts: DueInput,
  signal: AbortSignal,
): Promise<Admitted> {
  if (leg.senderLimits === undefined) {
    const { ready, hasMore } = listReady(deps, settings, leg, facts);
    return { fresh: ready, refused: [], hasMore };
  }
  const max = leg.target.limits.maxMessagesPerStep * (facts.batches ?? 1);
  const work = { deps, settings, leg, signal, allowances: new Allowances() };
  await wakeCovered(work);
  const fresh = await fill(work, { ...facts, refused: "without" }, max);
  const share = Math.max(1, Math.floor(leg.target.limits.maxMessagesPerStep / REFUSED_SHARE));
  const page: Ready = listReady(deps, settings, leg, { ...facts, refused: "only", limit: share });
  const refused = await admit(work, page.ready);
  return { fresh: fresh.admitted, refused, hasMore: fresh.hasMore || page.hasMore };
}

/**
 * Drops fresh messages whose sender has meanwhile become one of whom the hub refuses many: they stay due, and are
 * attempted among the refused ones.
 */
export function withoutRefusedSenders(
  deps: PipelineDeps,
  leg: Leg,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (leg.senderLimits === undefined) return candidates;
  const { source, target } = leg;
  const refused = new Set(
    deps.ledger.messages.listRefusedSenders(source.id.stateMachine, target.id.stateMachine).map(toHex),
  );
  return refused.size === 0 ? candidates : candidates.filter(({ row }) => !refused.has(toHex(row.module)));
}

interface Admitting {
  readonly deps: PipelineDeps;
  readonly settings: PipelineSettings;
  readonly leg: Leg;
  readonly signal: AbortSignal;
  /** Limits read in this round. */
  readonly allowances: Allowances;
}

/** Reads pages until `max` messages are admitted, or nothing is left. */
async function fill(
  work: Admitting,
  facts: DueInput,
  max: number,
): Promise<{ readonly admitted: readonly Candidate[]; readonly hasMore: boolean }> {
  const admitted: Candidate[] = [];
  let afterKey: MessageRow | undefined;
  let hasMore = false;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page: Ready = listReady(work.deps, work.settings, work.leg, { ...facts, afterKey });
    admitted.push(...await admit(work, page.ready));
    afterKey = page.last;
    hasMore = page.hasMore || admitted.length > max;
    if (!page.isFull || admitted.length >= max) break;
  }
  return { admitted: admitted.slice(0, max), hasMore };
}

/** Makes messages due at once whose sender has bandwidth again. */
async function wakeCovered(work: Admitting): Promise<void> {
  const { deps, leg, allowances } = work;
  const { messages } = deps.ledger;
  const nowMs = deps.clock.now();
  const held = {
    source: leg.source.id.stateMachine,
    target: leg.target.id.stateMachine,
    reason: "no_bandwidth",
    nowMs,
  } as const;
  const senders = messages.listHeldSenders({ ...held, limit: MAX_WATCHED });
  await readLimits(work, senders);
  const left = allowances.copy();
  deps.ledger.transaction(() => {
    for (const sender of senders) {
      for (
        const row of messages.listHeldOf(sender, { ...held, limit: leg.target.limits.maxMessagesPerStep })
      ) {
        const message = readMessage(row);
        if (message === undefined || left.admit(toHex(sender), message) !== undefined) break;
        const { reason, detail } = row;
        messages.transition(row.commitment, row.target, {
          to: row.state,
          reason,
          detail,
          nextAttemptAtMs: nowMs,
        });
      }
    }
  });
}

/** Reads the message of a row; an unreadable row is held for good when it is due. */
function readMessage(row: MessageRow): Message | undefined {
  try {
    return parseRow(row);
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    return undefined;
  }
}

/** Reads the limits of senders not read yet in this round; one request. */
async function readLimits(
  { leg, signal, allowances }: Admitting,
  senders: readonly Uint8Array[],
): Promise<void> {
  const unknown = new Map(
    senders.map((sender) => [toHex(sender), sender] as const).filter(([name]) => !allowances.knows(name)),
  );
  if (unknown.size === 0) return;
  const limits = await leg.senderLimits?.fetchSenderLimits(
    leg.source.id.stateMachine,
    [...unknown.values()],
    signal,
  ) ?? [];
  for (const [index, name] of [...unknown.keys()].entries()) {
    const limit = limits[index];
    if (limit !== undefined) allowances.note(name, limit);
  }
}

/** Holds messages that the hub would not accept from their sender. */
async function admit(
  work: Admitting,
  candidates: readonly Candidate[],
): Promise<readonly Candidate[]> {
  const { deps, settings, allowances } = work;
  const senderOf = ({ message }: Candidate): Uint8Array => toRequest(message).from;
  await readLimits(work, candidates.map(senderOf));
  return deps.ledger.transaction(() =>
    stillOpen(deps, candidates).filter((candidate) => {
      const refusal = allowances.admit(toHex(senderOf(candidate)), candidate.message);
      if (refusal === undefined) return true;
      markRefused(deps, settings, candidate.row, { message: candidate.message, ...refusal });
      return false;
    })
  );
}
