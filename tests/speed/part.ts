/** What every part of the bench is given, and what it returns. */
import type { Figure } from "./report.ts";

/** Where and with what a part measures. */
export interface BenchDeps {
  /** The compiled messaging relayer. */
  readonly executable: string;
  /** The compiled consensus relayer. */
  readonly consensusExecutable: string;
  /** Folder for files, of this part alone; it exists, and is deleted afterwards. */
  readonly folder: string;
  /** Prints a line of progress; lines that begin with a space are details. */
  readonly say: (line: string) => void;
}

/** One part: measures on a devnet of its own. */
export type Part = (deps: BenchDeps) => Promise<readonly Figure[]>;
