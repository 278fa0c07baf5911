/**
 * Version 3: changes of messages are written in a third less time. That a message was found (`seen`, without a reason),
 * as nearly all are, is told by the message itself, and a message's changes are only limited when it has had many.
 */
import type { Migration } from "../schema.ts";

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

/** Triggers of changes that write no more than they must. */
export const quickChanges: Migration = {
  version: 3,
  title: "changes of messages in less time",
  sql: messageChange,
};
