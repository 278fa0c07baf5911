/**
 * Due messages of a leg: read from the ledger, routed again, and admitted. On legs to the hub fresh ones go first, then
 * at most a fifth of those that the hub has refused before; what it would refuse regardless of the proof (no bandwidth,
 * a blocked sender) is held before anything is proved, and does not displace others.
 */
import type { CounterpartyView } from "../../core/chains/reads.ts";
import { type DueQuery, type HeldQuery, LedgerFault, type MessageRow } from "../ledger/ledger.ts";
import type { Message } from "../../core/ismp/message.ts";
import { fleetWaitMs } from "./decisions/competition.ts";
import { NEVER_MS } from "./decisions/retry_schedule.ts";
import { decideState, route, toRequest } from "./decisions/route.ts";
import { type Leg, type LegRun, type RelayDeps, toRouteInput } from "./leg.ts";
import {
  type Candidate,
  decideForGood,
  hold,
  markRefused,
  parseRow,
  stillOpen,
  toCandidate,
  type Transition,
  transition,
} from "./messages.ts";
import { toHex } from "../../core/encoding/bytes.ts";
import { Allowances, noteBandwidth } from "./limits/bandwidth.ts";
import { findSpendingStop, isUnfunded } from "./limits/spending.ts";
import { endDelivered } from "./receipts.ts";

/** Pause before routing a message again that waits for data (the hub's list of modules), ms. */
const RECHECK_MS = 5_000;

/** Messages that may be delivered now. */
export interface Ready {
  readonly ready: readonly Candidate[];
  /** True when the page was full: there is probably more. */
  readonly hasMore: boolean;
  /** True when as many rows were read as requested, and all of them can be proved. */
  readonly isFull: boolean;
  /** Last row read; the next page starts after it. */
  readonly last: MessageRow | undefined;
}

/** Selection of due messages. */
export interface DueInput {
  readonly view: CounterpartyView;
  readonly proofHeight: bigint;
  readonly isWanted: (kind: MessageRow["kind"]) => boolean;
  /** Number of batches that the page may fill; 1 by default. */
  readonly batches?: number | undefined;
  /** Number of rows of the page, instead of `batches`. */
  readonly limit?: number | undefined;
  readonly refused?: DueQuery["refused"];
  /** Last row of the previous page. */
  readonly afterKey?: MessageRow | undefined;
}

/**
 * Lists the next page of due messages at or below a height of the source; messages that routing holds or ends are left
 * out.
 */
export function listReady(
  leg: Leg,
  facts: DueInput,
): Ready {
  const limit = facts.limit ?? leg.target.limits.maxMessagesPerStep * (facts.batches ?? 1);
  const due = leg.ledger.messages.listDue({
    source: leg.source.id.stateMachine,
    target: leg.target.id.stateMachine,
    nowMs: leg.clock.now(),
    limit,
    refused: facts.refused,
    afterKey: facts.afterKey,
    isForPayments: leg.isForPayments,
    // Until their receipts are certain they neither displace others nor count as more to do.
    targetNowSec: facts.view.nowSec,
  });
  const provable = due.filter((row) => row.seenAtHeight <= facts.proofHeight);
  const wanted = provable.filter(({ kind }) => facts.isWanted(kind));
  const ready = wanted.length === 0 ? [] : leg.ledger.transaction(() => routeAgain(leg, wanted, facts.view));
  const isFull = provable.length === limit;
  return { ready, hasMore: isFull && wanted.length > 0, isFull, last: provable.at(-1) };
}

/** Routes due rows again, since clocks and configuration change. */
function routeAgain(
  leg: Leg,
  rows: readonly MessageRow[],
  view: CounterpartyView,
): readonly Candidate[] {
  const facts = toRouteInput(leg, view.nowSec);
  const ready: Candidate[] = [];
  for (const row of rows) {
    const message = readRow(leg, row);
    if (message === undefined) continue;
    const routed = route(message, facts);
    // It became due again meanwhile; the next round reads its receipt before it ends.
    if (routed.kind === "timedOut") continue;
    const decided = decideState(routed) ?? { state: "rejected", reason: "wrong_dest" };
    if (decided.reason === "hub_originated") {
      decideForGood(leg, row, { to: "rejected", reason: decided.reason });
    } else if (decided.state !== "seen") transition(leg, row, withDate(leg, decided));
    else if (!leaveToFleet(leg, row)) ready.push({ row, message });
  }
  return ready;
}

/** Holds a message to the hub that another relayer of the fleet delivers first; false: it is this one's turn. */
function leaveToFleet(leg: Leg, row: MessageRow): boolean {
  const { fleet, hub } = leg.settings;
  // After its wait, and after an attempt of its own, a message is treated as if it were in the own share.
  const hadItsTurn = row.reason === "left_to_fleet" || row.attempts > 0;
  if (fleet === undefined || row.target !== hub || hadItsTurn) return false;
  const waitMs = fleetWaitMs(row.commitment, fleet);
  if (waitMs === 0) return false;
  const nextAttemptAtMs = leg.clock.now() + waitMs;
  transition(leg, row, { to: "held", reason: "left_to_fleet", nextAttemptAtMs });
  return true;
}

/** Adds a date to the hold reason: a row without one would fill the next page again, ahead of the others. */
function withDate(
  context: RelayDeps,
  { state, reason, nextAttemptAtMs }: NonNullable<ReturnType<typeof decideState>>,
): Transition {
  const nextMs = nextAttemptAtMs ?? (state === "held" ? context.clock.now() + RECHECK_MS : undefined);
  return {
    to: state,
    reason,
    nextAttemptAtMs: nextMs,
  };
}

/** Reads the message of a row; an unreadable row is held for the operator and logged as an error. */
function readRow(context: RelayDeps, row: MessageRow): Message | undefined {
  try {
    return parseRow(row);
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    context.log.error("record_unreadable.message", { commitment: row.commitment, error });
    transition(context, row, { to: "held", reason: "poison", nextAttemptAtMs: NEVER_MS });
    return undefined;
  }
}

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
  leg: LegRun,
  facts: DueInput,
): Promise<Admitted> {
  if (leg.senderLimits === undefined) {
    const { ready, hasMore } = listReady(leg, facts);
    return { fresh: ready, refused: [], hasMore };
  }
  const max = leg.target.limits.maxMessagesPerStep * (facts.batches ?? 1);
  const work = { leg, allowances: new Allowances() };
  await wakeAffordable(work);
  const fresh = await fill(work, { ...facts, refused: "without" }, max);
  const share = Math.max(1, Math.floor(leg.target.limits.maxMessagesPerStep / REFUSED_SHARE));
  const page: Ready = listReady(leg, { ...facts, refused: "only", limit: share });
  const refused = await admit(work, page.ready);
  noteWaiting(work);
  return { fresh: fresh.admitted, refused, hasMore: fresh.hasMore || page.hasMore };
}

/**
 * Drops fresh messages whose sender has meanwhile become one of whom the hub refuses many: they stay due, and are
 * attempted among the refused ones.
 */
export function withoutRefusedSenders(
  leg: Leg,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (leg.senderLimits === undefined) return candidates;
  const { source, target } = leg;
  const refused = new Set(
    leg.ledger.messages.listRefusedSenders(source.id.stateMachine, target.id.stateMachine).map(toHex),
  );
  return refused.size === 0 ? candidates : candidates.filter(({ row }) => !refused.has(toHex(row.module)));
}

/** Admission of messages to the hub in one round. */
interface Admission {
  readonly leg: LegRun;
  /** Limits read in this round. */
  readonly allowances: Allowances;
}

/** Reads pages until `max` messages are admitted, or nothing is left. */
async function fill(
  work: Admission,
  facts: DueInput,
  max: number,
): Promise<{ readonly admitted: readonly Candidate[]; readonly hasMore: boolean }> {
  const admitted: Candidate[] = [];
  let afterKey: MessageRow | undefined;
  let hasMore = false;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page: Ready = listReady(work.leg, { ...facts, afterKey });
    admitted.push(...await admit(work, page.ready));
    afterKey = page.last;
    hasMore = page.hasMore || admitted.length > max;
    if (!page.isFull || admitted.length >= max) break;
  }
  return { admitted: admitted.slice(0, max), hasMore };
}

/** Messages of a leg that wait for bandwidth. */
function toHeldQuery(leg: Leg): Omit<HeldQuery, "limit"> {
  return {
    source: leg.source.id.stateMachine,
    target: leg.target.id.stateMachine,
    reason: "no_bandwidth",
    nowMs: leg.clock.now(),
  };
}

/** Records what the senders have left whose messages wait for bandwidth after this round. */
function noteWaiting({ leg, allowances }: Admission): void {
  const held = toHeldQuery(leg);
  const senders = leg.ledger.messages.listHeldSenders({ ...held, limit: MAX_WATCHED }).map(toHex);
  const limits = senders.map((sender) => ({ sender, limit: allowances.find(sender) }));
  noteBandwidth(leg.ledger, held.source, limits);
}

/** Makes messages due at once whose sender has bandwidth again. */
async function wakeAffordable(work: Admission): Promise<void> {
  const { leg, allowances } = work;
  const { messages } = leg.ledger;
  const held = toHeldQuery(leg);
  const { nowMs } = held;
  const senders = messages.listHeldSenders({ ...held, limit: MAX_WATCHED });
  if (senders.length === 0) return;
  await readLimits(work, senders);
  const left = allowances.copy();
  leg.ledger.transaction(() => {
    for (const sender of senders) {
      for (
        const row of messages.listHeldOf(sender, { ...held, limit: leg.target.limits.maxMessagesPerStep })
      ) {
        const [found] = toCandidate(row);
        if (found === undefined || left.admit(toHex(sender), found.message) !== undefined) break;
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

/** Reads the limits of senders not read yet in this round; one request. */
async function readLimits(
  { leg, allowances }: Admission,
  senders: readonly Uint8Array[],
): Promise<void> {
  const unknown = new Map(
    senders.map((sender) => [toHex(sender), sender] as const).filter(([name]) => !allowances.knows(name)),
  );
  if (unknown.size === 0) return;
  const limits = await leg.senderLimits?.fetchSenderLimits(
    leg.source.id.stateMachine,
    [...unknown.values()],
    leg.signal,
  ) ?? [];
  for (const [index, name] of [...unknown.keys()].entries()) {
    const limit = limits[index];
    if (limit !== undefined) allowances.note(name, limit);
  }
}

/** Holds messages that the hub would not accept from their sender. */
async function admit(
  work: Admission,
  candidates: readonly Candidate[],
): Promise<readonly Candidate[]> {
  if (candidates.length === 0) return [];
  const { leg, allowances } = work;
  const senderOf = ({ message }: Candidate): Uint8Array => toRequest(message).from;
  await readLimits(work, candidates.map(senderOf));
  return leg.ledger.transaction(() =>
    stillOpen(leg, candidates).filter((candidate) => {
      const refusal = allowances.admit(toHex(senderOf(candidate)), candidate.message);
      if (refusal === undefined) return true;
      markRefused(leg, candidate.row, { message: candidate.message, ...refusal });
      return false;
    })
  );
}

/** Interval for reading the receipts of messages that wait for the end of a loss limit, ms. */
const RECEIPTS_PAUSE_MS = 10 * 60_000;

/** Ends the due messages that have a receipt and holds the others; true when there are more. */
export async function holdUnspendable(
  leg: LegRun,
  facts: { readonly view: CounterpartyView; readonly proofHeight: bigint },
): Promise<boolean> {
  const { target } = leg;
  const stop = findSpendingStop(leg);
  if (stop === undefined && !isUnfunded(leg)) return false; // there is no room, but there will be
  const isWanted = (kind: MessageRow["kind"]): boolean => kind !== "get";
  const { ready, hasMore } = listReady(leg, { ...facts, isWanted });
  if (ready.length === 0) return hasMore;
  const receipts = await target.reads.fetchReceipts(ready.map(({ message }) => message), leg.signal);
  const open = await endDelivered(leg, { candidates: ready, receipts });
  const nowMs = leg.clock.now();
  leg.ledger.transaction(() => {
    for (const { row } of open) {
      if (stop === undefined) {
        hold(leg, row, { reason: "unfunded", retryClass: "unfunded" });
        continue;
      }
      const nextAttemptAtMs = Math.min(stop.untilMs, nowMs + RECEIPTS_PAUSE_MS);
      transition(leg, row, { to: "held", reason: "loss_limit", nextAttemptAtMs });
    }
  });
  return hasMore;
}
