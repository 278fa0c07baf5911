/** The command line of a program: options and commands of both programs, and what only one of them has. */
import type { Command as Parser, OptionValues } from "commander";
import {
  addCommonOptions,
  addListenOptions,
  createCommandLine,
  type FileOption,
  fileOptions,
  type ParsedCommandLine,
  type ProgramDescription,
} from "../runtime/command_line.ts";
import { addToLine, type AnyRun, type Command, type ProgramCommand, type StandaloneRun } from "./command.ts";
import { completion } from "./completion.ts";
import { configCheck, configSchema, configShow } from "./config.ts";
import { configInit } from "./config_init.ts";
import { health } from "./health.ts";
import { keysEncrypt, keysImport, keysList, keysNew } from "./keys.ts";

/** Commands that both programs have, and that work without a valid configuration, log or connection. A new one is one line here. */
const standaloneCommands: readonly Command<StandaloneRun>[] = [
  health,
  configInit,
  configCheck,
  configShow,
  configSchema,
  keysList,
  keysNew,
  keysImport,
  keysEncrypt,
  completion,
];

/** What only one program has. */
export interface ProgramSyntax<Run extends AnyRun> extends ProgramDescription {
  readonly addOptions?: (parser: Parser) => void;
  /** Commands that work with a valid configuration, in the order of the help, before those of both programs. */
  readonly commands: readonly Command<Run>[];
}

/**
 * Makes the parser of the arguments behind a program's name, which prints nothing; options that a command does without may
 * be missing.
 */
export const programParser = <Arguments extends OptionValues, Run extends AnyRun>(
  { addOptions, commands, ...program }: ProgramSyntax<Run>,
) =>
(args: readonly string[], version: string): ParsedCommandLine<Arguments, ProgramCommand<Run>> => {
  const line = createCommandLine(program);
  addOptions?.(line.command);
  addListenOptions(line.command);
  addCommonOptions(line.command, version);
  let command: ProgramCommand<Run> = { kind: "relay" };
  const choose = (chosen: ProgramCommand<Run>): void => void (command = chosen);
  for (const each of commands) addToLine(line, each, (chosen) => choose({ kind: "command", ...chosen }));
  for (const each of standaloneCommands) {
    addToLine(line, each, (chosen) => choose({ kind: "standalone", ...chosen }));
  }
  const listNeeded = (): readonly FileOption[] =>
    fileOptions.filter((file) => command.kind === "relay" || !command.without.includes(file));
  return line.parse(args, listNeeded) ?? { kind: "run", arguments: line.command.opts<Arguments>(), command };
};
