/**
 * Which declarations of a tree of modules its entry points reach, and who imports each export. Works on words of the
 * formatted source, so a declaration counts as used wherever its name stands as a name of its own.
 */
import { posix } from "node:path";
import { readSource } from "./source_text.ts";

/** A top-level declaration. */
interface Declaration {
  readonly isExported: boolean;
  /** False for interfaces and types, which have to be exported to be named in signatures. */
  readonly isValue: boolean;
  /** Names in it, `alias.name` for those of a module that is imported as a whole. */
  readonly words: ReadonlySet<string>;
}

/** A module, as far as names go. */
interface Module {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Names in statements that declare nothing. */
  readonly words: ReadonlySet<string>;
  /** Imported and re-exported names by their name here; name `*` for all of a module. */
  readonly imports: ReadonlyMap<string, Target>;
  /** Modules of which everything is re-exported, or that are loaded while the program runs. */
  readonly wholes: readonly string[];
}

interface Target {
  readonly path: string;
  readonly name: string;
}

/** Start of a statement: formatted code indents whatever continues one. */
const STATEMENT = /^(?=[A-Za-z])/m;
const DECLARATION =
  /^(export )?(?:declare )?(?:abstract )?(?:async )?(const|let|function\*?|class|enum|interface|type) (\w+)/;
const NAME = /(?<![\w$#.]|case )[A-Za-z_$][\w$]*(?![\w$]|:)|(?<=case )[A-Za-z_$][\w$]*/g;

/** Reads a module. @param path from the root of the repository. */
function parseModule(path: string, source: string): Module {
  const { code, texts } = readSource(source);
  const resolve = (index: string | undefined): string =>
    posix.join(posix.dirname(path), texts[Number(index)] ?? "");
  const declarations = new Map<string, Declaration>();
  const imports = new Map<string, Target>();
  const words = new Set<string>();
  const wholes = [...code.matchAll(/\bimport\("(\d+)"\)/g)].map(([, index]) => resolve(index));
  for (const statement of code.split(STATEMENT)) {
    const from = /^(?:import|export) [^"=(]*?\bfrom "(\d+)"/.exec(statement)?.[1];
    if (from !== undefined) {
      const target = resolve(from);
      const whole = /\* as (\w+)/.exec(statement)?.[1];
      if (whole !== undefined) imports.set(whole, { path: target, name: "*" });
      else if (/^export \*/.test(statement)) wholes.push(target);
      const list = /\{([^}]*)\}/.exec(statement)?.[1] ?? "";
      for (
        const [, name = "", local = name] of list.matchAll(/(?:type )?(\w+)(?: as (\w+))?(?=\s*(?:,|$))/g)
      ) {
        imports.set(local, { path: target, name });
      }
      continue;
    }
    const names = namesIn(statement);
    const [, isExported, kind = "", name] = DECLARATION.exec(statement) ?? [];
    if (name === undefined) { for (const word of names) words.add(word); }
    else {
      // Overloads are one declaration.
      const before = declarations.get(name)?.words ?? [];
      declarations.set(name, {
        isExported: isExported !== undefined,
        isValue: kind !== "interface" && kind !== "type",
        words: new Set([...before, ...names]),
      });
    }
  }
  return { declarations, words, imports, wholes };
}

function namesIn(statement: string): readonly string[] {
  const text = statement.replaceAll("...", " ");
  return [
    ...[...text.matchAll(NAME)].map(([name]) => name),
    ...[...text.matchAll(/(?<![\w$.])\w+\.\w+/g)].map(([name]) => name),
  ];
}

/** An export of a tree of modules. */
export interface ExportUse {
  readonly path: string;
  readonly name: string;
  readonly isValue: boolean;
  /** True when the entry points reach it. */
  readonly isReached: boolean;
  /** Paths of the other modules that import it. */
  readonly importers: readonly string[];
}

/** Every export of the tree. @param files source by path from the root. @param entries paths of entry points. */
export function listExports(
  files: ReadonlyMap<string, string>,
  entries: readonly string[],
): readonly ExportUse[] {
  const modules = new Map([...files].map(([path, source]) => [path, parseModule(path, source)]));
  const reached = reach(modules, entries);
  const importers = findImporters(modules);
  return [...modules].flatMap(([path, { declarations }]) =>
    [...declarations].flatMap(([name, { isExported, isValue }]) => {
      const key = `${path}: ${name}`;
      const use = {
        path,
        name,
        isValue,
        isReached: reached.has(key),
        importers: [...importers.get(key) ?? []],
      };
      return isExported ? [use] : [];
    })
  );
}

type Modules = ReadonlyMap<string, Module>;

/** Where a name that a module offers is declared. */
function findDeclaration(modules: Modules, { path, name }: Target): Target | undefined {
  const module = modules.get(path);
  if (module === undefined) return undefined;
  if (module.declarations.has(name)) return { path, name };
  const passed = module.imports.get(name);
  if (passed !== undefined) return findDeclaration(modules, passed);
  for (const whole of module.wholes) {
    const found = findDeclaration(modules, { path: whole, name });
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What a word of a module stands for. */
function findWord(modules: Modules, path: string, word: string): Target | undefined {
  const module = modules.get(path);
  if (module?.declarations.has(word)) return { path, name: word };
  const [alias = "", name = ""] = word.split(".");
  const target = module?.imports.get(word.includes(".") ? alias : word);
  if (target === undefined || (word.includes(".") !== (target.name === "*"))) return undefined;
  return findDeclaration(modules, target.name === "*" ? { path: target.path, name } : target);
}

function reach(modules: Modules, entries: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const open: Target[] = [];
  const opened = new Set<string>();
  const use = (target: Target | undefined): void => {
    if (target === undefined) return;
    openModule(target.path);
    const key = `${target.path}: ${target.name}`;
    if (!found.has(key)) open.push(target);
    found.add(key);
  };
  const useAll = (path: string): void => {
    for (const name of modules.get(path)?.declarations.keys() ?? []) use({ path, name });
  };
  const openModule = (path: string): void => {
    if (opened.has(path)) return;
    opened.add(path);
    const module = modules.get(path);
    for (const word of module?.words ?? []) use(findWord(modules, path, word));
    for (const loaded of module?.wholes ?? []) useAll(loaded);
  };
  for (const entry of entries) {
    openModule(entry);
    useAll(entry);
  }
  for (let target = open.pop(); target !== undefined; target = open.pop()) {
    const { path, name } = target;
    for (const word of modules.get(path)?.declarations.get(name)?.words ?? []) {
      use(findWord(modules, path, word));
    }
  }
  return found;
}

function findImporters(modules: Modules): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  const note = (target: Target | undefined, by: string): void => {
    if (target === undefined || target.path === by) return;
    const key = `${target.path}: ${target.name}`;
    importers.set(key, (importers.get(key) ?? new Set()).add(by));
  };
  for (const [path, module] of modules) {
    const words = [...module.words, ...[...module.declarations.values()].flatMap((one) => [...one.words])];
    for (const word of words) if (word.includes(".")) note(findWord(modules, path, word), path);
    for (const target of module.imports.values()) note(findDeclaration(modules, target), path);
    for (const whole of module.wholes) {
      for (const name of modules.get(whole)?.declarations.keys() ?? []) note({ path: whole, name }, path);
      for (const target of modules.get(whole)?.imports.values() ?? []) {
        note(findDeclaration(modules, target), path);
      }
    }
  }
  return importers;
}
