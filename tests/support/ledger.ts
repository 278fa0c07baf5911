/** What tests of the ledger need: its parts, and files that vanish with the test. */
export * from "../../src/messaging/ledger/ledger.ts";
export { openLedger } from "../../src/messaging/ledger/open.ts";
export type { NewSubmission } from "../../src/messaging/ledger/submissions.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { Database } from "../../src/messaging/ledger/database.ts";
import { createLedger, type Ledger } from "../../src/messaging/ledger/ledger.ts";
import { type OpenDeps, openLedger } from "../../src/messaging/ledger/open.ts";
import { migrate } from "../../src/messaging/ledger/schema.ts";
import { migrations } from "../../src/messaging/ledger/tables.ts";
import { DatabaseSync } from "node:sqlite";
import { FakeClock } from "./fake_clock.ts";

/** Opens a ledger in memory with all tables, discarded when closed. */
export function openMemoryLedger(deps: Pick<OpenDeps, "clock" | "migrations">): Ledger {
  const db = new Database(new DatabaseSync(":memory:"), ":memory:", deps.clock);
  db.execute("PRAGMA foreign_keys = ON");
  migrate(db, deps.migrations ?? migrations, 0);
  return createLedger(db);
}

/** Runs `work` with a fresh directory that is removed afterwards, also when the test made it unwritable. */
export async function withDirectory(work: (directory: string) => void | Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "causeway-ledger-" });
  try {
    await work(directory);
  } finally {
    await Deno.chmod(directory, 0o700);
    await Deno.remove(directory, { recursive: true });
  }
}

/** A test's body with a ledger in memory, and the clock that it reads. */
export function onLedger(
  work: (ledger: Ledger, clock: FakeClock) => void | Promise<void>,
): () => Promise<void> {
  return async () => {
    const clock = new FakeClock(1_000_000);
    const ledger = openMemoryLedger({ clock });
    try {
      await work(ledger, clock);
    } finally {
      ledger.close();
    }
  };
}

/** Runs `work` with a ledger in a file; `reopen` closes it as a killed program would and opens it again. */
export async function withLedgerFile(
  clock: Clock,
  work: (ledger: Ledger, reopen: () => Ledger) => Promise<void>,
): Promise<void> {
  await withDirectory(async (directory) => {
    const open = (): Ledger => openLedger(`${directory}/relayer.db`, { clock });
    let ledger = open();
    try {
      await work(ledger, () => {
        ledger.close();
        return ledger = open();
      });
    } finally {
      ledger.close();
    }
  });
}

const WRITER = new URL("./ledger_writer.ts", import.meta.url).pathname;

/** A program that writes to a ledger file until it is killed, from a number on; `flags` come behind its permissions. */
export function writerCommand(
  path: string,
  { first = 1, flags = ["--allow-write"] }: {
    readonly first?: number;
    readonly flags?: readonly string[];
  } = {},
): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-read", "--allow-sys=uid", ...flags, WRITER, path, `${first}`],
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** What such a program says that may not write to the file. */
export async function refusalOfWriter(...command: Parameters<typeof writerCommand>): Promise<string> {
  const { success, stderr } = await writerCommand(...command).output();
  if (success) throw new Error("It wrote to the file");
  return new TextDecoder().decode(stderr);
}
