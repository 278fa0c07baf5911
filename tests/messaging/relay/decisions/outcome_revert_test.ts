import assert from "node:assert/strict";
import { judgeRevert } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";

Deno.test("revert: members of a batch are halved until one stands alone; a revert that concerns the chain blames no message", () => {
  const limits: number[] = [];
  for (let carried = 100;;) {
    const verdict = judgeRevert({ carried, code: "unspecified" });
    if (verdict.kind !== "split") {
      assert.deepEqual(verdict, { kind: "alone" });
      break;
    }
    limits.push(carried = verdict.batchLimit);
  }
  assert.deepEqual(limits, [50, 25, 13, 7, 4, 2, 1]);
  for (const code of ["host_frozen", "handler_replaced", "bad_proof"] as const) {
    assert.deepEqual(judgeRevert({ carried: 100, code }), { kind: "chain" });
    assert.deepEqual(judgeRevert({ carried: 1, code }), { kind: "chain" });
  }
  assert.deepEqual(judgeRevert({ carried: 1, code: undefined }), { kind: "alone" });
});
