/** Files of the repository, as the tests of its documents see them. */
import { REPOSITORY } from "../../../devnet/programs/repository.ts";

/** Folders that are made, not written. */
const LEFT_OUT = new Set([".git", "build", "dist", "stage", "cov"]);

/** Paths from the root of the repository, with `/`, sorted. */
export async function listFiles(): Promise<readonly string[]> {
  return (await below("")).sort();
}

async function below(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(`${REPOSITORY}/${folder}`)) {
    if (isDirectory && !LEFT_OUT.has(`${folder}${name}`)) files.push(...await below(`${folder}${name}/`));
    else if (isFile) files.push(`${folder}${name}`);
  }
  return files;
}

/** Text of a file, by its path from the root of the repository. */
export function readFile(path: string): Promise<string> {
  return Deno.readTextFile(`${REPOSITORY}/${path}`);
}

/** Path and text of every file whose path fits. */
export async function readFiles(fits: (path: string) => boolean): Promise<ReadonlyMap<string, string>> {
  const paths = (await listFiles()).filter(fits);
  return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
}
