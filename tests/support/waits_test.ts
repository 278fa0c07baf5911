/** No wait of a test or of the devnet has a deadline of its own that a crowded machine could miss. */
import { deepEqual } from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";

/** A deadline, or a time to come, as a number. */
const OWN_DEADLINE = /\bdeadlineMs[:=] ?[\d_]+|\b(?:systemClock|Date|performance)\.now\(\) \+ [\d_]+/;

/** Where a wait has to end without what it waits for, or a server names a time to come. */
const WANTED = [
  "devnet/devnet_test.ts",
  "devnet/waiting_test.ts",
];

Deno.test("waits: whatever is awaited gets the common deadline", async () => {
  const files = (await Promise.all(["devnet", "tests"].map(listFiles))).flat();
  const found = files.filter((file) =>
    !file.endsWith("/waits_test.ts") && OWN_DEADLINE.test(Deno.readTextFileSync(`${REPOSITORY}/${file}`))
  );
  deepEqual(found.sort(), WANTED);
});

async function listFiles(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(`${REPOSITORY}/${folder}`));
  const below = await Promise.all(entries.map(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return listFiles(path);
    return Promise.resolve(name.endsWith(".ts") ? [path] : []);
  }));
  return below.flat();
}
