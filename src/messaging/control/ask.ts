/**
 * The commands' side: asks the running relayer, or runs the operation in this process when none runs. A relayer that
 * runs without a socket keeps its database locked, so that nothing is ever done twice.
 */
import { askOrElse, type Question as RunningQuestion } from "../../core/commands/ask_running.ts";
import { OperationRefusal } from "../../core/commands/control_operation.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import type { CommandDeps } from "../commands/command.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type ProgramRun, runSession, withLedger } from "../session.ts";
import { readStatus } from "../status/build_status.ts";
import type { Operation, OperationContext, Relaying } from "./operation.ts";
import { planRelaying } from "./own_relaying.ts";

/** A question to whoever has the database. */
interface Question<Input, Output> extends RunningQuestion<Output> {
  readonly operation: Operation<Input, Output>;
}

/** Asks and prints the answer. @returns 0, what the question says, or 1 when it was refused. */
export function ask<Input, Output>(
  run: ProgramRun<CommandDeps>,
  question: Question<Input, Output>,
): Promise<ExitCode> {
  const { deps, signal } = run;
  return askOrElse({ ...deps, signal }, question, () => runHere(run, question));
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
      return runSession(run, (session) => work(session.ledger, planRelaying(run, session)));
  }
}
