/** The shell lines that README.md tells people to run, so that tests run the same ones. */
import { REPOSITORY } from "../../devnet/repository.ts";

/** The `sh` blocks below a heading (without its `#`), in order. @throws {Error} when there are none. */
export async function readBlocks(heading: string): Promise<readonly string[]> {
  const lines = (await Deno.readTextFile(`${REPOSITORY}/README.md`)).split("\n");
  const blocks: string[] = [];
  let isBelow = false;
  let block: string[] | undefined;
  for (const line of lines) {
    if (block !== undefined) {
      if (line !== "```") block.push(line);
      else {
        blocks.push(block.join("\n"));
        block = undefined;
      }
    } else if (/^#+ /.test(line)) isBelow = line.replace(/^#+ /, "") === heading;
    else if (isBelow && line === "```sh") block = [];
  }
  if (blocks.length === 0) throw new Error(`README.md has no shell blocks below "${heading}"`);
  return blocks;
}

/** One of the blocks below a heading. */
export async function readBlock(heading: string, at: number): Promise<string> {
  const block = (await readBlocks(heading))[at];
  if (block === undefined) throw new Error(`README.md has no block ${at} below "${heading}"`);
  return block;
}
