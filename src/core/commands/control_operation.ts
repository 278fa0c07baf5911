/**
 * Operations that commands ask of a running program, and what goes over its socket: a request and an answer, each one
 * line of JSON. Both programs have their own operations; this is what those have in common.
 */
import * as z from "zod";
import { IdentifierError, parseStateMachine } from "../ismp/state_machine.ts";
import { type Log, type LogLevel, logLevels } from "../telemetry/log.ts";

/**
 * What an operation needs where nothing runs. `read`: the database, read-only. `write`: the database. `running`: it is
 * about the running program and has no meaning without. `chains`: connections to the chains, and the database if there
 * is one.
 */
export type OperationNeed = "read" | "write" | "running" | "chains";

/** An operation with the shapes of what goes over the socket. */
export interface ControlOperation<Context, Input, Output> {
  readonly name: string;
  readonly needs: OperationNeed;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** @throws {OperationRefusal} when it cannot be done, with a text for the operator. */
  readonly run: (context: Context, input: Input, signal: AbortSignal) => Promise<Output> | Output;
}

/** An operation by its name, whatever its shapes are. */
export interface NamedOperation<Context> {
  readonly name: string;
  readonly needs: OperationNeed;
  /** Checks the input and runs it. */
  readonly answer: (context: Context, input: unknown, signal: AbortSignal) => Promise<unknown>;
}

/** The operation cannot be done; the message says why and what helps. */
export class OperationRefusal extends Error {
  override readonly name = "OperationRefusal";
  readonly code = "refused";
}

/** Hides the shapes of an operation. */
export function toNamedOperation<Context, Input, Output>(
  operation: ControlOperation<Context, Input, Output>,
): NamedOperation<Context> {
  const { name, needs, input, run } = operation;
  return {
    name,
    needs,
    answer: async (context, given, signal) => {
      const parsed = input.safeParse(given);
      if (!parsed.success) throw new OperationRefusal(`The request does not fit: ${parsed.error.message}`);
      return await run(context, parsed.data, signal);
    },
  };
}

/** Request, as one line of JSON. */
const requestShape = z.object({ operation: z.string().max(100), input: z.unknown() });

/** Answer, as one line of JSON: the output, or a text for the operator. */
const answerShape = z.union([
  z.object({ ok: z.literal(true), output: z.unknown() }),
  z.object({ ok: z.literal(false), text: z.string() }),
]);

/** Server of requests. */
export interface RequestServer<Context> {
  readonly operations: readonly NamedOperation<Context>[];
  readonly context: Context & { readonly log: Log };
  /** True for faults whose message is for the operator, besides refusals. */
  readonly isExpected?: (error: unknown) => boolean;
}

/** Answers one request line; whatever is wrong with it becomes a text. */
export async function answerRequest<Context>(
  server: RequestServer<Context>,
  line: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    return JSON.stringify({ ok: true, output: await runRequest(server, line, signal) });
  } catch (error) {
    return JSON.stringify({ ok: false, text: explain(server, error) });
  }
}

async function runRequest<Context>(
  { operations, context }: RequestServer<Context>,
  line: string,
  signal: AbortSignal,
): Promise<unknown> {
  const request = requestShape.safeParse(parseJson(line));
  if (!request.success) throw new OperationRefusal("The request is not one line of JSON of the known form.");
  const { operation: name, input } = request.data;
  const operation = operations.find((each) => each.name === name);
  if (operation === undefined) {
    throw new OperationRefusal(
      `The running relayer does not know "${name}": it is another version of this program. Restart it.`,
    );
  }
  const level = operation.needs === "read" ? "debug" : "info";
  context.log[level]("operator_request", { operation: name, input });
  return await operation.answer(context, input, signal);
}

function explain<Context>({ context, isExpected }: RequestServer<Context>, error: unknown): string {
  if (error instanceof OperationRefusal) return error.message;
  if (error instanceof Error && isExpected?.(error) === true) return error.message;
  context.log.warn("control_request_failed", { error });
  return `It failed: ${error instanceof Error ? error.message : String(error)}`;
}

/** Writes a request line. */
export function toRequestLine(operation: { readonly name: string }, input: unknown): string {
  return JSON.stringify({ operation: operation.name, input });
}

/** Reads the answer to an operation. @throws {OperationRefusal} */
export function readAnswerLine<Output>(
  operation: { readonly output: z.ZodType<Output> },
  line: string,
): Output {
  const parsed = answerShape.safeParse(parseJson(line));
  if (!parsed.success) throw new OperationRefusal("The running relayer gave an answer of an unknown form.");
  if (!parsed.data.ok) throw new OperationRefusal(parsed.data.text);
  const output = operation.output.safeParse(parsed.data.output);
  if (output.success) return output.data;
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

/** A state machine as text. */
export const stateMachineShape = z.string().transform((text, context) => {
  try {
    return parseStateMachine(text);
  } catch (error) {
    if (!(error instanceof IdentifierError)) throw error;
    context.addIssue({ code: "custom", message: "no state machine" });
    return z.NEVER;
  }
});

/** What changes the level of a program's log. */
export interface LevelSetter {
  /** Changes the minimum level that is logged, until the program ends; absent where it cannot be changed. */
  readonly setLogLevel?: ((level: LogLevel) => void) | undefined;
}

const shape = z.strictObject({ level: z.enum(logLevels) });

type Level = z.output<typeof shape>;

/** The operation. */
export const logLevelOperation: ControlOperation<LevelSetter, Level, Level> = {
  name: "log-level",
  needs: "running",
  input: shape,
  output: shape,
  run: ({ setLogLevel }, { level }) => {
    if (setLogLevel === undefined) throw new OperationRefusal("The level of this log cannot be changed.");
    setLogLevel(level);
    return { level };
  },
};
