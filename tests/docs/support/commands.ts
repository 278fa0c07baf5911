/** What the documents tell people to type, held against what there is: tasks, paths and the programs' own parsers. */
import { parseArguments as parseConsensus } from "../../../src/consensus/arguments.ts";
import { parseArguments as parseMessaging } from "../../../src/messaging/arguments.ts";

/** What commands are held against. */
export interface Known {
  /** Names of the tasks of deno.json. */
  readonly tasks: ReadonlySet<string>;
  /** Paths of all files. */
  readonly files: readonly string[];
}

/** What is wrong with a shell block, a sentence per line of it that cannot be right. */
export function findWrongLines(block: string, known: Known): readonly string[] {
  const lines = block.replaceAll("\\\n", " ").split("\n").map((line) => line.trim()).filter((line) =>
    line !== ""
  );
  return lines.flatMap((line) => {
    const wrong = check(line.split(/\s+/), known);
    return wrong === undefined ? [] : [`${line}: ${wrong}`];
  });
}

/** Tasks that a text mentions in code (`deno task x`) and that do not exist. */
export function findUnknownTasks(text: string, tasks: ReadonlySet<string>): readonly string[] {
  const named = [...text.matchAll(/\bdeno(?:@[\d.]+)? task (?:--\S+ )*([a-z][\w:-]*)/g)].map(([, task]) =>
    task ?? ""
  );
  return named.filter((task) => !tasks.has(task));
}

function check([first = "", ...rest]: readonly string[], known: Known): string | undefined {
  switch (first) {
    case "./deno":
    case "deno":
      return checkDeno(rest, known);
    case "bash":
      return known.files.includes(rest[0] ?? "") ? undefined : "no such script";
    case "causeway":
    case "./build/causeway":
      return findProblem(parseMessaging(rest, "causeway"));
    case "causeway-consensus":
    case "./build/causeway-consensus":
      return findProblem(parseConsensus(rest, "causeway-consensus"));
    default:
      return "no test runs it, and it is no command that can be checked";
  }
}

function findProblem(parsed: { readonly kind: string; readonly stderr?: string }): string | undefined {
  return parsed.kind === "run" ? undefined : parsed.stderr ?? "refused";
}

function checkDeno([what, ...rest]: readonly string[], { tasks, files }: Known): string | undefined {
  if (what === "task") return tasks.has(rest[0] ?? "") ? undefined : `no task ${rest[0]}`;
  if (what !== "test") return `deno ${what} is not checked`;
  const missing = rest.filter((word) => !word.startsWith("-"))
    .filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`)));
  return missing.length === 0 ? undefined : `no ${missing.join(" ")}`;
}
