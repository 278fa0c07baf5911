/** What the consensus relayer hands to its commands. */
import type { Asking } from "../../core/commands/ask_running.ts";
import type { RunDeps } from "../session.ts";

/** One run of a command; its signal is aborted when the program is asked to stop. */
export interface ConsensusRun extends Asking {
  readonly deps: RunDeps;
  /** Prints a text for the operator, a line break after it. */
  readonly print: (text: string) => void;
  /** True: standard output is a terminal that shows colours. */
  readonly hasColour: boolean;
  /** True with `--log-format=json`: results are JSON as well. */
  readonly isJson: boolean;
}
