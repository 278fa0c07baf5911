/** `scan`: blocks are read again, and what was missed is recorded. */
import { OperationRefusal } from "../../../core/commands/control_operation.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { recordMissed } from "../../relay/scan.ts";
import type { Operation } from "../operation.ts";
import { stateMachineShape } from "../../../core/commands/control_operation.ts";
import * as z from "zod";

/** Heights travel as text. */
const heightShape = z.string().regex(/^\d{1,19}$/).transform((text) => BigInt(text));

const input = z.strictObject({ chain: stateMachineShape, from: heightShape, to: heightShape });

const output = z.object({
  legs: z.array(z.object({
    from: z.string(),
    to: z.string(),
    /** Blocks that were read; absent: the leg has not come that far, and reads them by itself. */
    blocks: z.object({ from: z.string(), to: z.string() }).optional(),
    messages: z.number(),
    missed: z.array(z.string()),
  })),
});

/** The operation. */
export const scanOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "scan",
  needs: "chains",
  input,
  output,
  run: async (context, { chain, from, to }, signal) => {
    if (from > to) throw new OperationRefusal("--from is above --to.");
    const legs = context.relaying().legs.filter(({ source }) => source.id.stateMachine === chain);
    if (legs.length === 0) throw new OperationRefusal(`${chain} is not configured.`);
    const reports: z.output<typeof output>["legs"] = [];
    for (const leg of legs) {
      const target = leg.target.id.stateMachine;
      try {
        const { read, messages, missed } = await recordMissed({ ...leg, signal }, { from, to });
        const blocks = read && { from: read.from.toString(), to: read.to.toString() };
        reports.push({ from: chain, to: target, blocks, messages, missed: [...missed] });
      } catch (error) {
        if (!(error instanceof RpcFault)) throw error;
        throw new OperationRefusal(`${chain} -> ${target} could not be read again: ${error.message}`);
      }
    }
    return { legs: reports };
  },
};
