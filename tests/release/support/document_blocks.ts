/** The shell lines that the documents tell people to run, so that tests run the same ones. */
import { readBlocks } from "../../docs/support/markdown.ts";
import { readFile } from "../../docs/support/tree.ts";

/** One of the `sh` blocks of a document (path from the root of the repository) below a heading (without its `#`). */
export async function readBlock(path: string, heading: string, at: number): Promise<string> {
  const blocks = readBlocks(await readFile(path)).filter((block) =>
    block.language === "sh" && block.heading === heading
  );
  const block = blocks[at];
  if (block === undefined) throw new Error(`${path} has no shell block ${at} below "${heading}"`);
  return block.text;
}
