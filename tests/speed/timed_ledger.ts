/** A ledger that says how long the program was busy with it. Its calls are synchronous, so that is all their cost. */
import type { Ledger } from "../../src/messaging/ledger/ledger.ts";

/** What was counted since the ledger was wrapped. */
export interface LedgerUse {
  /** Time within calls, what is done inside of a transaction included, milliseconds. */
  readonly ms: number;
  /** Transactions that changed something: each is one flush of the write-ahead log with full sync. */
  readonly transactions: number;
}

/** The same ledger, with a clock in front of every call; a call inside of another one is not counted twice. */
export function timedLedger(ledger: Ledger): { readonly ledger: Ledger; readonly use: () => LedgerUse } {
  let ms = 0;
  let transactions = 0;
  let depth = 0;
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
  const transaction: Ledger["transaction"] = (work) =>
    timed(() => {
      transactions++;
      return ledger.transaction(work);
    });
  return {
    ledger: {
      ...ledger,
      meta: wrap(ledger.meta),
      cursors: wrap(ledger.cursors),
      messages: wrap(ledger.messages),
      submissions: wrap(ledger.submissions),
      deliveries: wrap(ledger.deliveries),
      transaction,
    },
    use: () => ({ ms, transactions }),
  };
}
