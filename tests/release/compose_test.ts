/** The compose files, as podman-compose reads them: what it would start, without starting it. */
import assert from "node:assert/strict";
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
      /\/causeway-consensus:\/data:ro .* causeway-consensus --config=\/data\/consensus\.toml$/,
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
