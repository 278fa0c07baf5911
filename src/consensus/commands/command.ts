/** What the consensus relayer hands to its commands. */
import type { ControlRequest } from "../../core/runtime/control_client.ts";
import type { RunDeps } from "../session.ts";

/** One run of a command. */
export interface ConsensusRun {
  readonly deps: RunDeps;
  /** Prints a text for the operator, a line break after it. */
  readonly print: (text: string) => void;
  /** As `print`, to standard error. */
  readonly printError: (text: string) => void;
  /** Sends a line to the running relayer; `undefined`: none is named, or none runs. Throws a `ControlFault`. */
  readonly askRunning: (request: Omit<ControlRequest, "path">) => Promise<string | undefined>;
  /** True: standard output is a terminal that shows colours. */
  readonly hasColour: boolean;
  /** True with `--log-format=json`: results are JSON as well. */
  readonly isJson: boolean;
  /** Aborted when the program is asked to stop. */
  readonly signal: AbortSignal;
}
