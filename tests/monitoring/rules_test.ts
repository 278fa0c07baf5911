/** Alert rules: promtool accepts them and plays their unit tests. */
import assert from "node:assert/strict";
import { runOnce } from "../scenario/support/run_once.ts";
import { haveCommands } from "../release/support/debian.ts";

const FOLDER = new URL("../../packaging/monitoring/", import.meta.url).pathname;

Deno.test("alerts: promtool accepts configuration and rules, and the unit tests of the rules pass", async () => {
  assert.ok(await haveCommands({ promtool: "prometheus" }), "There is no `promtool`: apt install prometheus");
  for (const args of [["check", "config", "prometheus.yml"], ["test", "rules", "alerts.test.yml"]]) {
    const { code, stdout, stderr } = await runOnce("promtool", args, { cwd: FOLDER });
    assert.equal(code, 0, `${args.join(" ")}: ${stdout}${stderr}`);
  }
});
