/** The checks that a running program makes at its start and every ten minutes, and their latest results. */
import type { Clock } from "../runtime/clock.ts";
import { everyWorker, type Worker } from "../runtime/worker.ts";
import type { Log, LogFields } from "../telemetry/log.ts";
import { type FoundReason, toSentence } from "../telemetry/readiness.ts";
import { about, type CheckJob, type CheckRow, MACHINE, runChecks } from "./check_row.ts";

/** Row on the board. */
export interface BoardRow extends CheckRow {
  /** When the check first had this result, Unix milliseconds. */
  readonly sinceMs: number;
}

/** A change of one check. */
export interface CheckChange {
  readonly row: BoardRow;
  /** Earlier result; `undefined`: the check is new. */
  readonly before: CheckRow["result"] | undefined;
}

/** Maximum number of unknown things that are kept; more are dropped without a word. */
const MAX_UNKNOWN = 100;

/** Holder of the latest results; it is filled by the worker that makes the checks, and read by the status page. */
export class CheckBoard {
  #rows: ReadonlyMap<string, BoardRow> = new Map();
  #madeAtMs: number | undefined;
  readonly #unknown = new Map<string, BoardRow>();

  /** When all checks were made last, Unix milliseconds; `undefined`: not yet. */
  get madeAtMs(): number | undefined {
    return this.#madeAtMs;
  }

  /** Latest rows in the order of the checks, then {@link unknown}. */
  get rows(): readonly BoardRow[] {
    return [...this.#rows.values(), ...this.unknown];
  }

  /** What the program met and does not know, each once, in the order in which it was met. */
  get unknown(): readonly BoardRow[] {
    return [...this.#unknown.values()];
  }

  /**
   * Keeps what `unknown_met` names until the program ends: its chain, the same words for it every time, and the
   * consequence of skipping it. False: it is known already.
   */
  noteUnknown(
    { chain = MACHINE, what, cost }: LogFields,
    redact: (text: string) => string,
    nowMs: number,
  ): boolean {
    const key = `${chain} ${what}`;
    if (this.#unknown.has(key) || this.#unknown.size >= MAX_UNKNOWN) return false;
    const found = redact(`${what} is not known to this program: ${cost}`);
    const row = about(String(chain)).warning("unknown_met", found, "update this program");
    this.#unknown.set(key, { ...row, sinceMs: nowMs });
    return true;
  }

  /**
   * Replaces the rows; returns those whose result changed, and those that are gone as `ok`.
   * @param replaced rows in whose place the new ones stand; absent: all
   */
  update(rows: readonly CheckRow[], nowMs: number, replaced?: readonly CheckRow[]): readonly CheckChange[] {
    if (replaced === undefined) this.#madeAtMs = nowMs;
    const next = new Map(replaced === undefined ? [] : this.#rows);
    for (const row of replaced ?? []) next.delete(keyOf(row));
    const changes: CheckChange[] = [];
    for (const row of rows) {
      const key = keyOf(row);
      const before = this.#rows.get(key);
      const isSame = before?.result === row.result;
      const placed = { ...row, sinceMs: isSame ? before.sinceMs : nowMs };
      next.set(key, placed);
      if (!isSame) changes.push({ row: placed, before: before?.result });
    }
    for (const [key, row] of this.#rows) {
      if (next.has(key) || row.result === "ok") continue;
      changes.push({ row: { ...row, result: "ok", sinceMs: nowMs }, before: row.result });
    }
    this.#rows = next;
    return changes;
  }
}

function keyOf({ chain, endpoint, check }: CheckRow): string {
  return JSON.stringify([chain, endpoint ?? "", check]);
}

/** Pause between two rounds. */
const CHECK_EVERY_MS = 10 * 60_000;

/**
 * Checks made at a time: what all of 48 chains answer at once (code of contracts, blocks) takes 40 MB, which the allocator
 * does not give back.
 */
const CHECKS_AT_ONCE = 8;

/** Dependencies of the worker. */
interface CheckWorkerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Receives the results. */
  readonly board: CheckBoard;
}

/** Creates the worker. @param plan lists the checks of one round. */
export function checkWorker({ clock, log, board }: CheckWorkerDeps, plan: () => readonly CheckJob[]): Worker {
  return everyWorker(clock, "checks", CHECK_EVERY_MS, async (signal) => {
    const rows = await runChecks({ clock, atOnce: CHECKS_AT_ONCE }, plan(), signal);
    for (const change of board.update(rows, clock.now())) logChange(log, change);
  });
}

/** Logs a check whose result changed; an initial pass is not logged. */
export function logChange(log: Log, { row, before }: CheckChange): void {
  const { chain, endpoint, check, result, found, advice } = row;
  const fields = { chain, endpoint, check, found, advice };
  if (result !== "ok") log.warn(result === "failed" ? "check_failed" : "check_warning", fields);
  else if (before !== undefined) log.info("check_passed", { chain, endpoint, check, found });
}

/**
 * True for a row that is a reason: a failure, of a single endpoint not while others answer, and a light client that nears its
 * expiry, whatever waits for it.
 */
export function isCheckReason({ result, endpoint, check }: CheckRow): boolean {
  return (result === "failed" && endpoint === undefined) || check === "client_expiring";
}

/**
 * Checks as reasons. An account that cannot pay is the same reason whether a check finds it or a delivery.
 */
export function toCheckReasons(rows: readonly BoardRow[]): readonly FoundReason[] {
  return rows.filter(isCheckReason).map((
    { chain, check, result, found, advice = "run the command check for the whole set-up", sinceMs },
  ) => ({
    code: check === "balance" ? "wallet_empty" : `check_${check}`,
    chain,
    leg: undefined,
    explanation: toSentence(found),
    help: toSentence(advice),
    isWarning: result === "warning",
    sinceMs,
  }));
}
