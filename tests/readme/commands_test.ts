/**
 * README's commands, word for word, in a new checkout on a machine that has Node.js and npm, an empty environment, and a
 * proxy that inspects TLS before the real registry (half an hour). Run by `deno task readme`.
 */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { readBlock } from "../release/support/document_blocks.ts";
import { canInspect, makeMachine, runOn } from "../release/support/inspected_machine.ts";
import { runBlock } from "../release/support/shell_block.ts";
import { makeCertificates } from "../release/support/tls.ts";
import { serveLocally, type TestServer } from "../support/test_server.ts";

/** Stands before the registry that npm uses here, under another authority. */
function startProxy(upstream: string, tls: { readonly cert: string; readonly key: string }): TestServer {
  return serveLocally({ tls }, async (request) => {
    const { pathname, search, origin } = new URL(request.url);
    const accept = request.headers.get("accept") ?? "*/*";
    const answer = await fetch(`${upstream}${pathname}${search}`, { headers: { accept } });
    const type = answer.headers.get("content-type") ?? "application/octet-stream";
    // Archives are behind the proxy, too.
    const body = type.includes("json")
      ? (await answer.text()).replaceAll(upstream, origin)
      : await answer.arrayBuffer();
    return new Response(body, { status: answer.status, headers: { "content-type": type } });
  });
}

Deno.test({
  name: "README: demo and tests run word for word behind a proxy that inspects TLS",
  ignore: !await canInspect(),
  fn: async (t) => {
    const folder = await Deno.makeTempDir({ prefix: "readme-" });
    try {
      const registry = await runBlock("npm config get registry", { cwd: "/", env: {} });
      const certificates = await makeCertificates(folder);
      await using proxy = startProxy(registry.trim().replace(/\/$/, ""), certificates);
      const machine = await makeMachine(folder, `https://localhost:${proxy.port}`, certificates);
      await runBlock(`git clone --quiet "${REPOSITORY}" .`, { cwd: machine.checkout, env: {} });
      await t.step("demo", async () => {
        const said = await runOn(machine, await readBlock("README.md", "Try it", 0));
        assert.match(said, /All programs ended in order/);
      });
      await t.step("tests", async () => {
        assert.match(
          await runOn(machine, await readBlock("README.md", "Test", 0)),
          /\n\d+ passed, 0 failed\n/,
        );
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
