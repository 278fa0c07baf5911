/** Faults of the database file, as data. */
import type { Reaction } from "../../core/rpc/call.ts";

/** Codes of the ledger's faults. */
export type LedgerFaultCode =
  /** Another process works on the file, or had it locked when it was opened. */
  | "locked"
  /** Another process has had the open file locked for some seconds. */
  | "busy"
  /** No space left on the device. */
  | "full"
  /** The file or file system cannot be written. */
  | "readonly"
  /** Not a database, or its content is damaged. */
  | "corrupt"
  /** The operating system reported a read or write error. */
  | "io"
  /** The directory of the file does not exist. */
  | "no_directory"
  /** The path names a directory or device. */
  | "not_a_file"
  /** This user may not read or write the file or its directory. */
  | "denied"
  /** Written by a newer version of the program. */
  | "newer_schema"
  /** Holds the tables of another relayer program. */
  | "reference_schema"
  /** Some other application's database. */
  | "foreign_schema"
  /** Belongs to another hub. */
  | "wrong_hub";

/** Faults that may be temporary, so that the program need not stop. */
const passing: ReadonlySet<LedgerFaultCode> = new Set(["busy", "full", "io", "readonly"]);

/** Details of a {@link LedgerFault}. */
export interface LedgerFaultDetails {
  /** The database file. */
  readonly path: string;
  /** What happened, and what to do in the last sentence; without a full stop at the end. */
  readonly text: string;
  readonly cause?: unknown;
}

/**
 * The database cannot be opened or written. Sending stops at once: what is not recorded must not be sent
 * (docs/protocol/messaging.md section 19.2). `retry`: writing may work again later; `stop`: end the program.
 */
export class LedgerFault extends Error {
  override readonly name = "LedgerFault";
  readonly reaction: Reaction;
  /** The database file. */
  readonly path: string;
  /** What happened to which file: a clause. */
  readonly found: string;
  /** What to do: a sentence. */
  readonly advice: string;
  constructor(
    readonly code: LedgerFaultCode,
    { path, text, cause }: LedgerFaultDetails,
  ) {
    super(`Database ${path}: ${text}`, cause === undefined ? undefined : { cause });
    this.path = path;
    const at = this.message.lastIndexOf(". ");
    this.found = at < 0 ? this.message : this.message.slice(0, at);
    this.advice = at < 0 ? "Check the path of --db and its permissions." : `${this.message.slice(at + 2)}.`;
    this.reaction = passing.has(code) ? "retry" : "stop";
  }
}
