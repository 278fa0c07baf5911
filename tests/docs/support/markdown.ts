/** Reads what other tests hold against the code: headings, links, blocks and tables of a Markdown document. Pure. */

/** A heading: its text, and what a link's `#anchor` calls it. */
export interface Heading {
  readonly text: string;
  readonly anchor: string;
}

/** A fenced block with its language and the heading that it stands below. */
export interface Block {
  readonly language: string;
  readonly heading: string;
  readonly text: string;
}

/** Every fenced block, in order; blocks in lists lose their indentation. */
export function readBlocks(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { indent: string; language: string; lines: string[] } | undefined;
  for (const line of markdown.split("\n")) {
    if (open !== undefined) {
      if (line.trim() === "```") {
        blocks.push({ language: open.language, heading, text: open.lines.join("\n") });
        open = undefined;
      } else open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
      continue;
    }
    const fence = /^(\s*)```(\w*)/.exec(line);
    if (fence !== null) open = { indent: fence[1] ?? "", language: fence[2] ?? "", lines: [] };
    else if (/^#+ /.test(line)) heading = line.replace(/^#+ /, "");
  }
  return blocks;
}

/** The document without its fenced blocks: the same number of lines, theirs empty. */
export function withoutBlocks(markdown: string): string {
  let isInside = false;
  return markdown.split("\n").map((line) => {
    const isFence = line.trim().startsWith("```");
    if (isFence) isInside = !isInside;
    return isFence || isInside ? "" : line;
  }).join("\n");
}

/** Every heading, in order. Repeated ones get `-1`, `-2` behind their anchor, as forges do. */
export function readHeadings(markdown: string): readonly Heading[] {
  const times = new Map<string, number>();
  return [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, raw = ""]) => {
    const text = raw.trim();
    const plain = text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-");
    const before = times.get(plain) ?? 0;
    times.set(plain, before + 1);
    return { text, anchor: before === 0 ? plain : `${plain}-${before}` };
  });
}

/** Targets of all links and images that are not in code. */
export function readLinks(markdown: string): readonly string[] {
  const prose = withoutBlocks(markdown).replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target ?? "");
}

/** Rows of every table, without heads and rules, as trimmed cells. */
export function readRows(markdown: string): readonly (readonly string[])[] {
  return withoutBlocks(markdown).split("\n")
    .filter((line) => line.startsWith("|") && !/^\|[\s:|-]+\|$/.test(line))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
}

/** Numbers of the sections (`5.7` of "### 5.7 Updates"). */
export function readSections(markdown: string): ReadonlySet<string> {
  return new Set(
    readHeadings(markdown).flatMap(({ text }) => /^(\d+(?:\.\d+)*)\.?(?= )/.exec(text)?.[1] ?? []),
  );
}
