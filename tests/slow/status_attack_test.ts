/** Whoever reaches the port of `--listen` ends nothing with it: the compiled relayer under an attack, with few descriptors. */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { playScene } from "../scenario/support/scene.ts";

/** Connections of the attack: more than the relayer may have descriptors. */
const CONNECTIONS = 1_500;

/** What the connections send, each in turn: nothing, a part of a request, one that is answered and not read, garbage. */
const SENT = [
  "",
  "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
  "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n",
  "\u0000\u0001\u0002\r\n\r\n",
];

/** Opens connections that stay open as long as the other side lets them. */
async function openMany(port: number): Promise<AsyncDisposable> {
  const open: Deno.TcpConn[] = [];
  for (let count = 0; count < CONNECTIONS; count++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    open.push(connection);
    // Many are closed already, for lack of room.
    await connection.write(new TextEncoder().encode(SENT[count % SENT.length])).catch(() => 0);
  }
  return {
    [Symbol.asyncDispose]: () => Promise.resolve(open.forEach((connection) => connection.close())),
  };
}

Deno.test("status port: under 1,500 connections and with 1,024 descriptors relaying continues, and the page is served, during and after", () =>
  playScene({}, async (scene) => {
    const limited = `${scene.folder}/limited`;
    await Deno.writeTextFile(limited, `#!/bin/sh\nulimit -n 1024 && exec ${RELAYER_EXECUTABLE} "$@"\n`, {
      mode: 0o755,
    });
    assert.ok(RELAYER_EXECUTABLE.startsWith(REPOSITORY));
    const relayer = scene.relayer();
    const process = await relayer.startAndWait({}, {
      executable: limited,
      extraArguments: ["--listen=127.0.0.1:0"],
    });
    const { record } = await process.waitForLine("status_server_started");
    const port = Number(new URL(`http://${record?.address}`).port);
    const read = async (path: string): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      await answer.body?.cancel();
      return answer.status;
    };
    const messages = [];
    for (let round = 0; round < 2; round++) {
      await using _attack = await openMany(port);
      const descriptors = [...Deno.readDirSync(`/proc/${process.pid}/fd`)].length;
      assert.ok(descriptors < 512, `${descriptors} descriptors`);
      messages.push(...await sendPing(scene.devnet, { from: "A", to: "B", count: 3 }));
      assert.equal(await read("/healthz"), 200);
      await scene.untilDelivered(messages);
    }
    for (const path of ["/", "/readyz", "/metrics", "/status.json"]) {
      assert.equal(await read(path), 200, path);
    }
    await relayer.untilEnded(messages);
    // No line of the log for any of it, so the last warnings are still those of the relayer.
    const said = process.lines.filter(({ record }) => String(record?.event).startsWith("status_"));
    assert.deepEqual(said.map(({ record }) => record?.event), ["status_server_started"]);
    assert.equal(process.isRunning, true);
    await scene.finish();
  }));
