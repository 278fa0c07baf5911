import { deepEqual, equal, ok } from "node:assert/strict";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { Database } from "../../src/messaging/ledger/database.ts";
import { createLedger } from "../../src/messaging/ledger/ledger.ts";
import { withDirectory } from "../support/ledger.ts";
import { fillLedger, type LedgerFill, ledgerQueries, spareChains } from "./large_ledger.ts";

const fill: LedgerFill = {
  rows: 4_000,
  chains: spareChains(4),
  hub: parseStateMachine("KUSAMA-4009"),
  nowMs: 1_800_000_000_000,
};

/** Remembers every statement that is prepared. */
class RecordingSqlite extends DatabaseSync {
  readonly statements = new Set<string>();

  override prepare(sql: string): StatementSync {
    this.statements.add(sql);
    return super.prepare(sql);
  }
}

/** Tables that grow with the work of a relayer, and their names within queries. */
const growing = /^SCAN (?:message|submission|submission_item|spending|delivery|message_change|[misdp])\b/;

/**
 * Scans that end at a limit, or are of an index that holds only what is still to be done (the first and the fourth walk
 * down from the newest row).
 */
const allowed: ReadonlySet<string> = new Set([
  "SCAN message",
  "SCAN delivery USING COVERING INDEX delivery_unclaimed",
  "SCAN delivery USING COVERING INDEX delivery_open_claim",
  "SCAN message USING INDEX message_ended",
  "SCAN s USING INDEX submission_unresolved",
]);

/** The index that leads a query to its few rows, where SQLite prefers one that leads to all rows of a leg or chain. */
const narrow: Readonly<Record<string, string>> = {
  "senders held": "COVERING INDEX message_held",
  "senders refused": "COVERING INDEX message_held",
  "wake for a reason": "INDEX message_held",
  "lift batch limits": "INDEX message_limited",
  "response to a GET request": "INDEX message_of_get",
  "highest nonce": "INDEX submission_by_nonce",
  "status: ended within a day": "COVERING INDEX message_ended_of_leg",
  "command: open messages of a leg": "COVERING INDEX message_by_state",
};

Deno.test("large ledgers: no query reads a table that grows from end to end", () =>
  withDirectory((directory) => {
    const path = `${directory}/relayer.db`;
    fillLedger(path, fill);
    const scans = new Map<string, readonly string[]>();
    const unused = new Set(Object.keys(narrow));
    for (const [name, plans] of plansOfQueries(path)) {
      const found = plans.filter((step) => growing.test(step) && !allowed.has(step));
      if (found.length > 0) scans.set(name, found);
      const index = narrow[name];
      if (index !== undefined && plans.some((step) => step.includes(index))) unused.delete(name);
    }
    deepEqual([...scans], []);
    deepEqual([...unused], [], "queries that read more than they need");
  }));

/** Steps of each query, by its name. Each has a ledger of its own, since what two of them ask is prepared once. */
function plansOfQueries(path: string): ReadonlyMap<string, readonly string[]> {
  const plans = new Map<string, readonly string[]>();
  let names = [""];
  for (let at = 0; at < names.length; at++) {
    const sqlite = new RecordingSqlite(path);
    const ledger = createLedger(new Database(sqlite, path, { now: () => fill.nowMs }));
    const queries = Object.entries(ledgerQueries(ledger, fill));
    names = queries.map(([name]) => name);
    for (let turn = 0; turn < 4; turn++) queries[at]?.[1](turn);
    ledger.close();
    const statements = [...sqlite.statements].filter((sql) => /^(?:SELECT|UPDATE)/.test(sql.trim()));
    plans.set(names[at] ?? "", statements.flatMap((sql) => planOf(path, sql)));
  }
  return plans;
}

function planOf(path: string, sql: string): readonly string[] {
  const reader = new DatabaseSync(path, { readOnly: true });
  try {
    return reader.prepare(`EXPLAIN QUERY PLAN ${sql}`).all().map(({ detail }) => `${detail}`);
  } finally {
    reader.close();
  }
}

Deno.test("large ledgers: what is filled in is what the queries ask for, on every leg", () =>
  withDirectory((directory) => {
    const path = `${directory}/relayer.db`;
    fillLedger(path, fill);
    const sqlite = new DatabaseSync(path);
    const ledger = createLedger(new Database(sqlite, path, { now: () => fill.nowMs }));
    const empty: string[] = [];
    const queries = ledgerQueries(ledger, fill);
    for (const name of ["messages due", "senders held", "claims that can be made", "status: open messages"]) {
      const found = [0, 1, 2, 3].map((turn) => queries[name]?.(turn));
      if (!found.every((rows) => Array.isArray(rows) && rows.length > 0)) empty.push(name);
    }
    deepEqual(empty, []);
    const counts = ledger.messages.countByState();
    equal(counts.reduce((sum, { count }) => sum + count, 0), fill.rows);
    const pending = counts.filter(({ state }) => state === "seen" || state === "held");
    equal(pending.length, 2 * 2 * fill.chains.length);
    ok(Math.abs(pending.reduce((sum, { count }) => sum + count, 0) - fill.rows / 10) <= 8);
    ledger.close();
  }));
