/** `config show`: the values that apply, and where each comes from; secrets are masked. */
import { describeProblems } from "../config/diagnostics.ts";
import { writeEffective } from "../config/effective_values.ts";
import { exitCodes } from "../runtime/exit_codes.ts";
import { defineStandalone } from "./command.ts";
import { configGroup } from "./config_group.ts";
import { requireConfig } from "./standalone.ts";

const AFTER_HELP = `
Every key of every section, as TOML, with the line that sets it or "default". Private keys and API keys
are shown as [secret], of endpoints only scheme and host.

Exit status: 0 shown, 1 the file cannot be used, 2 wrong command line.`;

/** Options of the command. */
interface ShowOptions {
  readonly json?: boolean;
}

/** The command. */
export const configShow = defineStandalone<ShowOptions>({
  group: configGroup,
  name: "show",
  description: "Shows the values that apply, and where each comes from. Shows no secret.",
  summary: "show the values that apply and where each comes from",
  afterHelp: AFTER_HELP,
  without: ["db"],
  addOptions: (parser, choose) =>
    void parser.option("--json", "one JSON object per key instead of TOML")
      .action((options: ShowOptions) => choose(options)),
  run: ({ arguments: args, env, file, print }, { json = false }) => {
    const path = requireConfig(args);
    const reading = file.read(env, path);
    if (reading.config === undefined) {
      env.writeError(describeProblems(path, reading, "the file cannot be used"));
      return Promise.resolve(exitCodes.failed);
    }
    print(writeEffective(reading.values, json ? "json" : "toml"));
    return Promise.resolve(exitCodes.ok);
  },
});
