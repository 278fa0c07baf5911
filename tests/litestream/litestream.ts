/** Litestream, built by the Go toolchain from what the Go module proxy has, replicating databases into folders. */
import { waitUntil } from "../../devnet/waiting.ts";
import { installTool } from "../kubernetes/go_tools.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import type { Replication } from "../scenario/support/moments.ts";

/** The newest release. */
export const LITESTREAM_VERSION = "v0.5.18";

/** Time until a snapshot of a new database is there, ms; it takes one or two seconds. */
const SNAPSHOT_WITHIN_MS = 60_000;

/** The path of the executable, built where that was not done before (two minutes). @throws {Error} without Go. */
export function buildLitestream(): Promise<string> {
  return installTool("litestream", `github.com/benbjohnson/litestream/cmd/litestream@${LITESTREAM_VERSION}`);
}

/** Replicates a database until it is cut off, and restores it. */
export async function replicateWith(
  executable: string,
  dbPath: string,
  folder: string,
): Promise<Replication> {
  const replica = `file://${folder}`;
  const child = new Deno.Command(executable, {
    args: ["replicate", dbPath, replica],
    stdout: "null",
    stderr: "null",
  }).spawn();
  await waitUntil("Litestream has a snapshot", () => hasSnapshot(folder), { deadlineMs: SNAPSHOT_WITHIN_MS });
  return {
    cut: async () => {
      child.kill("SIGKILL");
      await child.status;
    },
    restore: async (path) => {
      const { code, stderr } = await runOnce(executable, [
        "restore",
        "-integrity-check",
        "full",
        "-o",
        path,
        replica,
      ]);
      if (code !== 0) throw new Error(`Litestream cannot restore: ${stderr}`);
    },
  };
}

/** Snapshots are files of the highest level. */
async function hasSnapshot(folder: string): Promise<boolean> {
  try {
    return (await Array.fromAsync(Deno.readDir(`${folder}/ltx/9`))).length > 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
