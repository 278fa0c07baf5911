/** Exported names that stand for two ideas, found over source text alone. */

/** A declaration that other files can import. */
const EXPORT =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

/** Names that may be declared more than once, with the reason. */
const SAME_IDEA: Readonly<Record<string, string>> = {
  unsupportedTypes: "advice on types of chains, of the configuration of either program",
  Log: "an entry of an EVM block, and the log of the programs: both have no other name",
};

/**
 * Files in which a name stands for the same idea: the same file of both programs, the same file of two light clients,
 * and one operation of the chain port as each family of chains implements it.
 */
function ideaOf(path: string): string {
  return path
    .replace(/^src\/consensus\/clients\/[a-z_]+\//, "client/")
    .replace(/^src\/(?:consensus|messaging)\//, "program/")
    .replace(/^src\/core\/chains\/(?:evm|substrate)\/.*/, "chain family");
}

/** Names that several files declare for different ideas: `name: path, path`. */
export function findHomonyms(files: ReadonlyMap<string, string>): readonly string[] {
  const places = new Map<string, string[]>();
  for (const [path, text] of files) {
    for (const [, name = ""] of text.matchAll(EXPORT)) {
      const others = places.get(name) ?? [];
      if (!others.includes(path)) places.set(name, [...others, path]);
    }
  }
  return [...places].filter(([name, paths]) =>
    !Object.hasOwn(SAME_IDEA, name) && new Set(paths.map(ideaOf)).size > 1
  ).map(([name, paths]) => `${name}: ${paths.join(", ")}`).sort();
}
