/** What tests of the ledger need: its parts, and files that vanish with the test. */
export * from "../../src/messaging/ledger/ledger.ts";
export { openLedger } from "../../src/messaging/ledger/open.ts";
export type { NewSubmission } from "../../src/messaging/ledger/submissions.ts";
export { openMemoryLedger } from "./memory_ledger.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import type { Ledger } from "../../src/messaging/ledger/ledger.ts";
import { openLedger } from "../../src/messaging/ledger/open.ts";
import { FakeClock } from "./fake_clock.ts";
import { openMemoryLedger } from "./memory_ledger.ts";

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
export function onLedger(work: (ledger: Ledger, clock: FakeClock) => void): () => void {
  return () => {
    const clock = new FakeClock(1_000_000);
    const ledger = openMemoryLedger({ clock });
    try {
      work(ledger, clock);
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
