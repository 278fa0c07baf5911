/** `completion`: tab completion for a shell, made from the definitions of the commands. */
import { Argument, type Command as Parser, type Option } from "commander";
import { exitCodes } from "../runtime/exit_codes.ts";
import { defineStandalone } from "./command.ts";

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

/** Shells with completion. */
const shells = ["bash", "zsh", "fish"] as const;

/** One of {@link shells}. */
type Shell = typeof shells[number];

/** An option as completion needs it. */
interface OptionShape {
  readonly long: string;
  readonly short: string | undefined;
  readonly description: string;
  /** `none`: it takes no value. */
  readonly value: "none" | "file" | "any" | readonly string[];
}

/** A command, or the program itself. */
interface CommandShape {
  /** Its words behind the program's name, each with a blank in front; empty: the program. */
  readonly trail: string;
  readonly summary: string;
  readonly options: readonly OptionShape[];
  /** Words that may follow: commands, or the choices of an argument. */
  readonly words: readonly { readonly word: string; readonly description: string }[];
  readonly takesFile: boolean;
}

/** A program with everything that can be completed. */
interface ProgramShape {
  readonly name: string;
  /** The program first. */
  readonly commands: readonly CommandShape[];
}

/** Describes a program for completion. */
function describeCommands(program: Parser): ProgramShape {
  return { name: program.name(), commands: describe(program, "") };
}

function describe(command: Parser, trail: string): readonly CommandShape[] {
  const visible = command.createHelp();
  const below = visible.visibleCommands(command).filter((each) => each.name() !== "help");
  const argument = command.registeredArguments[0];
  const choices = (argument?.argChoices ?? []).map((word) => ({
    word,
    description: argument?.description ?? "",
  }));
  const own: CommandShape = {
    trail,
    summary: command.summary(),
    options: visible.visibleOptions(command).flatMap(toOption),
    words: [...below.map((each) => ({ word: each.name(), description: each.summary() })), ...choices],
    takesFile: isFile(argument?.name() ?? ""),
  };
  return [own, ...below.flatMap((each) => describe(each, `${trail} ${each.name()}`))];
}

function toOption(option: Option): readonly OptionShape[] {
  const { long, short, description } = option;
  if (typeof long !== "string") return [];
  const [, name = ""] = /[<[](.+)[>\]]/.exec(option.flags) ?? [];
  const takesValue = option.required || option.optional;
  const value = !takesValue ? "none" : option.argChoices ?? (isFile(name) ? "file" : "any");
  return [{ long, short: short ?? undefined, description, value }];
}

/** True for the placeholder of a file or folder. */
function isFile(placeholder: string): boolean {
  return /^(?:path|file|folder)/.test(placeholder);
}

/** Writes the script for a shell. */
export function toCompletionScript(shell: Shell, program: ProgramShape): string {
  switch (shell) {
    case "bash":
      return bashScript(program);
    case "zsh":
      return zshScript(program);
    case "fish":
      return fishScript(program);
  }
}

/** Every option of any command by its long name; the first one of a name counts. */
function allOptions({ commands }: ProgramShape): readonly OptionShape[] {
  const found = new Map(
    commands.flatMap(({ options }) => options).toReversed().map((each) => [each.long, each]),
  );
  return [...found.values()];
}

function trailsOf({ commands }: ProgramShape): readonly string[] {
  return commands.map(({ trail }) => trail).filter((trail) => trail !== "");
}

/** Text within single quotes of a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function functionName({ name }: ProgramShape): string {
  return `_${name.replaceAll("-", "_")}`;
}

function bashScript(program: ProgramShape): string {
  const values = allOptions(program).filter(({ value }) => value !== "none").map((option) => {
    const names = [option.long, ...option.short === undefined ? [] : [option.short]].join("|");
    const { value } = option;
    const reply = value === "file"
      ? 'COMPREPLY=($(compgen -f -- "$current"))'
      : value === "any" || value === "none"
      ? "COMPREPLY=()"
      : `COMPREPLY=($(compgen -W ${quote(value.join(" "))} -- "$current"))`;
    return `    ${names}) ${reply}; return ;;`;
  });
  const cases = program.commands.map(({ trail, options, words, takesFile }) => {
    const all = [...words.map(({ word }) => word), ...options.map(({ long }) => long)].join(" ");
    const files = takesFile ? ' COMPREPLY+=($(compgen -f -- "$current"))' : "";
    return `    ${quote(trail)}) COMPREPLY=($(compgen -W ${quote(all)} -- "$current"));${files} ;;`;
  });
  return `# bash completion of ${program.name}
${functionName(program)}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" trail="" i
  # bash splits --option=value at the sign
  if [[ "$current" == "=" ]]; then
    current=""
  elif [[ "$before" == "=" ]]; then
    before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "$before" in
${values.join("\n")}
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$trail \${COMP_WORDS[i]}" in
      ${trailsOf(program).map(quote).join("|")}) trail="$trail \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$trail" in
${cases.join("\n")}
  esac
}
complete -F ${functionName(program)} ${program.name}`;
}

function zshScript(program: ProgramShape): string {
  const values = allOptions(program).filter(({ value }) => value !== "none").map((option) => {
    const names = [option.long, ...option.short === undefined ? [] : [option.short]].join("|");
    const { value } = option;
    const reply = value === "file"
      ? "_files"
      : value === "any" || value === "none"
      ? "_message 'value'"
      : `compadd -- ${value.map(quote).join(" ")}`;
    return `    (${names}) ${reply}; return ;;`;
  });
  const entry = (word: string, description: string): string =>
    quote(`${word.replaceAll(":", "\\:")}:${description.replaceAll(":", " ")}`);
  const cases = program.commands.map(({ trail, options, words, takesFile }) => {
    const all = [
      ...words.map(({ word, description }) => entry(word, description)),
      ...options.map(({ long, description }) => entry(long, description)),
    ].join(" ");
    return `    (${quote(trail)}) entries=(${all}); ${takesFile ? "_files; " : ""};;`.replace("; ;;", " ;;");
  });
  return `#compdef ${program.name}
${functionName(program)}() {
  local trail="" before="\${words[CURRENT-1]}" i
  local -a entries
  if [[ "\${words[CURRENT]}" == --*=* ]]; then
    before="\${words[CURRENT]%%=*}"
    compset -P '*='
  fi
  case "$before" in
${values.join("\n")}
  esac
  for ((i = 2; i < CURRENT; i++)); do
    case "$trail \${words[i]}" in
      (${trailsOf(program).map(quote).join("|")}) trail="$trail \${words[i]}" ;;
    esac
  done
  case "$trail" in
${cases.join("\n")}
  esac
  _describe -t values ${quote(program.name)} entries
}
if [[ "\${funcstack[1]}" == "_${program.name}" ]]; then
  ${functionName(program)} "$@"
else
  compdef ${functionName(program)} ${program.name}
fi`;
}

function fishScript(program: ProgramShape): string {
  const at = `_${functionName(program)}_at`;
  const lines = program.commands.flatMap(({ trail, options, words, takesFile }) => {
    const here = `complete -c ${program.name} -n ${quote(`${at} "${trail}"`)}`;
    return [
      ...words.map(({ word, description }) => `${here} -a ${quote(word)} -d ${quote(description)}`),
      ...options.map((option) => `${here} ${fishOption(option)}`),
      ...takesFile ? [`${here} -F`] : [],
    ];
  });
  return `# fish completion of ${program.name}
function ${at}
  set -l trail ""
  for word in (commandline -opc)[2..]
    switch "$trail $word"
      case ${trailsOf(program).map(quote).join(" ")}
        set trail "$trail $word"
    end
  end
  test "$trail" = "$argv[1]"
end
complete -c ${program.name} -f
${lines.join("\n")}`;
}

function fishOption({ long, short, description, value }: OptionShape): string {
  const names = [`-l ${long.slice(2)}`, ...short === undefined ? [] : [`-s ${short.slice(1)}`]].join(" ");
  const taken = value === "none"
    ? ""
    : value === "file"
    ? " -r -F"
    : value === "any"
    ? " -x"
    : ` -x -a ${quote(value.join(" "))}`;
  return `${names}${taken} -d ${quote(description)}`;
}
