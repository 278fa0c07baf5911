/** Files of others beside the database: links, and what another user owns. */
import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { copyDatabase } from "../../../src/messaging/ledger/backup.ts";
import { LedgerFault } from "../../../src/messaging/ledger/fault.ts";
import { findReason } from "../../../src/messaging/ledger/file_faults.ts";
import { inspectDatabase } from "../../../src/messaging/ledger/inspect.ts";
import { migrations } from "../../../src/messaging/ledger/migrations/all.ts";
import { openDatabase, openLedger, openReadOnlyLedger } from "../../../src/messaging/ledger/open.ts";
import { withDirectory } from "../../support/ledger.ts";

const clock = { now: () => 1_000_000 };

/** Another user of this machine. */
const OTHER = 65_534;
const isRoot = Deno.uid() === 0;

Deno.test("files: what others have put in the place of lock, probe and copy is neither written to nor emptied nor given away", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const victim = `${directory}/victim`;
    const plant: Readonly<Record<string, (place: string) => void>> = {
      link: (place) => Deno.symlinkSync(victim, place),
      "second name": (place) => Deno.linkSync(victim, place),
      ...isRoot && {
        "file of another user": (place: string) => {
          Deno.writeTextFileSync(place, "theirs");
          Deno.chownSync(place, OTHER, OTHER);
        },
      },
    };
    for (const [name, put] of Object.entries(plant)) {
      Deno.writeTextFileSync(victim, "precious", { mode: 0o640 });
      openDatabase(path, { clock, migrations: migrations.slice(0, 1) }).close();
      equal((Deno.statSync(`${path}.lock`).mode ?? 0) & 0o777, 0o600);
      for (const end of [".backup-v1", ".backup-v1.tmp", ".probe"]) put(`${path}${end}`);
      openLedger(path, { clock }).close(); // with a copy of the old tables
      equal(Deno.lstatSync(`${path}.backup-v1`).isFile, true, name);
      equal(findReason(path), undefined, name);
      Deno.removeSync(`${path}.lock`);
      put(`${path}.lock`);
      const before = Deno.readTextFileSync(`${path}.lock`);
      refuses(() => openLedger(path, { clock }), /a\.db\.lock is not a file of this user alone\. Remove it/);
      equal(Deno.readTextFileSync(`${path}.lock`), before, name);
      equal(Deno.readTextFileSync(victim), "precious", name);
      equal(Deno.statSync(victim).uid, Deno.uid(), name);
      for (const { name } of [...Deno.readDirSync(directory)]) Deno.removeSync(`${directory}/${name}`);
    }
  }));

Deno.test({
  name: "files: root works on no database that another user owns or can replace, and leaves nothing there",
  ignore: !isRoot,
  fn: () =>
    withDirectory(async (directory) => {
      const mine = `${directory}/mine.db`;
      openLedger(mine, { clock }).close();
      Deno.mkdirSync(`${directory}/theirs/deep`, { recursive: true });
      Deno.copyFileSync(mine, `${directory}/theirs/deep/a.db`);
      Deno.symlinkSync(`${directory}/theirs/deep`, `${directory}/link`);
      Deno.symlinkSync(mine, `${directory}/link.db`);
      await runQuietly("chown", ["-h", `${OTHER}`, `${directory}/link.db`]);
      Deno.chownSync(`${directory}/theirs`, OTHER, OTHER); // can replace `deep`
      const theirs = [`${directory}/theirs/deep/a.db`, `${directory}/link/a.db`, `${directory}/link.db`];
      const text = /belongs to user 65534, and root does not work on files of others.*sudo -u '#65534'/;
      for (const path of theirs) {
        refuses(() => openLedger(path, { clock }), text);
        refuses(() => openReadOnlyLedger(path, { clock }), text);
        const facts = inspectDatabase(path, clock, () => undefined);
        match(facts.kind === "unusable" ? facts.fault.message : "", text);
        await rejects(copyDatabase(path, `${directory}/copy.db`, clock), text);
      }
      await rejects(copyDatabase(mine, `${directory}/link/copy.db`, clock), text);
      deepEqual([...Deno.readDirSync(`${directory}/theirs/deep`)].map(({ name }) => name), ["a.db"]);
      openLedger(mine, { clock }).close();
    }),
});

async function runQuietly(command: string, args: string[]): Promise<void> {
  equal((await new Deno.Command(command, { args }).output()).success, true, command);
}

function refuses(work: () => unknown, text: RegExp): void {
  throws(
    work,
    (fault) => fault instanceof LedgerFault && fault.code === "denied" && text.test(fault.message),
  );
}
