/** `completion`: tab completion for a shell, made from the definitions of the commands. */
import { exitCodes } from "../runtime/exit_codes.ts";
import { defineStandalone } from "./command.ts";
import { describeCommands, shells, toCompletionScript } from "./completion_script.ts";
import { Argument } from "commander";

const AFTER_HELP = `
Examples:
  bash:  causeway completion bash > /etc/bash_completion.d/causeway
  zsh:   causeway completion zsh > "\${fpath[1]}/_causeway"
  fish:  causeway completion fish > ~/.config/fish/completions/causeway.fish

Exit status: 0 done, 2 wrong command line.`;

/** The command. */
export const completion = defineStandalone<string>({
  name: "completion",
  description: "Prints tab completion of this program for a shell.",
  summary: "print tab completion for bash, zsh or fish",
  afterHelp: AFTER_HELP,
  without: ["config", "db"],
  addOptions: (parser, choose) =>
    void parser.addArgument(new Argument("<shell>", "bash, zsh or fish").choices([...shells]))
      .action((shell: string) => {
        const known = shells.find((each) => each === shell) ?? "bash";
        choose(toCompletionScript(known, describeCommands(parser.parent ?? parser)));
      }),
  run: ({ print }, script) => {
    print(script);
    return Promise.resolve(exitCodes.ok);
  },
});
