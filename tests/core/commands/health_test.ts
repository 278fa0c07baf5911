/** `health` of both programs against a status server on loopback. */
import assert from "node:assert/strict";
import { parseArguments } from "../../../src/messaging/arguments.ts";
import { runConsensusCommand, runMessagingCommand } from "../../support/standalone_commands.ts";
import { serveLocally } from "../../support/test_server.ts";

Deno.test("health: it needs neither configuration nor database, and asks /healthz unless a path is named", async () => {
  const paths: string[] = [];
  await using server = serveLocally({}, (request) => {
    paths.push(new URL(request.url).pathname);
    return new Response("ok\n");
  });
  const base = `http://127.0.0.1:${server.port}`;
  const fine = { code: 0, stdout: "ok\n", stderr: "" };
  assert.deepEqual(await runMessagingCommand(["health", `--url=${base}`], {}), fine);
  assert.deepEqual(await runConsensusCommand(["health", "--url", `${base}/readyz`], {}), fine);
  assert.deepEqual(paths, ["/healthz", "/readyz"]);
});

Deno.test("health: another status is 1 with the answer, which cannot steer a terminal", async () => {
  await using server = serveLocally({}, () => new Response("not\u001b[31m ready\nnow\n", { status: 503 }));
  assert.deepEqual(
    await runMessagingCommand(["health", `--url=http://127.0.0.1:${server.port}/readyz`], {}),
    {
      code: 1,
      stdout: "not\\u001b[31m ready\nnow\n",
      stderr: "",
    },
  );
});

Deno.test("health: without an answer it says what to look for", async () => {
  const server = serveLocally({}, () => new Response("ok\n"));
  await server.stop();
  const host = `127.0.0.1:${server.port}`;
  assert.deepEqual(await runMessagingCommand(["health", `--url=http://${host}`], {}), {
    code: 1,
    stdout: "",
    stderr: `No answer from ${host}/healthz. Is the program running, with --listen=${host}?\n`,
  });
});

Deno.test("health: a redirect is not followed", async () => {
  await using server = serveLocally({}, () => Response.redirect("http://192.0.2.1/"));
  const { code } = await runMessagingCommand(["health", `--url=http://127.0.0.1:${server.port}`], {});
  assert.equal(code, 1);
});

Deno.test("health: what is no URL is a wrong command line", () => {
  for (
    const args of [["health"], ["health", "--url=127.0.0.1:9180"], ["health", "--url=file:///etc/passwd"]]
  ) {
    const parsed = parseArguments(args, "causeway 0");
    assert.ok(parsed.kind === "exit");
    assert.equal(parsed.code, 2);
  }
});
