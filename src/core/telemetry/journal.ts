/** Whether the system's journal reads what the program writes. */
import { fstatSync } from "node:fs";

/**
 * True when a descriptor is the stream that systemd has connected to its journal. Source: systemd.exec(5),
 * `$JOURNAL_STREAM`: device and inode number of the stream, since the variable is inherited by processes whose output
 * goes elsewhere.
 * @param stream value of the variable; `undefined`: not set
 */
export function isJournalStream(descriptor: 1 | 2, stream: string | undefined): boolean {
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor);
    return stream === `${dev}:${ino}`;
  } catch {
    return false; // a closed descriptor
  }
}
