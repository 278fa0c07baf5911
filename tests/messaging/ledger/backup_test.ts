import { equal, match, ok, rejects, throws } from "node:assert/strict";
import { copyDatabase } from "../../../src/messaging/ledger/backup.ts";
import { openReadOnlyLedger } from "../../../src/messaging/ledger/open.ts";
import { type Ledger, LedgerFault, openLedger, withDirectory, writerCommand } from "../../support/ledger.ts";
import { hashOf, hub, newMessage } from "../../support/ledger_rows.ts";

const clock = { now: () => 1_000_000 };

function writeRows(ledger: Ledger, from: number, to: number): void {
  ledger.transaction(() => {
    for (let n = from; n < to; n++) ledger.messages.record(newMessage(n));
  });
}

Deno.test("backup: of an open database the copy holds what was committed, and the lock stays", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    const ledger = openLedger(path, { clock });
    writeRows(ledger, 0, 500);
    ok(await copyDatabase(path, `${directory}/copy.db`, clock) > 100_000);
    writeRows(ledger, 500, 3_000);
    equal(countIn(`${directory}/copy.db`), 500);
    equal(((await Deno.stat(`${directory}/copy.db`)).mode ?? 0) & 0o777, 0o600);
    throws(() => openLedger(path, { clock }), /another process uses it/);
    ledger.close();
    const again = openLedger(path, { clock });
    equal(again.messages.count({}), 3_000);
    again.close();
    ok([...Deno.readDirSync(directory)].every(({ name }) => !name.startsWith(".")), "nothing is left behind");
  }));

Deno.test("backup: while another process writes without a pause, every copy is whole", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    const writer = writerCommand(path).spawn();
    const acknowledged = writer.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let counted = 0;
    for (let copy = 0; copy < 5; copy++) {
      await acknowledged.read(); // it has written more
      await copyDatabase(path, `${directory}/${copy}.db`, clock);
      const count = countIn(`${directory}/${copy}.db`);
      ok(count > counted, `${count} after ${counted}`);
      counted = count;
    }
    writer.kill("SIGKILL");
    await Promise.all([acknowledged.cancel(), writer.stderr.cancel()]);
    await writer.status;
  }));

function countIn(path: string): number {
  const ledger = openReadOnlyLedger(path, { clock });
  try {
    return ledger.messages.count({});
  } finally {
    ledger.close();
  }
}

Deno.test("backup: it works without a relayer; an existing file is never replaced", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    const ledger = openLedger(path, { clock });
    ledger.messages.record(newMessage(1));
    ledger.close();
    const target = `${directory}/copy.db`;
    await copyDatabase(path, target, clock);
    const copy = openLedger(target, { clock });
    equal(copy.messages.find(hashOf(1), hub)?.state, "seen");
    copy.close();
    await rejects(copyDatabase(path, target, clock), /exists already\. Name a new file/);
    await rejects(copyDatabase(path, `${directory}/none/copy.db`, clock), /does not exist\. Create it first/);
  }));

Deno.test("read-only: reads what is there, also beside the relayer, changes nothing, and says what is wrong", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const fault = (): string => {
      try {
        openReadOnlyLedger(path, { clock }).close();
        return "";
      } catch (error) {
        return error instanceof LedgerFault ? `${error.code}: ${error.message}` : String(error);
      }
    };
    match(fault(), /there is no such file/);
    const ledger = openLedger(path, { clock });
    equal(fault(), "");
    ledger.messages.record(newMessage(1));
    ledger.close();
    const reading = openReadOnlyLedger(path, { clock });
    equal(reading.messages.count({}), 1);
    let code: unknown;
    try {
      reading.messages.record(newMessage(2));
    } catch (error) {
      code = error instanceof LedgerFault ? error.code : error;
    }
    equal(code, "readonly");
    reading.close();
  }));
