/** `retry`: held messages are attempted again now. */
import type { Operation } from "../operation.ts";
import { toMessageFilter } from "../message_view.ts";
import { filterShape } from "../shapes.ts";
import * as z from "zod";

const input = z.strictObject({ filter: filterShape });

const output = z.object({
  /** Number of messages that are attempted, by the reason for which they waited; none: they had their turn. */
  reasons: z.array(z.object({ reason: z.string().optional(), count: z.number() })),
});

/** The operation. */
export const retryOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "retry",
  needs: "write",
  input,
  output,
  run: ({ ledger, wake }, { filter }) => {
    const reasons = ledger.transaction(() => ledger.messages.wakeMatching(toMessageFilter(filter)));
    wake();
    return { reasons: reasons.map(({ reason, count }) => ({ reason, count })) };
  },
};
