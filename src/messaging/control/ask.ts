/**
 * The commands' side: asks the running relayer, or runs the operation in this process when none runs. A relayer that
 * runs without a socket keeps its database locked, so that nothing is ever done twice.
 */
import { ControlFault } from "../../core/runtime/control_client.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import type { CommandDeps } from "../commands/command.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type ProgramRun, withLedger } from "../session.ts";
import { type Operation, type OperationContext, OperationRefusal } from "./operation.ts";
import { answerShape } from "./protocol.ts";

/** Time in which the running relayer answers an operation on its database, ms. */
const ANSWER_WITHIN_MS = 60_000;

/** A question to whoever has the database. */
export interface Question<Input, Output> {
  readonly operation: Operation<Input, Output>;
  readonly input: unknown;
  /** Prints the answer. */
  readonly show: (output: Output) => void;
}

/** Asks and prints the answer. @returns 0, or 1 when it was refused. */
export async function ask<Input, Output>(
  run: ProgramRun<CommandDeps>,
  question: Question<Input, Output>,
): Promise<ExitCode> {
  try {
    const found = await askRunning(run, question);
    if (found !== undefined) {
      question.show(found.output);
      return exitCodes.ok;
    }
    return await runHere(run, question);
  } catch (error) {
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
  { operation, input }: Pick<Question<Input, Output>, "operation" | "input">,
): Promise<{ readonly output: Output } | undefined> {
  const line = JSON.stringify({ operation: operation.name, input });
  const answer = await deps.askRunning({ line, afterMs: ANSWER_WITHIN_MS, signal });
  if (answer === undefined) return undefined;
  const parsed = answerShape.safeParse(parseJson(answer));
  if (!parsed.success) throw new OperationRefusal("The running relayer gave an answer of an unknown form.");
  if (!parsed.data.ok) throw new OperationRefusal(parsed.data.text);
  const output = operation.output.safeParse(parsed.data.output);
  if (output.success) return { output: output.data };
  throw new OperationRefusal(
    "The running relayer gave an answer of an unknown form: it is another version of this program. Restart it.",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Runs the operation on the database itself. */
function runHere<Input, Output>(
  run: ProgramRun<CommandDeps>,
  { operation, input, show }: Question<Input, Output>,
): Promise<ExitCode> {
  const { deps, config, signal } = run;
  const openLedger = operation.needs === "read" ? deps.openReadOnly : deps.openLedger;
  return withLedger({ ...run, deps: { ...deps, openLedger } }, async (ledger) => {
    show(await operation.run(contextOf(deps, { ledger, config }), operation.input.parse(input), signal));
    return exitCodes.ok;
  });
}

function contextOf(
  { clock, log }: CommandDeps,
  parts: { readonly ledger: Ledger; readonly config: OperationContext["config"] },
): OperationContext {
  return { ...parts, clock, log, isRunning: false, wake: () => {} };
}
