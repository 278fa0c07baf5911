/** `compose.yaml`, as podman-compose reads it: what it would start, without starting it. */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { haveCommands } from "./support/debian.ts";

Deno.test({
  name: "compose: both programs start as an unprivileged user, each in its own directory",
  ignore: !await haveCommands({ "podman-compose": "podman-compose", podman: "podman" }),
  fn: async () => {
    const args = ["--dry-run", "-f", `${REPOSITORY}/compose.yaml`, "up"];
    const { code, stdout, stderr } = await runOnce("podman-compose", args, {
      env: { CAUSEWAY_IMAGE: "example.org/causeway:v1.2.3" },
    });
    assert.equal(code, 0, stderr);
    const created = (stdout + stderr).split("\n").filter((line) => line.startsWith("podman create "));
    assert.equal(created.length, 2);
    for (const line of created) {
      for (const option of ["-u 65532:65532", "--read-only", "--cap-drop ALL", "no-new-privileges:true"]) {
        assert.ok(line.includes(option), `${option} is missing: ${line}`);
      }
    }
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
