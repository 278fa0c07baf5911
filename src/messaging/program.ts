/** From checked arguments to an exit status: configuration, log, signals, and the relayer itself. */
import type { MessagingConfig } from "../core/config/messaging_config.ts";
import { type ConfigReading, renderNote, renderProblem } from "../core/config/problem.ts";
import { readMessagingConfig } from "../core/config/read_messaging_config.ts";
import { openLedger } from "../core/ledger/open.ts";
import { platformFetch } from "../core/rpc/http.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { systemRandomness } from "../core/runtime/randomness.ts";
import { abortOnSignals, systemSignals } from "../core/runtime/signals.ts";
import { systemClock } from "../core/runtime/system_clock.ts";
import type { Log } from "../core/telemetry/log.ts";
import { openLog } from "../core/telemetry/open_log.ts";
import { openOutput } from "../core/telemetry/output.ts";
import type { ProgramCommand, RunArguments } from "./arguments.ts";
import { accumulateFees } from "./commands/accumulate_fees.ts";
import { connectChains } from "./connect.ts";
import { runRelayer } from "./run.ts";
import type { RunDeps } from "./session.ts";

/** What only the entry point may touch. */
export interface World {
  readonly readFile: (path: string) => Uint8Array;
  readonly writeError: (text: string) => void;
  readonly exit: (code: ExitCode) => void;
  readonly isColourWelcome: boolean;
}

/** Runs the program until it is stopped, or a command until it is done. */
export async function runProgram(
  { arguments: args, command }: { readonly arguments: RunArguments; readonly command: ProgramCommand },
  world: World,
): Promise<ExitCode> {
  const reading = readMessagingConfig({ readFile: world.readFile }, args.config);
  if (reading.config === undefined) {
    world.writeError(describeProblems(args.config, reading));
    return exitCodes.failed;
  }
  const { config } = reading;
  const output = openOutput();
  const log = openLog({
    format: args.logFormat,
    level: args.logLevel,
    write: (line) => output.write(line),
    flush: () => output.flush(),
    clock: systemClock,
    hasColour: output.isTerminal && world.isColourWelcome,
    secrets: secretsOf(config),
  });
  tellReading(log, args.config, reading);
  const watch = abortOnSignals(systemSignals, {
    exit: (code) => {
      output.flush();
      world.exit(code);
    },
    onFirst: (name) => log.info("Stopping: work under way is finished or journalled", { signal: name }),
  });
  try {
    const deps = { clock: systemClock, random: systemRandomness, log };
    const runDeps: RunDeps = {
      ...deps,
      openLedger: () => openLedger(args.db, { clock: systemClock, log }),
      connect: (checked) => connectChains(deps, checked),
      fetch: platformFetch,
    };
    if (command.kind === "relay") return await runRelayer(runDeps, config, watch.signal);
    const print = (text: string): void => {
      log.flush();
      if (args.logFormat === "human") output.write(text);
    };
    return await accumulateFees({ ...runDeps, print }, config, command, watch.signal);
  } finally {
    watch.dispose();
    log.flush();
  }
}

/** Every problem on a line of its own, and that nothing was started. */
function describeProblems(file: string, reading: ConfigReading<MessagingConfig>): string {
  const lines = [...reading.problems, ...reading.warnings].map((problem) => renderProblem(file, problem));
  const count = reading.problems.length;
  return [...lines, `${count} problem${count === 1 ? "" : "s"} in the configuration; nothing was started`, ""]
    .join("\n");
}

function tellReading(log: Log, file: string, reading: ConfigReading<MessagingConfig>): void {
  for (const warning of reading.warnings) log.warn(renderProblem(file, warning));
  for (const note of reading.notes) log.info(renderNote(file, note));
}

/** Texts that no log line may contain. */
function secretsOf(config: MessagingConfig): readonly string[] {
  const keys = [config.hub.signer, ...config.chains.map(({ signer }) => signer)];
  const apiKeys = config.chains.flatMap((chain) => chain.type === "evm" ? [chain.etherscanApiKey] : []);
  return [...keys, ...apiKeys].flatMap((secret) => secret === undefined ? [] : [secret.reveal()]);
}
