/**
 * The table of profiles in `docs/profiles.md`: what is known of each is from its data, how it went is from the run that
 * played it last. Start reading at {@link updateTable}.
 */
import type { Profile, RestBehaviour, StartRefusal } from "../../../devnet/profiles/profile.ts";
import type { RpcBehaviour } from "../../../devnet/profiles/rpc_behaviour.ts";

/** A profile of any kind of node. */
export type AnyProfile = Profile<RpcBehaviour | RestBehaviour>;

/** How profiles went, by name. */
export type Results = ReadonlyMap<string, string>;

const MARKS = /<!-- table(?: ends)? -->\n/;
const NOT_PLAYED = "not played yet";
/** Number of the cell that says how it went, and of cells in a row. */
const RESULT_AT = 2;
const COLUMNS = 3;

/**
 * The document with its table made again: rows of `profiles` in their order, with `results` where there are some and else
 * with what stood there.
 * @throws {Error} when it has not the two marks between which the table stands
 */
export function updateTable(document: string, profiles: readonly AnyProfile[], results: Results): string {
  const [before, table, after] = document.split(MARKS);
  if (before === undefined || table === undefined || after === undefined) {
    throw new Error("The document has no marks for the table");
  }
  const known = new Map([...resultsIn(table), ...results]);
  return `${before}<!-- table -->\n\n${tableOf(profiles, known)}\n\n<!-- table ends -->\n${after}`;
}

/** What a table says of how each profile went. */
export function resultsIn(table: string): Results {
  return new Map(
    rowsOf(table).flatMap((cells) => {
      const name = /^`(.+)`$/.exec(cells[0] ?? "")?.[1];
      const result = cells[RESULT_AT];
      return name === undefined || result === undefined ? [] : [[name, result] as const];
    }),
  );
}

/** The result of a profile that is refused as it should be. */
export function refusedResult({ reason, cure, consequence }: StartRefusal): string {
  const what = consequence === "ends" ? "nothing is started" : "nothing is delivered to the chain";
  return `refused at the start, ${what}: "${reason} ..."; cure: "${cure}"`;
}

const SERVED: readonly string[] = ["served", "served, beside hostile modules"];

/** Profiles whose latest run did not end as it should, or that were never played, each with what its row says. */
export function unsatisfied(profiles: readonly AnyProfile[], results: Results): readonly string[] {
  return profiles.flatMap(({ name, refusal }) => {
    const result = results.get(name) ?? NOT_PLAYED;
    const isAsWanted = refusal === undefined ? SERVED.includes(result) : result === refusedResult(refusal);
    return isAsWanted ? [] : [`${name}: ${result}`];
  });
}

/** The table as Markdown, of profiles that have a result. */
export function tableOf(profiles: readonly AnyProfile[], results: Results): string {
  const head = ["Profile", "Imitates", "Result"];
  const rows = profiles.map(({ name, imitates, needsSecond }) => [
    `\`${name}\``,
    needsSecond === undefined ? imitates : `${imitates} (${needsSecond}: with a second endpoint)`,
    results.get(name) ?? NOT_PLAYED,
  ]);
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}

function rowsOf(table: string): readonly (readonly string[])[] {
  return table.split("\n").filter((line) => line.startsWith("|"))
    .map((line) =>
      line.split(/(?<!\\)\|/).slice(1, COLUMNS + 1).map((cell) => cell.trim().replaceAll("\\|", "|"))
    );
}
