/**
 * Due messages of a leg: read from the ledger, routed again, and admitted. On legs to the hub fresh ones go first, then
 * at most a fifth of those that the hub has refused before; what it would refuse regardless of the proof (no bandwidth,
 * a blocked sender) is held before anything is proved, and does not displace others.
 */
import type { CounterpartyView } from "../../core/chains/reads.ts";
import { type DueQuery, type HeldQuery, isTerminal, LedgerFault, type MessageRow } from "../ledger/ledger.ts";
import type { Message } from "../../core/ismp/message.ts";
import { type Finding, judgeRefused, NEVER_MS } from "./decisions/retry_schedule.ts";
import { parseHoldSubject, type Route, route, type RouteInput, toRequest } from "./decisions/route.ts";
import type { FleetShare, Leg, LegRun, RelayDeps } from "./leg.ts";
import { type Candidate, hold, parseRow, screen, toCandidate } from "./messages.ts";
import { type Hash256, type Hex, toHex } from "../../core/encoding/bytes.ts";
import { Allowances, noteBandwidth } from "./limits/bandwidth.ts";

/** Pause before routing a message again that waits for data (the hub's list of modules), ms. */
const RECHECK_MS = 5_000;

/** Page of due messages. */
export interface Ready {
  /** Those that may be delivered now. */
  readonly ready: readonly Candidate[];
  /** Rows that were read for them. */
  readonly rows: readonly MessageRow[];
  /** The next page starts after this row. */
  readonly last: MessageRow | undefined;
  /** True when as many rows were read as requested, and all of them can be proved. */
  readonly isFull: boolean;
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
export function listReady(leg: Leg, facts: DueInput): Ready {
  const page = listRows(leg, facts);
  const { rows } = page;
  const ready = rows.length === 0 ? [] : leg.ledger.transaction(() => routeAgain(leg, rows, facts.view));
  return { ready, ...page };
}

function listRows(leg: Leg, facts: DueInput): Omit<Ready, "ready"> {
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
  const rows = provable.filter(({ kind }) => facts.isWanted(kind));
  return { rows, isFull: provable.length === limit, last: provable.at(-1) };
}

/** True when more is due after a round that made progress: of the rows that it read some are due no longer. */
export function hasMoreDue(leg: Leg, facts: DueInput, read: readonly MessageRow[]): boolean {
  const nowMs = leg.clock.now();
  const isDue = (row: MessageRow | undefined): boolean =>
    row !== undefined && row.state !== "submitted" && !isTerminal(row.state) && row.nextAttemptAtMs <= nowMs;
  const now = leg.ledger.messages.findAll(
    read.map(({ commitment }) => commitment),
    leg.target.id.stateMachine,
  );
  return !now.every(isDue) && listRows(leg, facts).rows.length > 0;
}

/** Builds the input for routing a message of this leg at the target's time `targetNowSec`. */
export function toRouteInput(leg: Leg, targetNowSec: bigint): RouteInput {
  const { settings } = leg;
  return {
    hub: settings.hub,
    source: leg.source.id.stateMachine,
    target: leg.target.id.stateMachine,
    moduleFilter: settings.moduleFilter,
    configured: settings.configured,
    listedModules: settings.listedModules(),
    takesResponses: leg.target.capabilities.acceptsGetResponses,
    targetNowSec,
    isOwnPayment: (commitment) => leg.ledger.withdrawals.findByCommitment(commitment) !== undefined,
    operatorHolds: leg.ledger.operatorHolds.list().flatMap((text) => parseHoldSubject(text) ?? []),
  };
}

/** Routes due rows again, since clocks and configuration change; an unreadable one is held for the operator. */
function routeAgain(
  leg: Leg,
  rows: readonly MessageRow[],
  view: CounterpartyView,
): readonly Candidate[] {
  const facts = toRouteInput(leg, view.nowSec);
  const ready: Candidate[] = [];
  for (const row of rows) {
    const message = readRow(leg, row);
    const routed = message && route(message, facts);
    // It became due again meanwhile; the next round reads its receipt before it ends.
    if (routed?.kind === "timedOut") continue;
    const found = judgeRoute(leg, row, routed);
    if (found !== undefined) hold(leg, row, found);
    else if (message !== undefined) ready.push({ row, message });
  }
  return ready;
}

/** What keeps a routed message from being delivered; `undefined`: nothing. @param routed absent: it is unreadable */
function judgeRoute(leg: Leg, row: MessageRow, routed: Route | undefined): Finding | undefined {
  if (routed === undefined) return { reason: "poison", untilMs: NEVER_MS };
  if (routed.kind === "ignore") return { reason: "wrong_dest", end: "rejected" };
  if (routed.kind === "reject") return { reason: routed.reason, end: "rejected" };
  if (routed.kind !== "hold") return judgeFleet(leg, row);
  // A row without a date would fill the next page again, ahead of the others.
  const isAwaited = routed.reason === "waiting_for_update";
  return { reason: routed.reason, untilMs: isAwaited ? leg.clock.now() + RECHECK_MS : NEVER_MS };
}

/**
 * Time for which this relayer leaves a message to others, ms; 0: it is in its own share. The relayers after the owner
 * take over one after the other, so that one that died does not make all others deliver the same.
 */
export function fleetWaitMs(commitment: Hash256, { index, count, takeOverMs }: FleetShare): number {
  const owner = Number(BigInt(commitment) % BigInt(count));
  return (index - owner + count) % count * takeOverMs;
}

/** Leaves a message to the hub to another relayer of the fleet, which delivers it first. */
function judgeFleet(leg: Leg, row: MessageRow): Finding | undefined {
  const { fleet, hub } = leg.settings;
  // After its wait, and after an attempt of its own, a message is treated as if it were in the own share.
  const hadItsTurn = row.reason === "left_to_fleet" || row.attempts > 0;
  if (fleet === undefined || row.target !== hub || hadItsTurn) return undefined;
  const waitMs = fleetWaitMs(row.commitment, fleet);
  return waitMs === 0 ? undefined : { reason: "left_to_fleet", untilMs: leg.clock.now() + waitMs };
}

/** Reads the message of a row; an unreadable one is logged as an error. */
function readRow(context: RelayDeps, row: MessageRow): Message | undefined {
  try {
    return parseRow(row);
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    context.log.error("record_unreadable.message", { commitment: row.commitment, error });
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
  /** Senders of whom the hub has refused many messages. */
  readonly senders: ReadonlySet<Hex>;
  /** All rows that were read for them. */
  readonly rows: readonly MessageRow[];
}

/** Lists due messages; to the hub only those that it does not refuse for their sender's sake. */
export async function listAdmitted(leg: LegRun, facts: DueInput): Promise<Admitted> {
  if (leg.senderLimits === undefined) {
    const { ready, rows } = listReady(leg, facts);
    return { fresh: ready, refused: [], senders: new Set(), rows };
  }
  const senders = listRefusedSenders(leg);
  const work = { leg, allowances: new Allowances() };
  await wakeAffordable(work);
  const fresh = await fill(work, { ...facts, refused: "without" });
  const share = Math.max(1, Math.floor(leg.target.limits.maxMessagesPerStep / REFUSED_SHARE));
  const page = listReady(leg, { ...facts, refused: "only", limit: share });
  const refused = await admit(work, page.ready);
  noteWaiting(work);
  const rows = [...fresh.rows, ...page.rows];
  return { fresh: fresh.admitted, refused, senders, rows };
}

/** Senders of whom the hub has refused many messages. */
export function listRefusedSenders({ ledger, source, target, senderLimits }: Leg): ReadonlySet<Hex> {
  if (senderLimits === undefined) return new Set();
  const senders = ledger.messages.listRefusedSenders(source.id.stateMachine, target.id.stateMachine);
  return new Set(senders.map(toHex));
}

/** Admission of messages to the hub in one round. */
interface Admission {
  readonly leg: LegRun;
  /** Limits read in this round. */
  readonly allowances: Allowances;
}

/** Reads pages until enough messages for the batches are admitted, or nothing is left. */
async function fill(
  work: Admission,
  facts: DueInput,
): Promise<{ readonly admitted: readonly Candidate[]; readonly rows: readonly MessageRow[] }> {
  const max = work.leg.target.limits.maxMessagesPerStep * (facts.batches ?? 1);
  const admitted: Candidate[] = [];
  const rows: MessageRow[] = [];
  let afterKey: MessageRow | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = listReady(work.leg, { ...facts, afterKey });
    admitted.push(...await admit(work, page.ready));
    rows.push(...page.rows);
    afterKey = page.last;
    if (!page.isFull || admitted.length >= max) break;
  }
  return { admitted: admitted.slice(0, max), rows };
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
        messages.makeDue(row);
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
  return screen(leg, candidates, (candidate) => {
    const refusal = allowances.admit(toHex(senderOf(candidate)), candidate.message);
    return refusal && judgeRefused(leg, refusal);
  });
}
