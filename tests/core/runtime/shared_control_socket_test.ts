import assert from "node:assert/strict";
import type { AnswerLine, ControlSocket } from "../../../src/core/runtime/control_socket.ts";
import { SharedControlSocket } from "../../../src/core/runtime/shared_control_socket.ts";

/** A socket that is asked by the test; it ends when it is closed. */
class AskedSocket implements ControlSocket {
  isClosed = false;
  #answer: AnswerLine | undefined;
  #end = (): void => {};

  serve(answer: AnswerLine, signal: AbortSignal): Promise<void> {
    assert.equal(this.#answer, undefined, "served twice");
    this.#answer = answer;
    return new Promise((resolve) => {
      this.#end = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  close(): void {
    this.isClosed = true;
    this.#end();
  }

  async ask(line: string): Promise<string> {
    return await this.#answer?.(line, new AbortController().signal) ?? "nobody";
  }
}

Deno.test("shared control socket: each round answers, between two of them there is a standing answer", async () => {
  const asked = new AskedSocket();
  const shared = new SharedControlSocket(asked, "not now");
  for (const name of ["first", "second"]) {
    const round = new AbortController();
    const served = shared.serve((line) => Promise.resolve(`${name} ${line}`), round.signal);
    assert.equal(await asked.ask("status"), `${name} status`);
    round.abort();
    await served;
    assert.equal(await asked.ask("status"), "not now");
  }
  await shared.end();
  assert.ok(asked.isClosed);
});

Deno.test("shared control socket: the end of a round ends the work of an answer, which is given anyway", async () => {
  const asked = new AskedSocket();
  const shared = new SharedControlSocket(asked, "not now");
  const round = new AbortController();
  const served = shared.serve(
    (_, gone) =>
      new Promise((resolve) => gone.addEventListener("abort", () => resolve("ended"), { once: true })),
    round.signal,
  );
  const answer = asked.ask("claim");
  round.abort();
  assert.equal(await answer, "ended");
  await served;
  await shared.end();
});

Deno.test("shared control socket: one that was never served is closed, too", async () => {
  const asked = new AskedSocket();
  await new SharedControlSocket(asked, "").end();
  assert.ok(asked.isClosed);
});
