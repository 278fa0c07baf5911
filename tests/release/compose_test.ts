/** The compose files, as podman-compose reads them: what it would start, without starting it. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { haveCommands } from "./support/debian.ts";

const canCompose = await haveCommands({ "podman-compose": "podman-compose", podman: "podman" });

/** The commands that would create the containers of a compose file. */
async function createdBy(file: string, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const args = ["--dry-run", "-f", `${REPOSITORY}/${file}`, "up"];
  const { code, stdout, stderr } = await runOnce("podman-compose", args, { env });
  assert.equal(code, 0, stderr);
  return (stdout + stderr).split("\n").filter((line) => line.startsWith("podman create "));
}

function assertHas(line: string, options: readonly string[]): void {
  for (const option of options) assert.ok(line.includes(option), `${option} is missing: ${line}`);
}

const HARDENED = ["-u 65532:65532", "--read-only", "--cap-drop ALL", "no-new-privileges:true"];

Deno.test({
  name: "compose: both programs start as an unprivileged user, each in its own directory",
  ignore: !canCompose,
  fn: async () => {
    const created = await createdBy("compose.yaml", { CAUSEWAY_IMAGE: "example.org/causeway:v1.2.3" });
    assert.equal(created.length, 2);
    for (const line of created) assertHas(line, HARDENED);
    const [messaging, consensus] = created;
    assert.match(
      messaging ?? "",
      /\/causeway:\/data .* example\.org\/causeway:v1\.2\.3 --config=\/data\/relayer\.toml --db=\/data\/relayer\.db$/,
    );
    assert.match(
      consensus ?? "",
      /\/causeway-consensus:\/data .* causeway-consensus --config=\/data\/consensus\.toml --cache=\/data$/,
    );
  },
});

Deno.test({
  name:
    "compose: a standby is started again whenever it ends, with a fence that does not outlive it; etcd is for those who ask",
  ignore: !canCompose,
  fn: async () => {
    const file = "packaging/standby/compose.yaml";
    const created = await createdBy(file, { CAUSEWAY_STANDBY_IMAGE: "example.org/standby:v1.2.3" });
    assert.equal(created.length, 2);
    const [standby = "", etcd = ""] = created;
    assertHas(standby, [
      ...HARDENED,
      "--restart always",
      "--init",
      "--env-file",
      "-e CAUSEWAY_FENCE=/run/causeway/fence",
      "--tmpfs /run/causeway:",
      "/causeway:/data",
    ]);
    assert.match(standby, / example\.org\/standby:v1\.2\.3 --config=\/data\/relayer\.toml$/);
    assertHas(etcd, ["--network host", "--read-only", "--cap-drop ALL", "--restart always"]);
    const text = await Deno.readTextFile(`${REPOSITORY}/${file}`);
    assert.match(text, /^ {2}etcd:\n {4}image: .*\n {4}profiles: \[etcd\]$/m);
  },
});

Deno.test("compose: no container leaves its memory on a disk, nothing has an account with a known password, etcd wants certificates", async () => {
  const read = async (file: string): Promise<Record<string, Record<string, unknown>>> =>
    parse(await Deno.readTextFile(`${REPOSITORY}/${file}`), { merge: true }).services;
  const monitoring = await read("packaging/monitoring/compose.yaml");
  const standby = await read("packaging/standby/compose.yaml");
  const plain = await read("compose.yaml");
  for (const services of [plain, monitoring]) {
    for (const name of ["causeway", "causeway-consensus"]) {
      assert.deepEqual(services[name]?.ulimits, { core: 0 });
    }
  }
  assert.deepEqual(standby.causeway?.ulimits, { core: 0 });
  for (const unit of ["systemd/causeway", "systemd/causeway-consensus", "standby/causeway-standby"]) {
    assert.match(await Deno.readTextFile(`${REPOSITORY}/packaging/${unit}.service`), /^LimitCORE=0$/m);
  }
  for (const name of ["grafana", "prometheus"]) assert.deepEqual(monitoring[name]?.cap_drop, ["ALL"]);
  assert.deepEqual(monitoring.grafana?.environment, {
    GF_ANALYTICS_REPORTING_ENABLED: "false",
    GF_AUTH_ANONYMOUS_ENABLED: "true",
    GF_AUTH_BASIC_ENABLED: "false",
    GF_AUTH_DISABLE_LOGIN_FORM: "true",
    GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: "true",
  });
  const etcd = standby.etcd?.environment;
  assert.ok(typeof etcd === "object" && etcd !== null);
  const needed = ["CLIENT_CERT_AUTH", "TRUSTED_CA_FILE", "CERT_FILE", "KEY_FILE"];
  assert.deepEqual(
    Object.keys(etcd).sort(),
    [...needed, ...needed.map((name) => `PEER_${name}`)]
      .map((name) => `ETCD_${name}`).sort(),
  );
});

Deno.test("standby: an etcd of another machine that is asked without encryption is named", async () => {
  const folder = await Deno.makeTempDir({ prefix: "standby-" });
  try {
    await Deno.writeTextFile(`${folder}/etcdctl`, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    const { stderr } = await runOnce(`${REPOSITORY}/packaging/standby/causeway-standby`, [], {
      env: {
        PATH: `${folder}:${Deno.env.get("PATH")}`,
        CAUSEWAY_DB: `${folder}/a.db`,
        CAUSEWAY_REPLICA: "file:///nowhere",
        CAUSEWAY_FENCE: `${folder}/fence`,
        ETCDCTL_ENDPOINTS: "https://a.example:2379,http://b.example:2379,c.example:2379,127.0.0.1:2379",
      },
    });
    const named = [...stderr.matchAll(/warning: (\S+) is not encrypted/g)].map(([, endpoint]) => endpoint);
    assert.deepEqual(named, ["http://b.example:2379", "c.example:2379"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
