/**
 * The commands' side: asks the running relayer, or runs the operation in this process when none runs. A relayer that
 * runs without a socket keeps its database locked, so that nothing is ever done twice.
 */
import { OperationRefusal, readAnswerLine, toRequestLine } from "../../core/commands/control_operation.ts";
import { ControlFault } from "../../core/runtime/control_client.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import type { CommandDeps } from "../commands/command.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type ProgramRun, runSession, withLedger } from "../session.ts";
import { readStatus } from "../status/build_status.ts";
import type { Operation, OperationContext, Relaying } from "./operation.ts";
import { withRelaying } from "./own_relaying.ts";

/** Time in which the running relayer answers an operation on its database, ms. */
const ANSWER_WITHIN_MS = 60_000;

/** A question to whoever has the database. */
export interface Question<Input, Output> {
  readonly operation: Operation<Input, Output>;
  readonly input: unknown;
  /** Prints the answer; returns the exit status unless it is 0. */
  readonly show: (output: Output) => ExitCode | void;
  /** Time for the running relayer's answer, ms; no limit with `undefined`, a minute when absent. */
  readonly afterMs?: number | undefined;
}

/** Asks and prints the answer. @returns 0, or 1 when it was refused. */
export function ask<Input, Output>(
  run: ProgramRun<CommandDeps>,
  question: Question<Input, Output>,
): Promise<ExitCode> {
  return askOrElse(run, question, () => runHere(run, question));
}

/** As {@link ask}, with something else to do when no relayer runs. */
export async function askOrElse<Input, Output>(
  run: ProgramRun<CommandDeps>,
  question: Question<Input, Output>,
  otherwise: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    const found = await askRunning(run, question);
    if (found !== undefined) return question.show(found.output) ?? exitCodes.ok;
    return await otherwise();
  } catch (error) {
    if (run.signal.aborted) return exitCodes.ok; // the relayer ends what nobody waits for
    if (!(error instanceof OperationRefusal || error instanceof ControlFault)) throw error;
    run.deps.printError(error.message);
    return exitCodes.failed;
  }
}

/**
 * Asks the running relayer; `undefined`: none runs.
 * @throws {OperationRefusal | ControlFault}
 */
export async function askRunning<Input, Output>(
  { deps, signal }: ProgramRun<CommandDeps>,
  { operation, input, ...times }: Omit<Question<Input, Output>, "show">,
): Promise<{ readonly output: Output } | undefined> {
  const line = toRequestLine(operation, input);
  const answer = await deps.askRunning({ line, afterMs: ANSWER_WITHIN_MS, ...times, signal });
  return answer === undefined ? undefined : { output: readAnswerLine(operation, answer) };
}

/** Runs the operation in this process, on the database itself and, where it needs them, with connections of its own. */
function runHere<Input, Output>(
  run: ProgramRun<CommandDeps>,
  { operation, input, show }: Question<Input, Output>,
): Promise<ExitCode> {
  const { deps, config, signal } = run;
  const work = async (ledger: Ledger, relaying?: Relaying): Promise<ExitCode> => {
    const context: OperationContext = {
      ...deps,
      ledger,
      config,
      isRunning: false,
      wake: () => {},
      status: () => readStatus({ ledger, config, clock: deps.clock }),
      relaying: () => {
        if (relaying === undefined) throw new Error(`${operation.name} has no connections`);
        return relaying;
      },
    };
    return show(await operation.run(context, operation.input.parse(input), signal)) ?? exitCodes.ok;
  };
  switch (operation.needs) {
    case "running":
      throw new OperationRefusal("No relayer runs on this database.");
    case "read":
      return withLedger(
        { ...run, deps: { ...deps, openLedger: deps.openReadOnly } },
        (ledger) => work(ledger),
      );
    case "write":
      return withLedger(run, (ledger) => work(ledger));
    case "chains":
      return runSession(
        run,
        (session) => withRelaying(run, session, (relaying) => work(session.ledger, relaying)),
      );
  }
}
