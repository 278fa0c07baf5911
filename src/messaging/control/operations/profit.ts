/** `profit`: fees earned against gas spent, what was wasted and why, and which claims are outstanding. */
import { ProfitAccount, profitGroups } from "../profit_account.ts";
import type { Operation } from "../operation.ts";
import * as z from "zod";

/** Transactions that are added up before others have a turn. */
const PAGE = 2_000;

const input = z.strictObject({ by: z.enum(profitGroups), sinceMs: z.number().optional() });

const spentShape = z.array(z.object({ chain: z.string(), native: z.string() }));

const lineShape = z.object({
  group: z.string(),
  transactions: z.number(),
  earnedUsd: z.string(),
  spentUsd: z.string(),
  profitUsd: z.string(),
  unpriced: z.number(),
  spent: spentShape,
  wasted: z.array(z.object({
    reason: z.string(),
    transactions: z.number(),
    usd: z.string(),
    spent: spentShape,
  })),
});

const output = z.object({
  by: z.enum(profitGroups),
  lines: z.array(lineShape),
  total: lineShape,
  claims: z.array(z.object({
    source: z.string(),
    state: z.string(),
    count: z.number(),
    /** Whole fee tokens, where the decimals are known. */
    fees: z.string().optional(),
  })),
});

/** The operation. */
export const profitOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "profit",
  needs: "read",
  input,
  output,
  run: async ({ ledger, clock, status }, { by, sinceMs = 0 }, signal) => {
    const account = new ProfitAccount(by);
    for (let afterId = 0;;) {
      const page = ledger.minedCosts.list({ sinceMs, afterId, limit: PAGE });
      for (const cost of page) account.add(cost, () => ledger.minedCosts.listCarried(cost.id));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      afterId = last.id;
      await clock.sleep(0, signal); // a relayer has other work, too
    }
    const outstanding = status().claims.filter(({ state }) => state === "unclaimed" || state === "claiming");
    const claims = outstanding.map(({ source, state, count, fees }) => ({ source, state, count, fees }));
    return { by, ...account.lines(), claims };
  },
};
