/** The commands' side of the socket, in both programs: asks the running program, and prints its answer or its refusal. */
import { ControlFault, type ControlRequest } from "../runtime/control_client.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { OperationRefusal, readAnswerLine, toRequestLine } from "./control_operation.ts";
import type { z } from "zod";

/** Time in which a running program answers, ms, unless a question says otherwise. */
const ANSWER_WITHIN_MS = 60_000;

/** Ways of a command to the running program and to its operator. */
export interface Asking {
  /** Sends a line to the running program; `undefined`: none runs. Throws a `ControlFault`. */
  readonly askRunning: (request: Omit<ControlRequest, "path">) => Promise<string | undefined>;
  /** Prints a text and a line break to standard error. */
  readonly printError: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A question to the running program. */
export interface Question<Output> {
  readonly operation: { readonly name: string; readonly output: z.ZodType<Output> };
  readonly input: unknown;
  /** Prints the answer; returns the exit status unless it is 0. */
  readonly show: (output: Output) => ExitCode | void;
  /** Time for the answer, ms; no limit with `undefined`, a minute when absent. */
  readonly afterMs?: number | undefined;
}

/**
 * Asks and prints the answer, or does something else when nothing runs.
 * @returns the exit status: 0, what the question says, or 1 when it was refused.
 */
export async function askOrElse<Output>(
  asking: Asking,
  question: Question<Output>,
  otherwise: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    const found = await askRunning(asking, question);
    if (found !== undefined) return question.show(found.output) ?? exitCodes.ok;
    return await otherwise();
  } catch (error) {
    if (asking.signal.aborted) return exitCodes.ok; // the program ends what nobody waits for
    if (!(error instanceof OperationRefusal || error instanceof ControlFault)) throw error;
    asking.printError(error.message);
    return exitCodes.failed;
  }
}

/**
 * Asks the running program; `undefined`: none runs.
 * @throws {OperationRefusal | ControlFault}
 */
export async function askRunning<Output>(
  { askRunning: send, signal }: Pick<Asking, "askRunning" | "signal">,
  { operation, input, ...times }: Omit<Question<Output>, "show">,
): Promise<{ readonly output: Output } | undefined> {
  const line = toRequestLine(operation, input);
  const answer = await send({ line, afterMs: ANSWER_WITHIN_MS, ...times, signal });
  return answer === undefined ? undefined : { output: readAnswerLine(operation, answer) };
}
