/**
 * Lines of keys in a TOML text. The parser (smol-toml) tells positions of errors only, so this scanner walks over
 * a text that the parser has already accepted and notes where each key begins. What it does not understand ends
 * the walk: keys after that have no line, but no key ever has a wrong one.
 * Source of the grammar: toml.io, TOML 1.1.
 */
import { parse } from "smol-toml";
import type { KeyPath } from "./problem.ts";

/** Line (from 1) of a key, an array element or a section header; `undefined` when unknown. */
export type LineLookup = (path: KeyPath) => number | undefined;

/**
 * Notes the line of every key of `text`.
 * @param text a text that `smol-toml` parses without error.
 */
export function locateKeys(text: string): LineLookup {
  const scan = new KeyScan(text);
  scan.run();
  return (path) => scan.lineOf(path);
}

const BARE_KEY = /[A-Za-z0-9_-]+/y;
const BASIC_KEY = /"(?:[^"\\\n]|\\.)*"/y;
const LITERAL_KEY = /'[^'\n]*'/y;
const BLANK = /[ \t]*/y;
const BLANK_AND_COMMENTS = /(?:[ \t\r\n]|#[^\n]*)*/y;
const STRINGS = [
  /"""(?:[^\\]|\\[^])*?"""(?:"{1,2}(?!"))?/y,
  /'''[^]*?'''(?:'{1,2}(?!'))?/y,
  /"(?:[^"\\\n]|\\.)*"/y,
  /'[^'\n]*'/y,
] as const;
const SCALAR = /[^,[\]{}#"'=\r\n]+/y;

class KeyScan {
  readonly #text: string;
  #at = 0;
  #line = 1;
  #lineCountedTo = 0;
  /** Where a key is written out. */
  readonly #written = new Map<string, number>();
  /** Where a table is first implied by a longer key, e.g. `a` by `[a.b]`. */
  readonly #implied = new Map<string, number>();
  /** Number of elements so far of each array of tables. */
  readonly #tableArrays = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  lineOf(path: KeyPath): number | undefined {
    const key = JSON.stringify(path);
    return this.#written.get(key) ?? this.#implied.get(key);
  }

  run(): void {
    if (this.#text.startsWith("\uFEFF")) this.#at = 1;
    let table: KeyPath = [];
    this.#skip(BLANK_AND_COMMENTS);
    while (this.#at < this.#text.length) {
      if (this.#peek() === "[") {
        const header = this.#header();
        if (header === undefined) return;
        table = header;
      } else if (!this.#pair(table)) return;
      this.#skip(BLANK_AND_COMMENTS);
    }
  }

  #header(): KeyPath | undefined {
    const line = this.#lineHere();
    const isArray = this.#text.startsWith("[[", this.#at);
    this.#at += isArray ? 2 : 1;
    const keys = this.#key();
    if (keys === undefined || !this.#take(isArray ? "]]" : "]")) return undefined;
    const path = this.#resolve(keys, isArray);
    this.#note(path, line);
    return path;
  }

  /** Path of a header, with the index of the last element wherever it leads through an array of tables. */
  #resolve(keys: readonly string[], isArray: boolean): KeyPath {
    const path: (string | number)[] = [];
    keys.forEach((key, index) => {
      path.push(key);
      const name = JSON.stringify(path);
      const isLast = index === keys.length - 1;
      const count = (this.#tableArrays.get(name) ?? 0) + (isLast && isArray ? 1 : 0);
      if (count === 0) return;
      this.#tableArrays.set(name, count);
      path.push(count - 1);
    });
    return path;
  }

  #pair(table: KeyPath): boolean {
    const line = this.#lineHere();
    const keys = this.#key();
    if (keys === undefined || !this.#take("=")) return false;
    const path = [...table, ...keys];
    this.#note(path, line);
    this.#skip(BLANK);
    return this.#value(path);
  }

  #value(path: KeyPath): boolean {
    if (this.#peek() === "[") return this.#array(path);
    if (this.#peek() === "{") return this.#inlineTable(path);
    return STRINGS.some((pattern) => this.#match(pattern) !== undefined) || this.#match(SCALAR) !== undefined;
  }

  #array(path: KeyPath): boolean {
    this.#at++;
    for (let index = 0;; index++) {
      this.#skip(BLANK_AND_COMMENTS);
      if (this.#take("]")) return true;
      const element = [...path, index];
      this.#note(element, this.#lineHere());
      if (!this.#value(element)) return false;
      this.#skip(BLANK_AND_COMMENTS);
      if (this.#take("]")) return true;
      if (!this.#take(",")) return false;
    }
  }

  #inlineTable(path: KeyPath): boolean {
    this.#at++;
    for (;;) {
      this.#skip(BLANK_AND_COMMENTS);
      if (this.#take("}")) return true;
      if (!this.#pair(path)) return false;
      this.#skip(BLANK_AND_COMMENTS);
      if (this.#take("}")) return true;
      if (!this.#take(",")) return false;
    }
  }

  /** A key with its dots: bare, quoted or literal parts. */
  #key(): readonly string[] | undefined {
    const parts: string[] = [];
    do {
      this.#skip(BLANK);
      const raw = this.#match(BARE_KEY) ?? this.#match(BASIC_KEY) ?? this.#match(LITERAL_KEY);
      if (raw === undefined) return undefined;
      parts.push(plainKey(raw));
      this.#skip(BLANK);
    } while (this.#take("."));
    return parts;
  }

  #note(path: KeyPath, line: number): void {
    const key = JSON.stringify(path);
    if (!this.#written.has(key)) this.#written.set(key, line);
    for (let length = 1; length < path.length; length++) {
      const prefix = JSON.stringify(path.slice(0, length));
      if (!this.#implied.has(prefix)) this.#implied.set(prefix, line);
    }
  }

  #lineHere(): number {
    for (; this.#lineCountedTo < this.#at; this.#lineCountedTo++) {
      if (this.#text[this.#lineCountedTo] === "\n") this.#line++;
    }
    return this.#line;
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #skip(pattern: RegExp): void {
    this.#match(pattern);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

/** The name that a bare or quoted key spells; escapes are left to the parser. */
function plainKey(raw: string): string {
  if (!raw.startsWith('"') && !raw.startsWith("'")) return raw;
  return Object.keys(parse(`${raw} = 0`))[0] ?? raw;
}
