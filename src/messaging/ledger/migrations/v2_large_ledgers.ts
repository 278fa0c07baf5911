/**
 * Version 2: what keeps queries short however many messages there are. Messages are counted as they change, and what is
 * held, limited or unclaimed has indexes of its own.
 */
import type { Migration } from "../schema.ts";

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

/** Counts and indexes for large ledgers. */
export const largeLedgers: Migration = {
  version: 2,
  title: "counts and indexes for large ledgers",
  sql: messageCount + indexes,
};
