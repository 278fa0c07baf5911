/** What tests of the ledger need: its parts, and files that vanish with the test. */
export * from "../../src/messaging/ledger/ledger.ts";
export { openLedger } from "../../src/messaging/ledger/open.ts";
export { openMemoryLedger } from "./memory_ledger.ts";

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
