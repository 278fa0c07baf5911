/** `list`: messages by what they have in common, newest first. `retry`: held ones are attempted again now. */
import type { Operation } from "../operation.ts";
import { messageShape, toMessageFilter, toMessageView } from "../message_view.ts";
import { filterShape } from "../shapes.ts";
import * as z from "zod";

/** Maximum number of messages of an answer. */
export const MAX_LISTED = 1_000;

const input = z.strictObject({
  filter: filterShape,
  limit: z.number().int().min(1).max(MAX_LISTED),
});

const output = z.object({
  messages: z.array(messageShape),
  /** Number of messages that match, beyond the limit, too. */
  total: z.number(),
});

/** The operation. */
export const listOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "list",
  needs: "read",
  input,
  output,
  run: ({ ledger }, { filter, limit }) => {
    const wanted = toMessageFilter(filter);
    const messages = ledger.messages.search(wanted, limit).map(toMessageView);
    return { messages, total: messages.length < limit ? messages.length : ledger.messages.count(wanted) };
  },
};

const retryInput = z.strictObject({ filter: filterShape });

const retryOutput = z.object({
  /** Number of messages that are attempted, by the reason for which they waited; none: they had their turn. */
  reasons: z.array(z.object({ reason: z.string().optional(), count: z.number() })),
});

/** The operation. */
export const retryOperation: Operation<z.output<typeof retryInput>, z.output<typeof retryOutput>> = {
  name: "retry",
  needs: "write",
  input: retryInput,
  output: retryOutput,
  run: ({ ledger, wake }, { filter }) => {
    const reasons = ledger.transaction(() => ledger.messages.wakeMatching(toMessageFilter(filter)));
    wake();
    return { reasons: reasons.map(({ reason, count }) => ({ reason, count })) };
  },
};
