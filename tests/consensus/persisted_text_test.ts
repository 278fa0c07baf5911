import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { openPersistedText, PersistedTextFault } from "../../src/consensus/persisted_text.ts";

Deno.test("kept text: what was written last is read, also by the next program", () => {
  const folder = Deno.makeTempDirSync();
  const path = `${folder}/text`;
  const text = openPersistedText(path);
  equal(text.read(), undefined);
  equal(text.write("a longer text than the one that follows"), true);
  equal(text.write("short"), true);
  equal(text.read(), "short");
  const next = openPersistedText(path);
  equal(next.read(), "short");
  equal((Deno.statSync(path).mode ?? 0) & 0o077, 0, "nobody else reads it");
  text.close();
  next.close();
  equal([text.read(), text.write("more")], [undefined, false]);
});

Deno.test("kept text: a folder that does not exist is named", () => {
  throws(
    () => openPersistedText("/nowhere/at/all/text"),
    (error) => error instanceof PersistedTextFault && /text: its folder does not exist/.test(error.message),
  );
});
