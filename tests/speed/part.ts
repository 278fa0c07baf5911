/** What every part of the bench is handed, and what it gives. */
import type { Measure } from "./report.ts";

/** Surroundings of a part. */
export interface BenchDeps {
  /** The compiled messaging relayer. */
  readonly executable: string;
  /** The compiled consensus relayer. */
  readonly consensusExecutable: string;
  /** Folder for files; one per part, deleted afterwards. */
  readonly folder: string;
  /** Less is measured where a part takes long. */
  readonly isSmall: boolean;
  /** Figures and plots go into the documents. */
  readonly writesPlots: boolean;
  /** Tells the person at the terminal what happens. */
  readonly say: (line: string) => void;
}

/** One part: measures on its own devnet. */
export type Part = (deps: BenchDeps) => Promise<readonly Measure[]>;
