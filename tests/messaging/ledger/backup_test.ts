import { equal, match, ok, rejects } from "node:assert/strict";
import { copyDatabase, copyGuarded } from "../../../src/messaging/ledger/backup.ts";
import { openReadOnlyLedger } from "../../../src/messaging/ledger/open.ts";
import { type Ledger, LedgerFault, openLedger, withDirectory } from "../../support/ledger.ts";
import { hashOf, hub, newMessage } from "../../support/ledger_rows.ts";

const clock = { now: () => 1_000_000 };

function writeRows(ledger: Ledger, from: number, to: number): void {
  ledger.transaction(() => {
    for (let n = from; n < to; n++) ledger.messages.record(newMessage(n));
  });
}

Deno.test("backup: while it is written to, the copy holds what was there at its beginning, and the lock stays", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    const ledger = openLedger(path, { clock });
    writeRows(ledger, 0, 500);
    ledger.fileCopy.begin();
    const copied = copyGuarded(path, `${directory}/copy.db`, { clock, end: () => ledger.fileCopy.end() });
    for (let from = 500; from < 3_000; from += 500) writeRows(ledger, from, from + 500);
    ok(await copied > 100_000);
    const copy = openReadOnlyLedger(`${directory}/copy.db`, { clock });
    equal(copy.messages.count({}), 500);
    copy.close();
    equal(((await Deno.stat(`${directory}/copy.db`)).mode ?? 0) & 0o777, 0o600);
    ledger.close();
    const again = openLedger(path, { clock });
    equal(again.messages.count({}), 3_000);
    again.close();
    ok([...Deno.readDirSync(directory)].every(({ name }) => !name.startsWith(".")), "nothing is left behind");
  }));

Deno.test("backup: a file that was not left alone gives no copy; neither does one that another backup is over", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    const ledger = openLedger(path, { clock });
    ledger.fileCopy.begin();
    ledger.fileCopy.begin();
    equal(ledger.fileCopy.end(), true);
    equal(ledger.fileCopy.end(), false);
    const target = `${directory}/copy.db`;
    await rejects(copyGuarded(path, target, { clock, end: () => false }), /changed while it was copied/);
    ledger.close();
    equal([...Deno.readDirSync(directory)].some(({ name }) => name.includes("copy")), false);
  }));

Deno.test("backup: without a relayer it is locked meanwhile; an existing file is never replaced", () =>
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

Deno.test("read-only: reads what is there, changes nothing, and says what is wrong", () =>
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
    match(fault(), /^locked: /);
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
