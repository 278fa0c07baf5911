/** `accumulate-fees` in the running relayer: with its connections, and never at the same time as its own rounds. */
import { claimAndWithdraw } from "../../commands/run_accumulation.ts";
import type { Operation } from "../operation.ts";
import * as z from "zod";

const input = z.strictObject({ waits: z.boolean(), withdraws: z.boolean() });

const output = z.object({
  /** Table for people. */
  text: z.string(),
  exitCode: z.union([z.literal(0), z.literal(1)]),
});

/** The operation. */
export const accumulateFeesOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "accumulate-fees",
  needs: "running",
  input,
  output,
  run: async (context, options, signal) => {
    const lines: string[] = [];
    const { pollIntervalSec } = context.config.hub;
    const print = (text: string): void => void lines.push(text);
    const { fees } = context.relaying();
    const code = await claimAndWithdraw(fees, { ...options, pollIntervalSec, print }, signal);
    return { text: lines.join("\n"), exitCode: code === 0 ? 0 : 1 };
  },
};
