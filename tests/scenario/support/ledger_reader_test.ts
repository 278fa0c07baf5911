import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { migrations } from "../../../src/messaging/ledger/tables.ts";
import { readLedger } from "./ledger_reader.ts";

const commitment = `0x${"ab".repeat(32)}`;

Deno.test("ledger reader: reads a database with its log while another connection writes", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/relayer.db`;
  const writer = new DatabaseSync(path);
  try {
    writer.exec("PRAGMA journal_mode=WAL");
    writer.exec(migrations.join(""));
    writer.exec(`
      INSERT INTO meta VALUES ('hub', 'KUSAMA-4009');
      INSERT INTO cursor VALUES ('EVM-1', 'KUSAMA-4009', 9007199254740993, 0);
      INSERT INTO message VALUES ('${commitment}', 'KUSAMA-4009', 'EVM-1', 'post', '${commitment}', 'EVM-1', 'EVM-2',
        x'01', '00000000000000000007', '0', 5, x'00', 'held', 'no_fee_source', NULL, '10', NULL, 2, 0, NULL, 0, 0, 0);
      INSERT INTO submission (chain, kind, account, nonce, hash, raw, made_at_height, state,
        created_at_ms, updated_at_ms) VALUES ('EVM-2', 'delivery', '0x01', '00000000000000000003', '${commitment}',
        x'00', 1, 'broadcast', 0, 0);
      INSERT INTO submission_item VALUES (1, 0, '${commitment}', '${commitment}', 'EVM-2', NULL);
      INSERT INTO delivery VALUES ('${commitment}', 'EVM-2', 'EVM-1', x'0aff', NULL, 8, NULL, 1, NULL, 'unclaimed',
        NULL, 0, 0);
    `);
    writer.exec("BEGIN IMMEDIATE; DELETE FROM cursor");
    const ledger = await readLedger(path);
    assert.equal(ledger.meta.get("hub"), "KUSAMA-4009");
    assert.equal(ledger.cursors[0]?.scanned, 9007199254740993n);
    const [message] = ledger.messages;
    assert.deepEqual(
      [message?.state, message?.reason, message?.nonce, message?.requiredUsd18, message?.offeredUsd18],
      ["held", "no_fee_source", 7n, 10n, undefined],
    );
    const [submission] = ledger.submissions;
    assert.deepEqual([submission?.state, submission?.nonce, submission?.items.length], ["broadcast", 3n, 1]);
    const [delivery] = ledger.deliveries;
    assert.deepEqual([delivery?.relayer, delivery?.isFinal, delivery?.txHash], ["0x0aff", true, undefined]);
    assert.ok(ledger.bytes.length > 0);
  } finally {
    writer.close();
    await Deno.remove(folder, { recursive: true });
  }
  await assert.rejects(readLedger(path), Deno.errors.NotFound);
});
