/** `config check`: everything that is wrong with the configuration file, without a connection to anything. */
import { describeProblems, renderDiagnostic, renderNote } from "../config/diagnostics.ts";
import { exitCodes } from "../runtime/exit_codes.ts";
import { configGroup, defineStandalone } from "./command.ts";
import { requireConfig } from "./standalone.ts";

const AFTER_HELP = `
The same problems, warnings and notes as at the start of the program; keys that are named by path are
read. Connects to nothing.

Exit status: 0 the file can be used, 1 it cannot, 2 wrong command line.`;

/** The command. */
export const configCheck = defineStandalone<undefined>({
  group: configGroup,
  name: "check",
  description: "Checks the configuration file offline and lists everything that is wrong with it.",
  summary: "list everything that is wrong with the configuration file",
  afterHelp: AFTER_HELP,
  without: ["db"],
  addOptions: (parser, choose) => void parser.action(() => choose(undefined)),
  run: ({ arguments: args, env, file, print }) => {
    const path = requireConfig(args);
    const reading = file.read(env, path);
    if (reading.config === undefined) {
      env.writeError(describeProblems(path, reading, "the file cannot be used"));
      return Promise.resolve(exitCodes.failed);
    }
    for (const warning of reading.warnings) print(`warning: ${renderDiagnostic(path, warning)}`);
    for (const note of reading.notes) print(`note: ${renderNote(path, note)}`);
    const count = reading.warnings.length;
    const warned = count === 0 ? "" : `, ${count} warning${count === 1 ? "" : "s"}`;
    print(`${path}: no problems${warned}`);
    return Promise.resolve(exitCodes.ok);
  },
});
