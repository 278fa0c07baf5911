/**
 * README's commands where a proxy inspects TLS. The registry is one of this machine; the npm package of Deno is a script
 * there that runs the Deno of this test. `deno task readme` runs the same commands with the real registry and checkout.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { readBlock } from "./support/document_blocks.ts";
import { canInspect, makeMachine, runOn, STORE } from "./support/inspected_machine.ts";
import { type ReleaseServer, startReleaseServer } from "./support/release_server.ts";
import { runBlock } from "./support/shell_block.ts";
import { makeCertificates } from "./support/tls.ts";

const canTest = await canInspect();

/** Puts into a checkout what the commands need, and into the registry what that fetches. */
async function prepare(folder: string, checkout: string, server: ReleaseServer): Promise<void> {
  await Deno.copyFile(`${REPOSITORY}/deno`, `${checkout}/deno`);
  const tasks = { demo: "deno run main.ts demo", ok: "deno run main.ts ok" };
  await Deno.writeTextFile(`${checkout}/deno.json`, JSON.stringify({ tasks }));
  await Deno.writeTextFile(
    `${checkout}/main.ts`,
    'import probe from "npm:causeway-probe@1.0.0"; console.log(probe, Deno.args[0]);',
  );
  const version = /^version=(\S+)$/m.exec(await Deno.readTextFile(`${REPOSITORY}/deno`))?.[1] ?? "";
  await publish(folder, server, {
    name: "deno",
    version,
    bin: "main",
    files: { main: `#!/bin/sh\nexec "${Deno.execPath()}" "$@"\n` },
  });
  await publish(folder, server, {
    name: "causeway-probe",
    version: "1.0.0",
    files: { "index.js": 'module.exports = "fetched";\n' },
  });
}

/** Makes a package available. */
async function publish(
  folder: string,
  { url, files }: ReleaseServer,
  { name, version, bin, files: content }: {
    readonly name: string;
    readonly version: string;
    readonly bin?: string;
    readonly files: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const manifest = { name, version, ...bin === undefined ? { main: "index.js" } : { bin: { [name]: bin } } };
  const parent = `${folder}/${name}`;
  await Deno.mkdir(`${parent}/package`, { recursive: true });
  for (const [path, text] of Object.entries({ ...content, "package.json": JSON.stringify(manifest) })) {
    await Deno.writeTextFile(`${parent}/package/${path}`, text, { mode: 0o755 });
  }
  await runBlock("tar -czf package.tgz package", { cwd: parent, env: {} });
  const archive = await Deno.readFile(`${parent}/package.tgz`);
  const path = `/${name}/-/${name}-${version}.tgz`;
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  files.set(path, archive);
  files.set(`/${name}`, () =>
    Response.json({
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist: { tarball: `${url}${path}`, integrity } } },
    }));
}

Deno.test({
  name: "README: its commands work in an empty environment where a proxy inspects TLS",
  ignore: !canTest,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "readme-" });
    try {
      const certificates = await makeCertificates(folder);
      await using server = startReleaseServer(certificates);
      const machine = await makeMachine(folder, server.url, certificates);
      await prepare(folder, machine.checkout, server);
      const bare = `npx --yes deno@$(sed -n s/^version=//p deno) task demo`;
      // Neither npm nor Deno reads the store by itself.
      const once = "npm_config_fetch_retries=0";
      assert.match(
        await runOn(machine, bare, { code: 1, env: once }),
        /SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_/,
      );
      assert.match(
        await runOn(machine, bare, { code: 1, env: `NODE_EXTRA_CA_CERTS=${STORE}` }),
        /invalid peer certificate: UnknownIssuer/,
      );
      assert.match(await runOn(machine, await readBlock("README.md", "Try it", 0)), /fetched demo/);
      assert.match(await runOn(machine, await readBlock("README.md", "Test", 0)), /fetched ok/);
      const asked = server.requests.map((path) => path.split("/")[1]);
      assert.deepEqual(new Set(asked), new Set(["deno", "causeway-probe"]));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
