/**
 * The tables of docs/architecture/ledger.md, "Tables".
 * Heights and times are 64-bit integers; nonces are 20 digits of text, so that they sort; amounts are decimal text.
 */

const message = `
CREATE TABLE message (
  commitment TEXT NOT NULL,
  target TEXT NOT NULL,
  source TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('post', 'get', 'getResponse')),
  request_commitment TEXT NOT NULL,
  request_source TEXT NOT NULL,
  request_dest TEXT NOT NULL,
  module BLOB NOT NULL,
  nonce TEXT NOT NULL CHECK (length(nonce) = 20),
  timeout_sec TEXT NOT NULL,
  seen_at_height INTEGER NOT NULL,
  encoded BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('seen', 'held', 'ready', 'not_executed', 'submitted', 'delivered',
    'delivered_by_other', 'timed_out', 'rejected', 'gone')),
  reason TEXT,
  detail TEXT,
  required_usd18 TEXT,
  offered_usd18 TEXT,
  attempts INTEGER NOT NULL,
  refusals INTEGER NOT NULL DEFAULT 0,
  batch_limit INTEGER,
  next_attempt_at_ms INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (commitment, target)
) STRICT;
CREATE INDEX message_open ON message (source, target, seen_at_height, nonce, commitment, next_attempt_at_ms)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed');
CREATE INDEX message_due ON message (source, target, next_attempt_at_ms)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed');
CREATE INDEX message_timeout ON message (source, target, timeout_sec)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed');
CREATE INDEX message_by_state ON message (source, target, state);
CREATE INDEX message_unfinished ON message (source, target, state, reason, created_at_ms)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed', 'submitted');
CREATE INDEX message_ended ON message (updated_at_ms, source, target, state)
  WHERE state IN ('delivered', 'delivered_by_other', 'timed_out', 'rejected', 'gone');
CREATE INDEX message_of_get ON message (request_commitment) WHERE kind = 'getResponse';
CREATE INDEX message_ended_of_leg ON message (source, target, state, updated_at_ms)
  WHERE state IN ('delivered', 'delivered_by_other', 'timed_out', 'rejected', 'gone');
CREATE INDEX message_held ON message (target, reason, source, module, next_attempt_at_ms, updated_at_ms, state)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed') AND reason IS NOT NULL;
CREATE INDEX message_limited ON message (source, target, reason)
  WHERE state IN ('seen', 'held', 'ready', 'not_executed') AND batch_limit IS NOT NULL;
`;

/**
 * Written by triggers, so that no way of changing a message is missing. A message keeps its first and last changes; that
 * it was found (`seen`, without a reason), as nearly all are, is in its own row.
 */
const messageChange = `
CREATE TABLE message_change (
  commitment TEXT NOT NULL,
  target TEXT NOT NULL,
  number INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  detail TEXT,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (commitment, target, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER message_found AFTER INSERT ON message WHEN new.state <> 'seen' OR new.reason IS NOT NULL BEGIN
  INSERT INTO message_change (commitment, target, number, state, reason, detail, at_ms)
  VALUES (new.commitment, new.target, 1, new.state, new.reason, new.detail, new.updated_at_ms);
END;
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
CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN
  DELETE FROM message_change WHERE commitment = old.commitment AND target = old.target;
  DELETE FROM decision WHERE commitment = old.commitment AND target = old.target;
  DELETE FROM foreign_receipt WHERE commitment = old.commitment AND target = old.target;
END;
`;

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

const decision = `
CREATE TABLE decision (
  commitment TEXT NOT NULL,
  target TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('profitable', 'no_minimum', 'always', 'unprofitable', 'price_unknown',
    'fee_unknown', 'consensus_proofs_unprofitable')),
  fee_usd18 TEXT,
  gas TEXT NOT NULL,
  gas_price_wei TEXT NOT NULL,
  data_cost_wei TEXT NOT NULL,
  price27 TEXT,
  price_origin TEXT,
  profit_percent INTEGER NOT NULL,
  cost_usd18 TEXT,
  required_usd18 TEXT,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (commitment, target)
) STRICT, WITHOUT ROWID;
`;

const operatorHold = `
CREATE TABLE operator_hold (
  subject TEXT NOT NULL PRIMARY KEY,
  created_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

const submission = `
CREATE TABLE submission (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chain TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('delivery', 'cancel', 'accumulate', 'withdraw', 'claim')),
  account TEXT,
  nonce TEXT,
  hash TEXT NOT NULL,
  raw BLOB NOT NULL,
  gas_price_wei TEXT,
  gas_limit TEXT,
  made_at_height INTEGER NOT NULL,
  leg_source TEXT,
  state TEXT NOT NULL CHECK (state IN ('signed', 'broadcast', 'included', 'final', 'failed', 'replaced', 'dropped')),
  block_height INTEGER,
  block_hash TEXT,
  replaces INTEGER REFERENCES submission (id) ON DELETE SET NULL,
  detail TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX submission_unresolved ON submission (chain, id) WHERE state IN ('signed', 'broadcast', 'included');
CREATE INDEX submission_ended ON submission (updated_at_ms)
  WHERE state IN ('final', 'failed', 'replaced', 'dropped');
CREATE INDEX submission_by_hash ON submission (chain, hash);
CREATE INDEX submission_by_nonce ON submission (chain, account, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX submission_replaces ON submission (replaces) WHERE replaces IS NOT NULL;
CREATE TABLE submission_item (
  submission_id INTEGER NOT NULL REFERENCES submission (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  commitment TEXT NOT NULL,
  request_commitment TEXT NOT NULL,
  target TEXT NOT NULL,
  outcome TEXT CHECK (outcome IN ('handled', 'not_handled', 'by_other', 'unknown')),
  PRIMARY KEY (submission_id, commitment)
) STRICT, WITHOUT ROWID;
CREATE INDEX submission_item_by_message ON submission_item (commitment, target);
`;

const spending = `
CREATE TABLE spending (
  id INTEGER PRIMARY KEY,
  chain TEXT NOT NULL,
  hash TEXT NOT NULL,
  leg_source TEXT,
  purpose TEXT NOT NULL CHECK (purpose IN ('delivery', 'payment_delivery', 'consensus_proofs', 'cancellation', 'claim',
    'withdrawal', 'reward_claim')),
  rule TEXT NOT NULL CHECK (rule IN ('profit', 'no_minimum', 'always', 'consensus_proofs', 'nonce', 'free',
    'operator')),
  max_cost_wei TEXT NOT NULL,
  offered_usd18 TEXT,
  result TEXT CHECK (result IN ('delivered', 'advanced', 'already_known', 'lost_race', 'reverted', 'not_executed',
    'cancelled', 'done')),
  gas_used TEXT,
  gas_price_wei TEXT,
  data_cost_wei TEXT,
  cost_wei TEXT,
  price27 TEXT,
  cost_usd18 TEXT,
  revenue_usd18 TEXT,
  loss_micro_usd INTEGER,
  mined_at_ms INTEGER,
  created_at_ms INTEGER NOT NULL,
  CHECK ((result IS NULL) = (mined_at_ms IS NULL) AND (result IS NULL) = (cost_wei IS NULL))
) STRICT;
CREATE INDEX spending_mined ON spending (chain, mined_at_ms, loss_micro_usd) WHERE mined_at_ms IS NOT NULL;
CREATE INDEX spending_all_mined ON spending (mined_at_ms) WHERE mined_at_ms IS NOT NULL;
CREATE INDEX spending_by_hash ON spending (chain, hash);
CREATE INDEX spending_old ON spending (created_at_ms);
`;

const delivery = `
CREATE TABLE delivery (
  commitment TEXT NOT NULL,
  dest TEXT NOT NULL,
  source TEXT NOT NULL,
  relayer BLOB NOT NULL,
  tx_hash TEXT,
  block_height INTEGER NOT NULL,
  block_hash TEXT,
  is_final INTEGER NOT NULL CHECK (is_final IN (0, 1)),
  fee TEXT,
  claim_state TEXT NOT NULL
    CHECK (claim_state IN ('unclaimed', 'claiming', 'claimed', 'no_fee', 'lost', 'unclaimable')),
  claim_hub_block INTEGER,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (commitment, dest)
) STRICT;
CREATE INDEX delivery_not_final ON delivery (dest, block_height) WHERE is_final = 0;
CREATE INDEX delivery_unclaimed ON delivery (source, dest, relayer, block_height)
  WHERE claim_state = 'unclaimed' AND is_final = 1;
CREATE INDEX delivery_by_claim_state ON delivery (claim_state, updated_at_ms);
CREATE INDEX delivery_by_pair ON delivery (source, dest, relayer);
CREATE INDEX delivery_open_claim ON delivery (source, claim_state, fee)
  WHERE claim_state IN ('unclaimed', 'claiming', 'lost', 'unclaimable');
`;

const withdrawal = `
CREATE TABLE withdrawal (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chain TEXT NOT NULL,
  address BLOB NOT NULL,
  nonce TEXT,
  beneficiary BLOB,
  amount TEXT NOT NULL,
  hub_block INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('requested', 'dispatched', 'done', 'void')),
  commitment TEXT UNIQUE,
  encoded BLOB,
  dispatch_hub_block INTEGER,
  submission_id INTEGER REFERENCES submission (id) ON DELETE SET NULL,
  detail TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  CHECK ((commitment IS NULL) = (encoded IS NULL) AND (commitment IS NULL) = (dispatch_hub_block IS NULL)),
  CHECK (state IN ('requested', 'void') OR commitment IS NOT NULL)
) STRICT;
CREATE INDEX withdrawal_open ON withdrawal (chain, id) WHERE state IN ('requested', 'dispatched');
CREATE INDEX withdrawal_submission ON withdrawal (submission_id) WHERE submission_id IS NOT NULL;
`;

const rest = `
CREATE TABLE meta (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE note (
  topic TEXT NOT NULL,
  subject TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (topic, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE foreign_receipt (
  commitment TEXT NOT NULL,
  target TEXT NOT NULL,
  height INTEGER NOT NULL,
  is_seen_again INTEGER NOT NULL CHECK (is_seen_again IN (0, 1)),
  PRIMARY KEY (commitment, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_receipt_by_height ON foreign_receipt (target, height, commitment);
CREATE TABLE cursor (
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  scanned INTEGER NOT NULL CHECK (scanned >= 0),
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (source, target)
) STRICT, WITHOUT ROWID;
CREATE TABLE reward (
  kind TEXT NOT NULL CHECK (kind IN ('rotation', 'request')),
  chain TEXT NOT NULL,
  reference TEXT NOT NULL,
  height INTEGER NOT NULL,
  payload BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'claimed', 'refused')),
  attempts INTEGER NOT NULL,
  next_attempt_at_ms INTEGER NOT NULL,
  detail TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, chain, reference)
) STRICT;
CREATE INDEX reward_open ON reward (height) WHERE state = 'pending';
`;

const suspension = `
CREATE TABLE suspension (
  target TEXT NOT NULL,
  sender BLOB NOT NULL,
  receiver BLOB NOT NULL,
  failures INTEGER NOT NULL CHECK (failures > 0),
  is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  next_try_at_ms INTEGER NOT NULL,
  last_transaction TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (target, sender, receiver)
) STRICT, WITHOUT ROWID;
`;

/**
 * Steps of the tables, in order: a file of version N has the first N of them. A new step is a new last entry; one that
 * was released is never changed.
 */
export const migrations: readonly string[] = [
  rest + message + messageChange + messageCount + decision + operatorHold + submission + spending + delivery +
  withdrawal + suspension,
];
