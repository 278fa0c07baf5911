import assert from "node:assert/strict";
import { linkedAbort } from "../../../src/core/runtime/linked_abort.ts";

Deno.test("a linked signal is aborted with the reason of whichever is first, before or after it was linked", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const linked = linkedAbort(first.signal, second.signal);
  second.abort("second");
  first.abort("first");
  assert.equal(linked.signal.reason, "second");
  assert.equal(linkedAbort(first.signal).signal.reason, "first");
});

Deno.test("a linked signal aborted by itself leaves the others alone; once let go, they leave it alone", () => {
  const outer = new AbortController();
  const own = linkedAbort(outer.signal);
  own.abort("own");
  assert.deepEqual([own.signal.reason, outer.signal.aborted], ["own", false]);
  const free = linkedAbort(outer.signal);
  free.unlink();
  outer.abort("outer");
  assert.equal(free.signal.aborted, false);
});

Deno.test("a wait that hangs on a linked signal alone outlives a collection of memory", async () => {
  const module = import.meta.resolve("../../../src/core/runtime/linked_abort.ts");
  const program = `
    import { linkedAbort } from ${JSON.stringify(module)};
    const outer = new AbortController();
    const wait = async () => {
      const { signal } = linkedAbort(outer.signal);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      console.log("ended");
    };
    void wait();
    setTimeout(() => { gc(); gc(); }, 20);
    setTimeout(() => outer.abort(), 60);`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--v8-flags=--expose-gc", program],
    env: { NO_COLOR: "1" },
  }).output();
  const said = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  assert.deepEqual([code, said(stdout)], [0, "ended\n"], said(stderr));
});
