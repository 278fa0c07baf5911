/** Version 4: payments of our own fees are delivered as all messages are, so that their rows are due like others. */
import type { Migration } from "../schema.ts";

/** Largest time: a row with it is never due. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/** Makes payments due that were delivered apart from the messages. */
export const ordinaryPayments: Migration = {
  version: 4,
  title: "payments among the messages",
  sql: `
UPDATE withdrawal SET state = 'dispatched' WHERE state = 'delivering';
UPDATE message SET next_attempt_at_ms = 0
WHERE state IN ('seen', 'held', 'ready', 'not_executed') AND next_attempt_at_ms = ${NEVER_MS}
  AND commitment IN (SELECT commitment FROM withdrawal WHERE state = 'dispatched');
UPDATE message SET state = 'seen', reason = NULL, next_attempt_at_ms = 0
WHERE state = 'rejected' AND commitment IN (SELECT commitment FROM withdrawal WHERE state = 'dispatched');
`,
};
