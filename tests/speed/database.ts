/**
 * What the database costs a delivery: the pipeline itself between chains in memory, with a file that is flushed as
 * in earnest. Every row is found, sent, settled and made final.
 */
import type { Ledger } from "../../src/messaging/ledger/ledger.ts";
import { openLedger } from "../../src/messaging/ledger/open.ts";
import type { LegRun } from "../../src/messaging/relay/leg.ts";
import { delivered, Fixture, Relayer } from "../messaging/relay/fixture.ts";
import { inbound, outbound, round, settle } from "../messaging/relay/rounds.ts";
import type { MemoryChain } from "../support/memory_chain.ts";
import type { BenchDeps, Part } from "./part.ts";
import { type Figure, figuresOf } from "./report.ts";

const ROUNDS = 3;
const MESSAGES = 1_000;
const MAX_MS = 0.35;
/** Messages of one block of the source. */
const PER_BLOCK = 200;

/** See the head of the file. */
export const database: Part = async (deps) => [
  ...await measure(deps, "to a chain", (relayer) => [outbound(relayer), relayer.two]),
  ...await measure(deps, "to the hub", (relayer) => [inbound(relayer), relayer.hub]),
];

async function measure(
  deps: BenchDeps,
  name: string,
  choose: (relayer: Relayer) => readonly [LegRun, MemoryChain],
): Promise<readonly Figure[]> {
  const fixture = new Fixture();
  const file = `${deps.folder}/${name.replaceAll(" ", "-")}.db`;
  const { ledger, use } = timedLedger(openLedger(file, { clock: fixture.clock }));
  const relayer = new Relayer(fixture, ledger);
  const [leg, target] = choose(relayer);
  const [source, node] = target === relayer.two ? [fixture.hub, fixture.two] : [fixture.one, fixture.hub];
  try {
    // What is prepared once, and code that is cold, is nobody's cost.
    await cross(relayer, leg, { fixture, target, source, node, count: PER_BLOCK });
    const rounds: LedgerUse[] = [];
    while (rounds.length < ROUNDS) {
      const before = use();
      await cross(relayer, leg, { fixture, target, source, node, count: MESSAGES });
      const { ms, transactions } = use();
      rounds.push({
        ms: (ms - before.ms) / MESSAGES,
        transactions: (transactions - before.transactions) / MESSAGES,
      });
    }
    return figuresOf(rounds, [
      ["ms", `database, ${name}: time of a delivery, full sync`, "ms", { most: MAX_MS }],
      ["transactions", `database, ${name}: transactions of a delivery`, ""],
    ]);
  } finally {
    relayer.kill();
    ledger.close();
  }
}

interface Crossing {
  readonly fixture: Fixture;
  readonly target: MemoryChain;
  readonly source: Fixture["one"];
  readonly node: Fixture["one"];
  readonly count: number;
}

/** `count` messages leave the source and are final on the target when it returns. */
async function cross(relayer: Relayer, leg: LegRun, work: Crossing): Promise<void> {
  const { fixture, target, source, node, count } = work;
  const goal = delivered(node).length + count;
  for (let sent = 0; sent < count; sent += PER_BLOCK) await fixture.sendFrom(source, node, PER_BLOCK);
  while (
    delivered(node).length < goal ||
    relayer.ledger.submissions.listUnresolved(target.id.stateMachine).length > 0
  ) {
    while ((await round(relayer, leg)).sent > 0);
    await fixture.blocks(1);
    await settle(relayer, target);
  }
}

/** What was counted since the ledger was wrapped. */
interface LedgerUse {
  /** Time within calls, what is done inside of a transaction included. */
  readonly ms: number;
  /** Transactions that changed something: each is one flush of the write-ahead log with full sync. */
  readonly transactions: number;
}

/** The same ledger, with a clock in front of every call; a call inside of another one is not counted twice. */
function timedLedger(ledger: Ledger): { readonly ledger: Ledger; readonly use: () => LedgerUse } {
  let [ms, transactions, depth] = [0, 0, 0];
  const timed = <T>(work: () => T): T => {
    if (depth > 0) return work();
    depth++;
    const startMs = performance.now();
    try {
      return work();
    } finally {
      depth--;
      ms += performance.now() - startMs;
    }
  };
  const wrap = <T extends object>(table: T): T =>
    new Proxy(table, {
      get: (target, name, receiver) => {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => timed(() => Reflect.apply(value, target, args));
      },
    });
  const { meta, cursors, messages, submissions, deliveries } = ledger;
  const wrapped: Ledger = {
    ...ledger,
    meta: wrap(meta),
    cursors: wrap(cursors),
    messages: wrap(messages),
    submissions: wrap(submissions),
    deliveries: wrap(deliveries),
    transaction: (work) =>
      timed(() => {
        transactions++;
        return ledger.transaction(work);
      }),
  };
  return { ledger: wrapped, use: () => ({ ms, transactions }) };
}
