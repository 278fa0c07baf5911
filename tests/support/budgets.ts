/** Sizes of the repository that may only fall, measured over source text alone. */
import { resolveImport, type SourceTree } from "./architecture.ts";
import { importsOf, readSource, stripSource } from "./source_text.ts";

/** Files below this number of lines are short. */
export const SHORT_FILE_LINES = 40;

/** Lines by room: the first two folders of a path below `src`, three for light clients. */
export function linesByRoom(tree: SourceTree): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [path, text] of tree) {
    const depth = path.startsWith("consensus/clients/") ? 3 : 2;
    const room = path.split("/").slice(0, -1).slice(0, depth).join("/");
    sums[room] = (sums[room] ?? 0) + linesOf(text);
  }
  return sums;
}

/** Lines of a text that ends with a line break. */
export function linesOf(text: string): number {
  return text.split("\n").length - 1;
}

/** Words of documents: what is between blanks. */
export function wordsOf(texts: Iterable<string>): number {
  return [...texts].reduce((sum, text) => sum + (text.match(/\S+/g)?.length ?? 0), 0);
}

/** A function and the lines from its body's first brace to the last. */
export interface FunctionSize {
  readonly path: string;
  readonly line: number;
  readonly lines: number;
}

/** Functions with a body, the longest first. */
export function functionSizes(tree: SourceTree): readonly FunctionSize[] {
  return [...tree].flatMap(([path, text]) => functionsOf(path, stripSource(text)))
    .sort((a, b) => b.lines - a.lines);
}

function functionsOf(path: string, code: string): FunctionSize[] {
  const found: FunctionSize[] = [];
  const open: { readonly isFunction: boolean; readonly line: number }[] = [];
  let line = 1;
  for (let at = 0; at < code.length; at++) {
    if (code[at] === "\n") line++;
    if (code[at] === "{") open.push({ isFunction: isBody(code.slice(Math.max(0, at - 400), at)), line });
    if (code[at] !== "}") continue;
    const start = open.pop();
    if (start?.isFunction === true) found.push({ path, line: start.line, lines: line - start.line + 1 });
  }
  return found;
}

/** True when a brace after this code begins the body of a function. */
function isBody(before: string): boolean {
  if (/=>\s*$/.test(before)) return true;
  const head = /\)\s*(?::[^;={}()]*(?:\([^()]*\)[^;={}()]*)?)?\s*$/.exec(before);
  if (head === null) return false;
  let depth = 0;
  for (let at = head.index; at >= 0; at--) {
    if (before[at] === ")") depth++;
    if (before[at] === "(" && --depth === 0) {
      return !/\b(?:if|for|while|switch|catch|await)\s*$/.test(before.slice(0, at));
    }
  }
  return true;
}

/** Files below {@link SHORT_FILE_LINES} lines. */
export function shortFiles(tree: SourceTree): readonly string[] {
  return [...tree].filter(([, text]) => linesOf(text) < SHORT_FILE_LINES).map(([path]) => path);
}

/** Files that exactly one other file imports, and that stand in the same folder as that one. */
export function loneImports(tree: SourceTree): readonly string[] {
  const importers = new Map<string, Set<string>>();
  for (const [path, text] of tree) {
    for (const specifier of importsOf(text)) {
      const target = resolveImport(path, specifier);
      if (target === undefined || !tree.has(target)) continue;
      importers.set(target, (importers.get(target) ?? new Set()).add(path));
    }
  }
  const folder = (path: string): string => path.slice(0, path.lastIndexOf("/"));
  return [...importers].filter(([path, by]) =>
    by.size === 1 && [...by].every((one) => folder(one) === folder(path))
  )
    .map(([path]) => path);
}

/** Files of a folder that a file of it reaches by imports of values, itself included. */
export function reachedFiles(tree: SourceTree, from: string, folder: string): readonly string[] {
  const seen = new Set<string>([from]);
  for (const path of seen) {
    for (const specifier of valueImports(tree.get(path) ?? "")) {
      const target = resolveImport(path, specifier);
      if (target !== undefined && target.startsWith(folder) && tree.has(target)) seen.add(target);
    }
  }
  return [...seen];
}

/** Imports that remain when types are gone. */
function valueImports(source: string): string[] {
  const { code, texts } = readSource(source);
  return [...code.matchAll(/\b(?:import|export)\b(?!\s+type\b)([^;"]*?)\bfrom\s*"(\d+)"/g)]
    .filter(([, names = ""]) => !/^\s*\{(?:\s*type\s+\w+(?:\s+as\s+\w+)?\s*,?)+\s*\}\s*$/.test(names))
    .map((match) => texts[Number(match[2])] ?? "");
}
