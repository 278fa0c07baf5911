/** `config schema`: the JSON schema of the configuration file, with which editors complete and check it. */
import { exitCodes } from "../runtime/exit_codes.ts";
import { configGroup, defineStandalone } from "./command.ts";

const AFTER_HELP = `
Editors with TOML support (Taplo, Even Better TOML) use it when the first line of the file names it:
  #:schema ./causeway.schema.json`;

/** The command. */
export const configSchema = defineStandalone<undefined>({
  group: configGroup,
  name: "schema",
  description: "Prints the JSON schema of the configuration file, for editors.",
  summary: "print the JSON schema of the configuration file",
  afterHelp: AFTER_HELP,
  without: ["config", "db"],
  addOptions: (parser, choose) => void parser.action(() => choose(undefined)),
  run: ({ file, print }) => {
    print(file.writeJsonSchema().trimEnd());
    return Promise.resolve(exitCodes.ok);
  },
});
