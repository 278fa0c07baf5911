/** The socket of a running program with real Unix sockets: who may use it, and what a bad client can do. */
import assert from "node:assert/strict";
import {
  type AnswerLine,
  askControl,
  ControlFault,
  type ControlSocket,
  openControlSocket,
} from "../../../src/core/runtime/control_socket.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const never = new AbortController().signal;

type Ask = (line: string, signal?: AbortSignal) => Promise<string | undefined>;

interface Scene {
  readonly path: string;
  readonly log: RecordedLog;
  readonly ask: Ask;
}

/** Works with a path for a socket in a folder of its own. */
async function inFolder(work: (path: string, ask: Ask) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "socket-" });
  const path = `${folder}/relayer.db.sock`;
  try {
    await work(
      path,
      (line, signal = never) => askControl({ clock: systemClock }, { path, line, afterMs: 20_000, signal }),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Serves `answer` at a socket while `work` runs. */
function withSocket(
  answer: AnswerLine,
  work: (scene: Scene) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  return inFolder(async (path, ask) => {
    const log = new RecordedLog();
    const stop = new AbortController();
    const socket = open(path, log, clock);
    const served = socket.serve(answer, stop.signal);
    try {
      await work({ path, log, ask });
    } finally {
      socket.close();
      stop.abort();
      await served;
    }
  });
}

function open(path: string, log = new RecordedLog(), clock: Clock = systemClock): ControlSocket {
  const socket = openControlSocket({ clock, log }, path);
  assert.ok(socket !== undefined, JSON.stringify(log.lines));
  return socket;
}

const shout: AnswerLine = (line) => Promise.resolve(line.toUpperCase());

Deno.test("control socket: answers line by line, and only its owner may use it", () =>
  withSocket(shout, async ({ path, ask }) => {
    assert.equal(await ask("hello"), "HELLO");
    assert.deepEqual(await Promise.all(["a", "b", "c"].map((line) => ask(line))), ["A", "B", "C"]);
    const { mode, isSocket } = await Deno.stat(path);
    assert.deepEqual([isSocket, (mode ?? 0) & 0o777], [true, 0o600]);
    const folder = path.slice(0, path.lastIndexOf("/"));
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["relayer.db.sock"]);
  }));

Deno.test({
  name: "control socket: root does not talk to the program of another user",
  ignore: Deno.uid() !== 0,
  fn: () =>
    withSocket(shout, async ({ path, ask }) => {
      await Deno.chown(path, 65_534, 65_534);
      await assert.rejects(ask("hello"), (fault) =>
        fault instanceof ControlFault && /\(uid 65534\)/.test(fault.message));
    }),
});

Deno.test("control socket: long lines travel whole in both directions", () =>
  withSocket((line) => Promise.resolve(line.repeat(100)), async ({ ask }) => {
    const line = "é".repeat(30_000);
    assert.equal(await ask(line), line.repeat(100));
  }));

Deno.test("control socket: the one of a dead process is nobody's, and is replaced", () =>
  inFolder(async (path, ask) => {
    assert.equal(await ask("hello"), undefined, "no socket");
    open(path).close();
    assert.ok((await Deno.lstat(path)).isSocket);
    assert.equal(await ask("hello"), undefined, "nobody answers there");
    const socket = open(path);
    const served = socket.serve(shout, new AbortController().signal);
    assert.equal(await ask("hello"), "HELLO");
    socket.close();
    await served;
  }));

Deno.test("control socket: another file, a missing folder or a long path is a warning, not the end", () =>
  inFolder(async (file) => {
    await Deno.writeTextFile(file, "precious");
    const cases: readonly (readonly [string, RegExp])[] = [
      [file, /a file that is no socket has its name/],
      [`${file}.none/x.sock`, /No such file/],
      [`${file}${"x".repeat(120)}`, /longer than the 103 bytes/],
    ];
    for (const [path, expected] of cases) {
      const log = new RecordedLog();
      assert.equal(openControlSocket({ clock: systemClock, log }, path), undefined);
      assert.deepEqual(log.events("warn"), ["control_socket_unavailable"]);
      assert.match(String(log.lines[0]?.fields.explanation), expected);
    }
    assert.equal(await Deno.readTextFile(file), "precious");
  }));

Deno.test("control socket: silent clients, endless lines and those that do not read are dropped; others are answered", async () => {
  const clock = new FakeClock();
  const shoutOrFlood: AnswerLine = (line) =>
    line === "much" ? Promise.resolve("x".repeat(32 * 1024 * 1024)) : shout(line, never);
  await withSocket(shoutOrFlood, async ({ path, ask, log }) => {
    const silent = await Deno.connect({ transport: "unix", path });
    const endless = await Deno.connect({ transport: "unix", path });
    const deaf = await Deno.connect({ transport: "unix", path });
    await deaf.write(new TextEncoder().encode("much\n"));
    const flood = (async () => {
      try {
        for (;;) await endless.write(new Uint8Array(10_000).fill(65));
      } catch (error) {
        return error;
      }
    })();
    assert.equal(await ask("hello"), "HELLO");
    assert.ok(await flood instanceof Error, "the endless line was cut off");
    // Nobody honest waits while the deadlines of the two others pass.
    while (log.lines.length < 3) {
      await clock.advance(1_000);
      await systemClock.sleep(5, never);
    }
    assert.equal(await silent.read(new Uint8Array(1)), null, "the silent client was dropped");
    assert.equal(await ask("again"), "AGAIN");
    assert.deepEqual(new Set(log.lines.map(({ event }) => event)), new Set(["control_request_failed"]));
    for (const each of [silent, endless, deaf]) each.close();
  }, clock);
});

Deno.test("control socket: more clients than it serves are turned away at once, and the next one is served", () =>
  withSocket(shout, async ({ path, ask }) => {
    const many: Deno.UnixConn[] = [];
    for (let n = 0; n < 16; n++) many.push(await Deno.connect({ transport: "unix", path }));
    await assert.rejects(ask("hello"), ControlFault);
    for (const each of many) each.close();
    await untilAnswered(ask);
  }));

Deno.test("control socket: a client that goes away aborts its request", async () => {
  const aborted = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const wait: AnswerLine = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        aborted.resolve();
        reject(signal.reason);
      });
      started.resolve();
    });
  await withSocket(wait, async ({ ask }) => {
    const leave = new AbortController();
    const asked = ask("wait", leave.signal);
    await started.promise;
    leave.abort();
    await assert.rejects(asked);
    await aborted.promise;
  });
});

/** Asks until closed connections have been noticed. */
async function untilAnswered(ask: Scene["ask"]): Promise<void> {
  for (;;) {
    try {
      assert.equal(await ask("hello"), "HELLO");
      return;
    } catch (error) {
      if (!(error instanceof ControlFault)) throw error;
      await systemClock.sleep(5, never);
    }
  }
}

Deno.test("control socket: between two rounds of a program requests wait, and are answered by the next", () =>
  inFolder(async (path, ask) => {
    const socket = open(path);
    const early = ask("early");
    const first = new AbortController();
    const round = socket.serve((line) => Promise.resolve(`first ${line}`), first.signal);
    assert.equal(await early, "first early");
    first.abort();
    await round;
    const between = ask("between");
    const second = socket.serve((line) => Promise.resolve(`second ${line}`), new AbortController().signal);
    assert.equal(await between, "second between");
    socket.close();
    await second;
  }));

Deno.test("control socket: the end of a round ends the work of an answer, which is given anyway", () =>
  inFolder(async (path, ask) => {
    const socket = open(path);
    const round = new AbortController();
    const started = Promise.withResolvers<void>();
    const served = socket.serve((_, gone) => {
      started.resolve();
      return new Promise((resolve) => gone.addEventListener("abort", () => resolve("ended")));
    }, round.signal);
    const asked = ask("claim");
    await started.promise;
    round.abort();
    assert.equal(await asked, "ended");
    await served;
    socket.close();
  }));
