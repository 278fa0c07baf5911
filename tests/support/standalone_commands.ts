/** Commands that run without a valid configuration, with files in memory: what they print, and how they end. */
import assert from "node:assert/strict";
import { parseArguments as parseConsensus } from "../../src/consensus/arguments.ts";
import { consensusFile } from "../../src/consensus/config/config_file.ts";
import type { ProgramCommand, StandaloneArguments } from "../../src/core/commands/command.ts";
import { runStandalone } from "../../src/core/commands/command.ts";
import type { ConfigFileKind } from "../../src/core/config/config_file.ts";
import type { ConfigFiles } from "../../src/core/config/toml.ts";
import { parseArguments as parseMessaging } from "../../src/messaging/arguments.ts";
import type { Terminal } from "../../src/core/runtime/terminal.ts";
import { inMemory } from "./wrong_configs.ts";
import { messagingFile } from "../../src/messaging/config/config_file.ts";

/** How a command ended and what it said. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What differs from a plain run. */
export interface CommandSurroundings extends Partial<ConfigFiles> {
  /** True: nobody gets what is printed, although somebody reads. */
  readonly isOutputLost?: boolean;
  readonly writeNewFile?: (path: string, text: string) => boolean;
  readonly terminal?: Terminal;
}

/** Texts of files by path. */
type MemoryFiles = Readonly<Record<string, string>>;

/** Runs a command of the messaging relayer. */
export async function runMessagingCommand(
  args: readonly string[],
  files: MemoryFiles,
  around: CommandSurroundings = {},
): Promise<CommandResult> {
  const parsed = parseMessaging(args, "causeway 0");
  assert.ok(parsed.kind === "run", "stderr" in parsed ? parsed.stderr : "");
  return await run(parsed, { program: "causeway", file: messagingFile, files, around });
}

/** Runs a command of the consensus relayer. */
export async function runConsensusCommand(
  args: readonly string[],
  files: MemoryFiles,
  around: CommandSurroundings = {},
): Promise<CommandResult> {
  const parsed = parseConsensus(args, "causeway-consensus 0");
  assert.ok(parsed.kind === "run", "stderr" in parsed ? parsed.stderr : "");
  return await run(parsed, { program: "causeway-consensus", file: consensusFile, files, around });
}

async function run<Run>(
  { arguments: args, command }: {
    readonly arguments: StandaloneArguments;
    readonly command: ProgramCommand<Run>;
  },
  { program, file, files, around }: {
    readonly program: string;
    readonly file: ConfigFileKind;
    readonly files: MemoryFiles;
    readonly around: CommandSurroundings;
  },
): Promise<CommandResult> {
  assert.ok(command.kind === "standalone");
  const said = { stdout: "", stderr: "" };
  const env = {
    readFile: (path: string): Uint8Array =>
      (files[path] === undefined && around.readFile || inMemory(files).readFile)(path),
    readVariable: (name: string): string | undefined => around.readVariable?.(name),
    closeEnvironment: (): void => {},
    writeNewFile: (path: string, text: string): boolean => around.writeNewFile?.(path, text) ?? false,
    terminal: around.terminal,
    readMode: (path: string): number | undefined => around.readMode?.(path),
    openedKeystores: new Map<string, Uint8Array>(),
    writeOutput: (text: string): boolean => {
      said.stdout += text;
      return around.isOutputLost !== true;
    },
    writeError: (text: string): void => void (said.stderr += text),
    exit: (): void => assert.fail("a command ended the process"),
    isColourWelcome: false,
  };
  const code = await runStandalone(command, { program, arguments: args, env, file });
  return { code, ...said };
}
