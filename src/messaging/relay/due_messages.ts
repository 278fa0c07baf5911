/** Due messages of a leg: read from the ledger and routed again. */
import type { CounterpartyView } from "../../core/chains/port.ts";
import { type DueQuery, LedgerFault, type MessageRow } from "../ledger/ledger.ts";
import type { Message } from "../../core/ismp/message.ts";
import { NEVER_MS } from "./decisions/retry_schedule.ts";
import { route } from "./decisions/route.ts";
import { type Leg, type PipelineDeps, type PipelineSettings, toRouteInput } from "./leg.ts";
import { transition, type TransitionDetails } from "./transitions.ts";
import { parseRow } from "./message_row.ts";
import type { Candidate } from "./receipts.ts";
import { decideState } from "./scan.ts";

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
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  facts: DueInput,
): Ready {
  const limit = facts.limit ?? leg.target.limits.maxMessagesPerStep * (facts.batches ?? 1);
  const due = deps.ledger.messages.listDue({
    source: leg.source.id.stateMachine,
    target: leg.target.id.stateMachine,
    nowMs: deps.clock.now(),
    limit,
    refused: facts.refused,
    afterKey: facts.afterKey,
    // Until their receipts are certain they neither displace others nor count as more to do.
    targetNowSec: facts.view.nowSec,
  });
  const provable = due.filter((row) => row.seenAtHeight <= facts.proofHeight);
  const wanted = provable.filter(({ kind }) => facts.isWanted(kind));
  const ready = deps.ledger.transaction(() => readyOnes(deps, settings, leg, wanted, facts.view));
  const isFull = provable.length === limit;
  return { ready, hasMore: isFull && wanted.length > 0, isFull, last: provable.at(-1) };
}

/** Routes due rows again, since clocks and configuration change. */
function readyOnes(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  rows: readonly MessageRow[],
  view: CounterpartyView,
): readonly Candidate[] {
  const facts = toRouteInput(leg, settings, view.nowSec);
  const ready: Candidate[] = [];
  for (const row of rows) {
    const message = readRow(deps, row);
    if (message === undefined) continue;
    const routed = route(message, facts);
    // It became due again meanwhile; the next round reads its receipt before it ends.
    if (routed.kind === "timedOut") continue;
    const decided = decideState(routed) ?? { state: "rejected", reason: "wrong_dest" };
    if (decided.state === "seen") ready.push({ row, message });
    else transition(deps, row, decided.state, whyOf(deps, decided));
  }
  return ready;
}

/** Adds a date to the hold reason: a row without one would fill the next page again, ahead of the others. */
function whyOf(
  deps: PipelineDeps,
  { state, reason, nextAttemptAtMs }: NonNullable<ReturnType<typeof decideState>>,
): TransitionDetails {
  const nextMs = nextAttemptAtMs ?? (state === "held" ? deps.clock.now() + RECHECK_MS : undefined);
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(nextMs === undefined ? {} : { nextAttemptAtMs: nextMs }),
  };
}

/** Reads the message of a row; an unreadable row is held for the operator and logged as an error. */
function readRow(deps: PipelineDeps, row: MessageRow): Message | undefined {
  try {
    return parseRow(row);
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    deps.log.error("stored_message_unreadable", { commitment: row.commitment, error });
    transition(deps, row, "held", { reason: "poison", nextAttemptAtMs: NEVER_MS });
    return undefined;
  }
}
