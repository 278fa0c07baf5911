/** File access permission, which the programs need at start-up and then drop permanently. */
import type { Log } from "../telemetry/log.ts";

/**
 * Drops the whole process's permission to write files; the right to read stays, since configuration and keys may be
 * read again. Open files stay usable: the database keeps working with its log file, the control socket takes
 * connections, and endpoints remain reachable. Called after database and socket were opened: from then on a defect in a
 * library or a malicious answer of a node cannot change any file.
 */
export function dropWriteAccess(log: Pick<Log, "debug">): void {
  Deno.permissions.revokeSync({ name: "write" });
  log.debug("file_access_dropped");
}
