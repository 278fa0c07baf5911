/** What the consensus relayer hands to its commands, and what their operations work with. */
import { CommandRefusal } from "../../core/commands/command.ts";
import type { LevelSetter, OperationNeed, OperationRun } from "../../core/commands/operation.ts";
import type { ExitCode } from "../../core/runtime/exit_codes.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { provableSections } from "../config/schema.ts";
import { ProverTurns } from "../poll_loop.ts";
import { type RunDeps, runSession } from "../session.ts";
import type { ConsensusStatus } from "../status/consensus_status.ts";
import type { Proving } from "./prove_now.ts";

/** One run of a command; its signal is aborted when the program is asked to stop. */
export interface ConsensusRun extends OperationRun<ConsensusControl> {
  readonly deps: RunDeps;
}

/** Context of every operation. */
export interface ConsensusControl extends LevelSetter {
  readonly log: Log;
  readonly proving: Proving;
  /** What the status page shows; `undefined`: nobody watches. */
  readonly status: () => ConsensusStatus | undefined;
}

/** Works in this process with connections of its own. @throws {CommandRefusal} where a running relayer is needed. */
export function workHere(
  deps: RunDeps,
  needs: OperationNeed,
  work: (context: ConsensusControl) => Promise<ExitCode>,
  signal: AbortSignal,
): Promise<ExitCode> {
  if (needs !== "chains") {
    throw new CommandRefusal("No relayer answers: name the --socket or --cache that it was started with.");
  }
  const { clock, log, config } = deps;
  const own = { turns: new ProverTurns(), sections: provableSections(config) };
  return runSession(
    deps,
    (connections) => work({ log, proving: { ...connections, ...own, clock, log }, status: () => undefined }),
    signal,
  );
}
