/** The right to touch files, which the programs need at their start and then give up for good. */
import type { Log } from "../telemetry/log.ts";

/**
 * Takes the right to read and write files away from the whole process. What is open stays usable: the database goes on
 * working with its log file, and endpoints are reached as before. For after the configuration was read and the
 * database was opened: from then on a defect in a library or an answer of a node cannot reach any file.
 */
export function dropFileAccess(log: Pick<Log, "debug">): void {
  for (const name of ["read", "write"] as const) Deno.permissions.revokeSync({ name });
  log.debug("file_access_dropped");
}
