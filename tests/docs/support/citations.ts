/** What comments say about other files, held against the files that are there. Pure. */
import { readHeadings, readRows, readSections } from "./markdown.ts";

/** A part of the documents or the code that a comment names. */
export interface Citation {
  readonly path: string;
  /** Numbers of sections. */
  readonly sections: readonly string[];
  /** Headings, as quoted. */
  readonly headings: readonly string[];
  /** Anchor of a heading. */
  readonly anchor: string | undefined;
  /** Numbers of rows: invariants (`I3`). */
  readonly rows: readonly string[];
}

/** Sources that are not in this repository. */
const ABSENT =
  /protocol notes|\b0[1-6]-(?:ismp-types|evm-host|hub-substrate|messaging-flow|hub-consensus|evm-consensus)\b|(?<![\w/])(?:spec|toolchain|house|style)\.md\b|design card|\b0[1-6] \d+\.\d+\b/;

/** Text of the comments of a TypeScript file, each in one line. */
export function readComments(source: string): readonly string[] {
  const pattern = /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*\n?)+|(?<=[;,{}()\]][ \t]+)\/\/[^\n]*/gm;
  return [...source.matchAll(pattern)].map(([text]) =>
    text.replace(/^[ \t]*(?:\/\*\*?|\*\/|\*(?!\/)|\/\/)/gm, " ").replace(/\*\/$/, "").replace(/\s+/g, " ")
      .trim()
  );
}

/** Everything that a comment cites from `docs/`. */
export function readCitations(comment: string): readonly Citation[] {
  const pattern =
    /(?<![\w/])(docs\/(?:(?:protocol|architecture|adr|operations|configuration)\/)?[\w.-]+\.md)\b(?:#([\w-]+))?((?:[ ,;:(]|sections?|and|to|traps?|rules?|steps?|"[^"]*"|I\d+|L\d+|\)(?= and)|\d+(?:\.\d+)*(?![\w]))*)/g;
  return [...comment.matchAll(pattern)].map(([, path = "", anchor, tail = ""]) => ({
    path,
    anchor,
    sections: readNumbers(tail),
    headings: [...tail.matchAll(/"([^"]*)"/g)].map(([, heading]) => heading ?? ""),
    rows: [...tail.matchAll(/\bI\d+\b/g)].map(([row]) => row),
  }));
}

/** The numbers behind "section" or "sections", without those of traps, rules and steps. */
function readNumbers(tail: string): readonly string[] {
  const [, list = ""] = /\bsections?((?:[ ,]|and|to|\(traps?[^)]*\)|\d+(?:\.\d+)*)*)/.exec(
    tail.replace(/\(?(?:traps?|rules?|steps?) [\d, and]*\d\)?/g, ""),
  ) ?? [];
  return [...list.matchAll(/\d+(?:\.\d+)*/g)].map(([number]) => number);
}

/** What is wrong with the citations of a file's comments, as sentences. `docs`: the documents by their paths. */
export function findWrongCitations(source: string, docs: ReadonlyMap<string, string>): readonly string[] {
  return readComments(source).flatMap((comment) => [
    ...(ABSENT.exec(comment) ?? []).slice(0, 1).map((name) =>
      `cites "${name}", which is not in this repository`
    ),
    ...readCitations(comment).flatMap((citation) => findWrong(citation, docs)),
  ]);
}

function findWrong(citation: Citation, docs: ReadonlyMap<string, string>): readonly string[] {
  const { path, sections, headings, anchor, rows } = citation;
  const text = docs.get(path);
  if (text === undefined) return [`cites ${path}, which does not exist`];
  const known = readHeadings(text);
  const numbers = readSections(text);
  const firsts = new Set(readRows(text).map(([first]) => first));
  return [
    ...sections.filter((number) => !numbers.has(number)).map((number) => `${path} has no section ${number}`),
    ...headings.filter((heading) => !known.some((each) => each.text === heading))
      .map((heading) => `${path} has no heading "${heading}"`),
    ...(anchor === undefined || known.some((each) => each.anchor === anchor)
      ? []
      : [`${path} has no #${anchor}`]),
    ...rows.filter((row) => !firsts.has(row)).map((row) => `${path} has no ${row}`),
  ];
}

/** Source files that comments name in backticks or behind "see", and that are nowhere in `files`. */
export function findMissingFiles(source: string, files: readonly string[]): readonly string[] {
  const named = readComments(source).flatMap((comment) =>
    [...comment.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.ts|(?:[\w.-]+\/)+[\w.-]+\.(?:toml|json|yaml|yml|sh))`/g)]
      .map(([, path]) => path ?? "")
  );
  return named.filter((path) => !isThere(path, files)).map((path) =>
    `names \`${path}\`, which does not exist`
  );
}

function isThere(path: string, files: readonly string[]): boolean {
  const plain = path.replace(/^(?:\.{1,2}\/)+/, "");
  return files.some((file) => file === plain || file.endsWith(`/${plain}`));
}
