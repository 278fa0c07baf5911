/** Checks before the first poll, as an observer hears of them. */
import assert from "node:assert/strict";
import { observeCheck, type PollResult } from "../../src/consensus/poll_loop.ts";
import type { CheckRow } from "../../src/core/checks/check_row.ts";
import { faultOf } from "../support/rpc_faults.ts";

const route = { chain: "EVM-1", target: "KUSAMA-4009" };

/** Makes a check; returns what was noted, and what the caller gets. */
async function make(
  check: () => Promise<readonly CheckRow[]>,
): Promise<{ readonly noted: readonly PollResult[]; readonly end: unknown }> {
  const noted: PollResult[] = [];
  const observer = {
    noteUpdate: () => assert.fail("nothing was updated"),
    notePoll: (of: unknown, result: PollResult) => {
      assert.equal(of, route);
      noted.push(result);
    },
  };
  const end = await observeCheck({ route, observer, check }).catch((error: unknown) => error);
  return { noted, end };
}

const row = { chain: "EVM-1", check: "chain_id" } as const;
const warning: CheckRow = { ...row, result: "warning", found: "there is none" };
const failed: CheckRow = { ...row, result: "failed", found: "it serves EVM-5" };

Deno.test("check of a worker: warnings are none of the observer's, failed rows are", async () => {
  assert.deepEqual(await make(() => Promise.resolve([warning])), { noted: [], end: [warning] });
  const { noted, end } = await make(() => Promise.resolve([warning, failed]));
  assert.deepEqual(noted, [{ kind: "suspended", failure: { text: "it serves EVM-5" } }]);
  assert.deepEqual(end, [warning, failed]);
});

Deno.test("check of a worker: a fault is noted with its endpoint, and thrown", async () => {
  const fault = faultOf("timeout");
  const { noted: [result], end } = await make(() => Promise.reject(fault));
  assert.ok(result?.kind === "failed");
  assert.equal(result.failure.host, fault.where.endpointHost);
  assert.match(result.failure.text, / on .*: timeout$/);
  assert.equal(end, fault);
  const defect = new Error("a defect");
  assert.deepEqual(await make(() => Promise.reject(defect)), { noted: [], end: defect });
});
