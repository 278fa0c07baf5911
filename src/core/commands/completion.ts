/** `completion`: tab completion for shells. A short script for each asks the program itself what may come next. */
import { Argument, type Command as Parser, type Option } from "commander";
import type { Command, StandaloneRun } from "./command.ts";

/** What the scripts ask for, behind which the words of the command line stand. */
const WORDS = "words";

/** The command. */
export const completion: Command<StandaloneRun> = {
  name: "completion",
  description: "Prints tab completion of this program for a shell.",
  examples: [
    "completion bash > /etc/bash_completion.d/causeway",
    `completion zsh > "\${fpath[1]}/_causeway"`,
    "completion fish > ~/.config/fish/completions/causeway.fish",
  ],
  exitStatus: { 0: "done" },
  without: ["config", "db"],
  addOptions: (parser) =>
    void parser
      .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(["bash", "zsh", "fish", WORDS]))
      .argument("[words...]", "used by the scripts: a command line so far, behind --"),
  run: ({ program, print }, shell: string, words: readonly string[], _: unknown, { parent }: Parser) => {
    const text = shell !== WORDS
      ? scriptOf(shell, program)
      : parent === null
      ? ""
      : listNext(parent, words).join("\n");
    if (text !== "") print(text);
  },
};

/** Lists what the last word may become, each with a tab and its description; nothing: a file, or anything. */
function listNext(program: Parser, words: readonly string[]): readonly string[] {
  const current = words.at(-1) ?? "";
  const command = words.slice(0, -1).reduce(
    (at, word) => at.commands.find((each) => each.name() === word) ?? at,
    program,
  );
  const [, name] = /^(--[a-z-]+)=/.exec(current) ?? [];
  const options = [command, program].flatMap((each) => each.createHelp().visibleOptions(each));
  const before = name ?? words.at(-2) ?? "";
  const valued = options.find(({ required, optional, long, short }) =>
    (required || optional) && (before === long || before === short)
  );
  const next = valued === undefined
    ? listWords(command, options)
    : (valued.argChoices ?? []).map((choice) => [name === undefined ? choice : `${name}=${choice}`, ""]);
  const found = new Map(
    next.filter(([word = ""]) => word.startsWith(current)).map(([word, text]) => [word, text]),
  );
  return [...found].map(([word, text]) => `${word}\t${text}`);
}

/** Commands, choices of the argument, and options. */
function listWords(command: Parser, options: readonly Option[]): readonly (readonly string[])[] {
  const below = command.createHelp().visibleCommands(command).filter((each) => each.name() !== "help");
  const [argument] = command.registeredArguments;
  return [
    ...below.map((each) => [each.name(), each.summary()]),
    ...(argument?.argChoices ?? []).filter((word) => word !== WORDS).map((
      word,
    ) => [word, argument?.description ?? ""]),
    ...options.flatMap(({ long, description }) => typeof long === "string" ? [[long, description]] : []),
  ];
}

/** The script for a shell; where the program proposes nothing, the shell proposes files. */
function scriptOf(shell: string, program: string): string {
  const name = `_${program.replaceAll("-", "_")}`;
  switch (shell) {
    case "bash":
      return `# bash completion of ${program}
${name}() {
  local words line="\${COMP_LINE:0:COMP_POINT}"
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  mapfile -t COMPREPLY < <("\${words[0]}" completion ${WORDS} -- "\${words[@]:1}" 2>/dev/null | cut -f1)
  # bash has split --option=value at the sign
  [[ "\${words[-1]}" == *=* ]] && COMPREPLY=("\${COMPREPLY[@]#*=}")
}
complete -o default -F ${name} ${program}`;
    case "zsh":
      return `#compdef ${program}
${name}() {
  local -a found
  found=("\${(@f)$("$words[1]" completion ${WORDS} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} )); then
    _describe -t values ${program} "\${(@)found/$'\\t'/:}"
  else
    [[ "$PREFIX" == --*=* ]] && compset -P '*='
    _files
  fi
}
if [[ "\${funcstack[1]}" == "${name}" ]]; then
  ${name} "$@"
else
  compdef ${name} ${program}
fi`;
    default:
      return `# fish completion of ${program}
complete -c ${program} -a '((commandline -opc)[1] completion ${WORDS} -- (commandline -opc)[2..] (commandline -ct))'`;
  }
}
