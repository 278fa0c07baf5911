/** TypeScript source as tests of the source read it: code without comments and texts, and what it imports. */

/** A piece of source: code, or the inside of a text, template or regular expression. */
type Mode = "code" | "line" | "block" | "'" | '"' | "`" | "/";

/** What may come right before a regular expression, but not before a division. */
const beforeRegex = /(?:^|[=(,:;!&|?{}\[+\-*%<>~^]|\b(?:return|typeof|case|of|in|void|await|throw))\s*$/;

/** Position after the literal or comment that begins at `start`, for modes without nesting. */
function endOf(source: string, start: number, mode: Exclude<Mode, "code" | "`">): number {
  if (mode === "line") {
    const end = source.indexOf("\n", start);
    return end < 0 ? source.length : end;
  }
  if (mode === "block") {
    const end = source.indexOf("*/", start + 2);
    return end < 0 ? source.length : end + 2;
  }
  let isInClass = false;
  for (let at = start + 1; at < source.length; at++) {
    const char = source[at];
    if (char === "\\") at++;
    else if (mode === "/" && char === "[") isInClass = true;
    else if (mode === "/" && char === "]") isInClass = false;
    else if (char === mode && !isInClass) return at + 1;
    else if (char === "\n") return at;
  }
  return source.length;
}

/** Which literal or comment begins here, given the code before it. */
function modeAt(source: string, at: number, codeBefore: string): Mode {
  const char = source[at];
  if (char === "'" || char === '"' || char === "`") return char;
  if (char !== "/") return "code";
  if (source[at + 1] === "/") return "line";
  if (source[at + 1] === "*") return "block";
  return beforeRegex.test(codeBefore.slice(-40)) ? "/" : "code";
}

/**
 * The code alone: comments, texts and regular expressions are emptied, expressions inside of templates stay.
 * Line breaks are kept.
 */
export function stripSource(source: string): string {
  return readSource(source).code.replaceAll(/"\d+"/g, '""');
}

/** The code with each quoted text as its number in `texts`, in quotes. */
export function readSource(source: string): { readonly code: string; readonly texts: readonly string[] } {
  let code = "";
  const texts: string[] = [];
  // Depth of braces at which each open template continues.
  const templates: number[] = [];
  let depth = 0;
  const readTemplate = (from: number): number => {
    for (let at = from; at < source.length; at++) {
      if (source[at] === "\\") at++;
      else if (source[at] === "`") return at + 1;
      else if (source[at] === "$" && source[at + 1] === "{") {
        templates.push(depth++);
        code += "${";
        return at + 2;
      } else if (source[at] === "\n") code += "\n";
    }
    return source.length;
  };
  for (let at = 0; at < source.length;) {
    const mode = modeAt(source, at, code);
    if (mode === "code") {
      const char = source[at] ?? "";
      if (char === "{") depth++;
      if (char === "}") depth--;
      code += char;
      at++;
      if (char === "}" && templates.at(-1) === depth) {
        templates.pop();
        at = readTemplate(at);
      }
      continue;
    }
    if (mode === "`") {
      code += "``";
      at = readTemplate(at + 1);
      continue;
    }
    const end = endOf(source, at, mode);
    const piece = source.slice(at, end);
    if (mode === "'" || mode === '"') code += `"${texts.push(piece.slice(1, -1)) - 1}"`;
    else code += " " + piece.replaceAll(/[^\n]/g, "");
    at = end;
  }
  return { code, texts };
}

/** What a file imports or re-exports, as written; `import()` of a text included. */
export function importsOf(source: string): string[] {
  const { code, texts } = readSource(source);
  const patterns = [
    /\b(?:import|export)\b[^;"]*?\bfrom\s*"(\d+)"/g,
    /\bimport\s*"(\d+)"/g,
    /\bimport\s*\(\s*"(\d+)"/g,
  ];
  return patterns.flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => texts[Number(match[1])] ?? "")
  );
}
