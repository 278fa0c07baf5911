/** The image of a standby, run with what its compose file says: it relays while it has the lock. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { events } from "../../src/core/telemetry/log.ts";
import { startDevnet } from "../../devnet/devnet.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { sendPing, waitForDelivery } from "../../devnet/traffic/messages.ts";
import { addStandbyBases, CONTAINER_COMMANDS, prepareContainers } from "../release/support/containers.ts";
import { haveCommands } from "../release/support/debian.ts";
import { readBlock } from "../release/support/document_blocks.ts";
import { runBlock, startBlock } from "../release/support/shell_block.ts";
import { buildLitestream } from "./litestream.ts";
import { Etcd } from "./etcd.ts";

/** What the test reads of the compose file. */
interface Service {
  readonly user: string;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly tmpfs: readonly string[];
  readonly volumes: readonly string[];
}

Deno.test({
  name:
    "standby: the image, run as its compose file says, relays while it has the lock, and leaves a replica",
  ignore: !await haveCommands({
    ...CONTAINER_COMMANDS,
    etcd: "etcd-server",
    etcdctl: "etcd-client",
    catatonit: "catatonit",
  }),
  // Containers of this storage are removed by podman, which has mounted what is below the folder.
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "standby-image-" });
    await Deno.chmod(folder, 0o755);
    const { bin } = await prepareContainers(folder);
    const env = { PATH: `${bin}:${Deno.env.get("PATH")}`, TMPDIR: folder };
    try {
      await addStandbyBases(folder, await buildLitestream());
      await runBlock(`deno task --quiet release --no-build --url=http://127.0.0.1/ --out="${folder}/dist"`, {
        cwd: REPOSITORY,
        env,
      });
      const [, build = ""] = (await readBlock("docs/operations/standby.md", "With compose", 0)).split("\n");
      assert.match(build, /^docker build /);
      await runBlock(build, { cwd: REPOSITORY, env });
      await playContainer(folder, env);
    } finally {
      await runBlock("docker rm --force --all", { cwd: folder, env });
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** Runs the image against a devnet and an etcd of this machine. */
async function playContainer(folder: string, env: Readonly<Record<string, string>>): Promise<void> {
  const { services: { causeway: service } }: { readonly services: { readonly causeway: Service } } = parse(
    await Deno.readTextFile(`${REPOSITORY}/packaging/standby/compose.yaml`),
  );
  await using devnet = await startDevnet({ blockTimeSec: 1, hubBlockTimeMs: 400, oracleEveryMs: 200 });
  await using etcd = new Etcd(await Deno.makeTempDir({ prefix: "etcd-" }));
  await etcd.start();
  await runBlock("mkdir causeway causeway/replica", { cwd: folder, env });
  await Deno.writeTextFile(`${folder}/causeway/relayer.toml`, relayerConfig(devnet.endpoints), {
    mode: 0o600,
  });
  await runBlock(`chown -R ${service.user} causeway`, { cwd: folder, env });
  await Deno.writeTextFile(
    `${folder}/standby.env`,
    `ETCDCTL_ENDPOINTS=http://127.0.0.1:${etcd.port}\nCAUSEWAY_REPLICA=file:///data/replica\n`,
  );
  const options = [
    `--name standby --read-only --init -u ${service.user} --env-file standby.env`,
    ...service.cap_drop.map((name) => `--cap-drop ${name}`),
    ...service.security_opt.map((option) => `--security-opt ${option}`),
    ...Object.entries(service.environment).map(([name, value]) => `-e ${name}=${value}`),
    ...service.tmpfs.map((place) => `--tmpfs ${place}`),
    ...service.volumes.map((volume) => `-v ${volume.replace("./", `${folder}/`)}`),
  ].join(" ");
  await using running = startBlock(
    `exec docker run --rm ${options} causeway-standby ${service.command.join(" ")}`,
    { cwd: folder, env },
  );
  await running.waitFor(new RegExp(events.leg_started.text), { count: 2 * devnet.chains.length });
  const dockerfile = await Deno.readTextFile(`${REPOSITORY}/packaging/standby/Dockerfile`);
  const probe = /^HEALTHCHECK .*\\\n {2}CMD (.+)$/m.exec(dockerfile)?.[1];
  assert.ok(probe !== undefined);
  await runBlock(`docker exec standby sh -c '${probe}'`, { cwd: folder, env });
  await waitForDelivery(devnet, await sendPing(devnet, { from: "A", to: "hub" }));
  assert.equal(await running.terminate(), 0, running.text);
  assert.ok(running.text.includes(events.program_stopped.text), running.text);
  const replica = await Array.fromAsync(Deno.readDir(`${folder}/causeway/replica/ltx`));
  assert.ok(replica.length > 0, "Litestream has replicated the database");
}
