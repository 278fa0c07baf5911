/** Every step of the tables, in order. A new step is a few lines here, or a new file, and a new last entry. */
import type { Migration } from "../schema.ts";
import { firstTables } from "./v1_first_tables.ts";

/** Counted by triggers, so that no way of changing a message is missing. No reason is the empty text. */
const messageCount = `
CREATE TABLE message_count (
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (source, target, state, reason)
) STRICT, WITHOUT ROWID;
INSERT INTO message_count (source, target, state, reason, count)
  SELECT source, target, state, coalesce(reason, ''), count(*) FROM message GROUP BY 1, 2, 3, 4;
CREATE TRIGGER message_count_found AFTER INSERT ON message BEGIN
  INSERT INTO message_count (source, target, state, reason, count)
  VALUES (new.source, new.target, new.state, coalesce(new.reason, ''), 1)
  ON CONFLICT (source, target, state, reason) DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER message_count_changed AFTER UPDATE OF state, reason ON message
WHEN old.state <> new.state OR old.reason IS NOT new.reason BEGIN
  UPDATE message_count SET count = count - 1 WHERE source = old.source AND target = old.target
    AND state = old.state AND reason = coalesce(old.reason, '');
  INSERT INTO message_count (source, target, state, reason, count)
  VALUES (new.source, new.target, new.state, coalesce(new.reason, ''), 1)
  ON CONFLICT (source, target, state, reason) DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER message_count_removed AFTER DELETE ON message BEGIN
  UPDATE message_count SET count = count - 1 WHERE source = old.source AND target = old.target
    AND state = old.state AND reason = coalesce(old.reason, '');
END;
`;

const indexes = `
CREATE INDEX message_ended_of_leg ON message (source, target, state, updated_at_ms)
  WHERE state IN ('delivered', 'delivered_by_other', 'timed_out', 'rejected', 'gone');
CREATE INDEX message_held ON message (target, reason, source, module, next_attempt_at_ms, updated_at_ms, state)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed') AND reason IS NOT NULL;
CREATE INDEX message_limited ON message (source, target, reason)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed') AND batch_limit IS NOT NULL;
CREATE INDEX delivery_by_pair ON delivery (source, dest, relayer);
CREATE INDEX delivery_open_claim ON delivery (source, claim_state, fee)
  WHERE claim_state IN ('unclaimed', 'claiming', 'lost', 'unclaimable');
`;

/**
 * Counts and indexes that keep queries short however many messages there are: messages are counted as they change, and
 * what is held, limited or unclaimed has indexes of its own.
 */
const largeLedgers: Migration = {
  version: 2,
  title: "counts and indexes for large ledgers",
  sql: messageCount + indexes,
};

const messageChange = `
DROP TRIGGER message_found;
CREATE TRIGGER message_found AFTER INSERT ON message WHEN new.state <> 'seen' OR new.reason IS NOT NULL BEGIN
  INSERT INTO message_change (commitment, target, number, state, reason, detail, at_ms)
  VALUES (new.commitment, new.target, 1, new.state, new.reason, new.detail, new.updated_at_ms);
END;
DROP TRIGGER message_changed;
CREATE TRIGGER message_changed AFTER UPDATE OF state, reason ON message
WHEN new.state <> 'ready' AND (old.state <> new.state OR old.reason IS NOT new.reason) BEGIN
  INSERT INTO message_change (commitment, target, number, state, reason, detail, at_ms)
  SELECT new.commitment, new.target, coalesce(max(number), 1) + 1, new.state, new.reason, new.detail,
    new.updated_at_ms
  FROM message_change WHERE commitment = new.commitment AND target = new.target;
END;
CREATE TRIGGER message_change_limited AFTER INSERT ON message_change WHEN new.number > 51 BEGIN
  DELETE FROM message_change WHERE commitment = new.commitment AND target = new.target
    AND number = new.number - 50;
END;
`;

/**
 * Triggers that write changes of messages in a third less time. That a message was found (`seen`, without a reason), as
 * nearly all are, is told by the message itself, and a message's changes are only limited when it has had many.
 */
const quickChanges: Migration = {
  version: 3,
  title: "changes of messages in less time",
  sql: messageChange,
};

/** Payments of our fees are due like other messages; they were delivered apart from them, and never due. */
const ordinaryPayments: Migration = {
  version: 4,
  title: "payments among the messages",
  sql: `
UPDATE withdrawal SET state = 'dispatched' WHERE state = 'delivering';
UPDATE message SET next_attempt_at_ms = 0
WHERE state IN ('seen', 'held', 'ready', 'not_executed') AND next_attempt_at_ms = ${Number.MAX_SAFE_INTEGER}
  AND commitment IN (SELECT commitment FROM withdrawal WHERE state = 'dispatched');
UPDATE message SET state = 'seen', reason = NULL, next_attempt_at_ms = 0
WHERE state = 'rejected' AND commitment IN (SELECT commitment FROM withdrawal WHERE state = 'dispatched');
`,
};

/** Steps 1, 2, 3, ... without gaps. */
export const migrations: readonly Migration[] = [firstTables, largeLedgers, quickChanges, ordinaryPayments];
