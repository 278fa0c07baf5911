import assert from "node:assert/strict";
import { Progress, type Screen, table } from "./progress.ts";

function recorder(isTerminal: boolean): Screen & { written: string } {
  return {
    isTerminal,
    written: "",
    write(text: string): void {
      this.written += text;
    },
  };
}

Deno.test("progress: without a terminal only what changed is printed, as plain lines", () => {
  const screen = recorder(false);
  const progress = new Progress(screen);
  progress.update(["a 0/2", "b 0/2"]);
  progress.update(["a 0/2", "b 1/2"]);
  progress.say("note");
  progress.update(["a 0/2", "b 1/2"]);
  assert.equal(screen.written, "a 0/2\nb 0/2\nb 1/2\nnote\n");
});

Deno.test("progress: on a terminal the block is redrawn in place, and notes go above it", () => {
  const screen = recorder(true);
  const progress = new Progress(screen);
  progress.update(["a", "b"]);
  progress.update(["a", "b"]);
  progress.update(["c", "d"]);
  progress.say("note");
  progress.finish();
  progress.update(["e"]);
  assert.equal(screen.written, "a\nb\n\x1b[2A\x1b[0Jc\nd\n\x1b[2A\x1b[0Jnote\nc\nd\ne\n");
});

Deno.test("progress: a table aligns its columns", () => {
  assert.deepEqual(table([["route", "sent"], ["A -> hub", "5"], ["B"]]), [
    "route     sent",
    "A -> hub     5",
    "B",
  ]);
  assert.deepEqual(table([["a", "b", "c"], ["a", "bb", "c"]], "left"), ["a  b   c", "a  bb  c"]);
});
