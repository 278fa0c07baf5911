/** File access permission, which the programs need at start-up and then drop permanently. */
import type { Log } from "../telemetry/log.ts";

/**
 * Drops the whole process's permission to read and write files. Open files stay usable: the database keeps working
 * with its log file, and endpoints remain reachable. Called after the configuration was read and the database opened:
 * from then on a defect in a library or a malicious answer of a node cannot reach any file.
 */
export function dropFileAccess(log: Pick<Log, "debug">): void {
  for (const name of ["read", "write"] as const) Deno.permissions.revokeSync({ name });
  log.debug("file_access_dropped");
}
