/**
 * Operations: commands that work with a running program or with its database. A definition holds everything of one, its
 * arguments, its work and its text, and both sides use it: the command, and the running program that is asked through
 * its socket. Request and answer are one line of JSON each. Both come from the same build, which the request names, so
 * that the compiler's types are their shapes.
 */
import type { ProgramStatus } from "../checks/program_status.ts";
import type { ProgramView } from "../checks/program_view.ts";
import { type Log, type LogLevel, logLevels } from "../telemetry/log.ts";
import type { ChainNames } from "../config/chain_names.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ControlRequest, ControlSocket } from "../runtime/control_socket.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { versionText } from "../runtime/version.ts";
import type { Worker } from "../runtime/worker.ts";
import { type AnyRun, type Command, CommandRefusal, type CommandSyntax, isFault } from "./command.ts";
import { Argument } from "commander";

/**
 * What an operation works with. `read`: the database, read-only beside a running program. `status`: the running program,
 * or the database where none runs; it has `--watch`, and names chains by itself. `write`: the database, by the running
 * program while one has it. `chains`: connections to the chains, those of the running program if there is one, which may
 * take any time. `running`: it has no meaning without a running program.
 */
export type OperationNeed = "read" | "status" | "write" | "chains" | "running";

/** Arguments, work and text of an operation. */
export interface Operation<Context, Given extends readonly unknown[], Output> extends CommandSyntax {
  readonly needs: OperationNeed;
  /** Does the work; the output is plain data. @throws {CommandRefusal} when it cannot be done. */
  readonly work: (context: Context, given: Given, signal: AbortSignal) => Promise<Output> | Output;
  /** Formats the output for people; an empty text is not printed. */
  readonly show: (output: Output, nowMs: number) => string | Promise<string>;
  /** Exit status; 0 when absent. */
  readonly exitCode?: (output: Output) => ExitCode;
}

/** The command of an operation, and what the running program needs of it. */
export type OperationCommand<Run extends AnyRun, Context> =
  & Command<Run>
  & Pick<Operation<Context, never, unknown>, "needs" | "work">;

/** One run of an operation. */
export interface OperationRun<Context> {
  /** Sends a line to the running program; `undefined`: none runs. Throws a `ControlFault`. */
  readonly askRunning: (request: Omit<ControlRequest, "path">) => Promise<string | undefined>;
  /** Works in this process with what is needed. Throws a {@link CommandRefusal} where that cannot be had. */
  readonly here: (
    needs: OperationNeed,
    work: (context: Context) => Promise<ExitCode>,
  ) => Promise<ExitCode>;
  /** Prints a text and a line break to standard output. */
  readonly print: (text: string) => void;
  /** As `print`, to standard error. */
  readonly printError: (text: string) => void;
  /** True with `--log-format=json`: results are JSON as well. */
  readonly isJson: boolean;
  /** True: standard output is a terminal that shows colours. */
  readonly hasColour: boolean;
  readonly clock: Clock;
  /** Names of chains, for texts. */
  readonly names: Pick<ChainNames, "short" | "full">;
  readonly signal: AbortSignal;
}

/** Options that operations have beside their own. */
interface PrintOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** Pause of `--watch`, ms. */
const WATCH_EVERY_MS = 2_000;

/** Moves the cursor of a terminal to the top of an empty screen. */
const CLEAR_SCREEN = "\x1b[2J\x1b[H";

/** Defines the command of an operation, which has `--json` beside its own options. */
export function defineOperation<Context, Given extends readonly unknown[], Output>(
  operation: Operation<Context, Given, Output>,
): OperationCommand<OperationRun<Context>, Context> {
  return {
    ...operation,
    addOptions: (parser) => {
      operation.addOptions?.(parser);
      parser.option("--json", "print JSON");
      if (operation.needs === "status") parser.option("--watch", "print it again every two seconds");
    },
    run: async (run: OperationRun<Context>, ...all: readonly unknown[]) => {
      const given = all.slice(0, -1); // without the parser
      const { json = false, watch = false } = given.at(-1) as PrintOptions;
      const asked = { ...run, isJson: json || run.isJson };
      const runOnce = (): Promise<ExitCode> => runOperation(asked, operation, given as unknown as Given);
      let code = await runOnce();
      while (watch && code === exitCodes.ok && await isNextDue(run)) {
        if (run.hasColour) run.print(CLEAR_SCREEN);
        code = await runOnce();
      }
      return code;
    },
  };
}

/** Waits for the next print of `--watch`; false: the operator ends it. */
async function isNextDue({ clock, signal }: Pick<OperationRun<never>, "clock" | "signal">): Promise<boolean> {
  try {
    await clock.sleep(WATCH_EVERY_MS, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

/** The output with the operator's names of chains: it is plain data, as it comes from a running program. */
function nameChains<Output>(output: Output, names: OperationRun<never>["names"]): Output {
  return JSON.parse(
    JSON.stringify(output),
    (_, value: unknown) => typeof value === "string" ? names.short(value) : value,
  );
}

async function runOperation<Context, Given extends readonly unknown[], Output>(
  run: OperationRun<Context>,
  operation: Operation<Context, Given, Output>,
  given: Given,
): Promise<ExitCode> {
  const { work, needs } = operation;
  const show = async (output: Output, version = VERSION): Promise<ExitCode> => {
    const isForeign = version !== VERSION;
    if (isForeign) run.printError(`${explainVersions(version, VERSION)} What it answers is printed as JSON.`);
    const named = needs === "status" ? output : nameChains(output, run.names);
    const text = run.isJson || isForeign
      ? JSON.stringify(output)
      : await operation.show(named, run.clock.now());
    if (text !== "") run.print(text);
    return operation.exitCode?.(output) ?? exitCodes.ok;
  };
  try {
    const answer = needs === "read" ? undefined : await ask<Output>(run, operation, given);
    if (answer !== undefined) return await show(answer.output, answer.version);
    return await run.here(needs, async (context) => show(await work(context, given, run.signal)));
  } catch (error) {
    if (run.signal.aborted) return exitCodes.ok; // the program ends what nobody waits for
    throw error;
  }
}

/** What goes over the socket to a running program. */
interface Request {
  /** Version of the program that asks. */
  readonly version: string;
  readonly operation: string;
  readonly given: never;
}

/** What comes back: the output, or a text for the operator. */
type Answer<Output> = Answered<Output> | { readonly refusal: string };

/** The output of a running program of some version. */
interface Answered<Output> extends Pick<Request, "version"> {
  readonly output: Output;
}

/** Version by which both sides of the socket know that they are the same program. */
const VERSION = versionText("").trim();

function explainVersions(running: string, command: string): string {
  return `The running relayer is ${running}, this command ${command}: restart the relayer, so that both are the new one.`;
}

/** Time in which a running program answers what takes no time, ms. */
const ANSWER_WITHIN_MS = 60_000;

/** Asks the running program; `undefined`: none runs. @throws {CommandRefusal | ControlFault} */
async function ask<Output>(
  { askRunning, signal }: Pick<OperationRun<unknown>, "askRunning" | "signal">,
  { name, needs }: Pick<Operation<unknown, never, Output>, "name" | "needs">,
  given: readonly unknown[],
): Promise<Answered<Output> | undefined> {
  const afterMs = needs === "chains" ? undefined : ANSWER_WITHIN_MS;
  const text = await askRunning({ line: toRequestLine(name, given), afterMs, signal });
  if (text === undefined) return undefined;
  const answer: Answer<Output> = JSON.parse(text);
  if ("refusal" in answer) throw new CommandRefusal(answer.refusal);
  return answer;
}

/** Writes a request. */
export function toRequestLine(operation: string, given: readonly unknown[]): string {
  return JSON.stringify({ version: VERSION, operation, given });
}

/** Creates the worker of a running program that answers at its socket. */
export function controlWorker<Context>(server: RequestServer<Context>, socket: ControlSocket): Worker {
  return {
    name: "control",
    run: (signal) => socket.serve((line, gone) => answerRequest(server, line, gone), signal),
  };
}

/** What answers requests. */
export interface RequestServer<Context> {
  readonly commands: readonly OperationCommand<never, Context>[];
  readonly context: Context & { readonly log: Log };
}

/** Answers one request line; whatever is wrong with it becomes a text. */
export async function answerRequest<Context>(
  { commands, context }: RequestServer<Context>,
  line: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    const { version, operation: name, given } = readRequest(line);
    const operation = commands.find((command) => command.name === name);
    // Its status is of use in any version.
    if (version !== VERSION && operation?.needs !== "status") {
      throw new CommandRefusal(explainVersions(VERSION, version));
    }
    if (operation === undefined) throw new CommandRefusal(`The running relayer has no operation ${name}.`);
    const level = operation.needs === "status" ? "debug" : "info";
    context.log[level]("operator_request", { operation: name, input: given });
    return JSON.stringify({ version: VERSION, output: await operation.work(context, given, signal) });
  } catch (error) {
    if (isFault(error)) return JSON.stringify({ refusal: error.message });
    context.log.warn("control_request_failed", { error });
    return JSON.stringify({
      refusal: `It failed: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
}

/** @throws {CommandRefusal} */
function readRequest(line: string): Request {
  try {
    // JSON has null for an argument that is left out.
    const request: Request | undefined = JSON.parse(line, (_, value: unknown) => value ?? undefined);
    if (typeof request?.operation === "string") return request;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new CommandRefusal("The request is not one line of JSON of the known form.");
}

/** What changes the level of a program's log. */
export interface LevelSetter {
  /** Changes the minimum level that is logged, until the program ends; absent where it cannot be changed. */
  readonly setLogLevel?: ((level: LogLevel) => void) | undefined;
}

/** `log-level` of both programs. */
export const logLevelCommand = defineOperation({
  name: "log-level",
  description: "Changes the minimum level that the running relayer logs, until it ends.",
  afterHelp: `At the next start --log-level counts again.`,
  exitStatus: { 0: "done", 1: "no relayer runs" },
  needs: "running",
  addOptions: (parser) =>
    void parser.addArgument(
      new Argument("<level>", "minimum level that is logged").choices([...logLevels]),
    ),
  work: ({ setLogLevel }: LevelSetter, [level]: readonly [LogLevel]) => {
    if (setLogLevel === undefined) throw new CommandRefusal("The level of this log cannot be changed.");
    setLogLevel(level);
    return { level };
  },
  show: ({ level }) => `The relayer logs from level ${level} on.`,
});

/** What `status` works with. */
interface Watched<Status> {
  /** The snapshot; `undefined`: nobody watches. */
  readonly status: () => Status | undefined;
}

/** In what `status` differs between the programs. */
interface StatusCommandOptions<Status extends ProgramStatus>
  extends Pick<CommandSyntax, "examples" | "afterHelp" | "exitStatus"> {
  readonly loadView: () => Promise<ProgramView<Status>>;
}

/** Defines `status`: what the status page shows, as text. */
export const defineStatus = <Context extends Watched<Status>, Status extends ProgramStatus>(
  { loadView, ...help }: StatusCommandOptions<Status>,
): OperationCommand<OperationRun<Context>, Context> =>
  defineOperation({
    ...help,
    name: "status",
    description: "Shows what the relayer does now, and what is in its way.",
    needs: "status",
    work: ({ status }: Context) => {
      const found = status();
      if (found === undefined) throw new CommandRefusal("The running relayer has no status.");
      return found;
    },
    show: async (found) =>
      (await import("../checks/program_view.ts")).formatProgramStatus(found, await loadView()),
  });
