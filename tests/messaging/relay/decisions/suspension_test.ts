import assert from "node:assert/strict";
import type { SuspensionRow } from "../../../../src/messaging/ledger/ledger.ts";
import { type Hash256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import {
  afterFailure,
  isWithinRisk,
  type PairHistory,
} from "../../../../src/messaging/relay/limits/suspension.ts";

const DAY_MS = 86_400_000;
const hash = (number: number): Hash256 => toHash256(new Uint8Array(32).fill(number));

function row(history: PairHistory, updatedAtMs: number): SuspensionRow {
  const key = {
    target: parseStateMachine("EVM-2"),
    sender: new Uint8Array(20),
    receiver: new Uint8Array(20),
  };
  return { ...key, ...history, updatedAtMs };
}

Deno.test("suspension: two tries follow a failure, after one day and after three more, then none by itself", () => {
  let before: SuspensionRow | undefined;
  const pauses: number[] = [];
  for (const [index, nowMs] of [0, DAY_MS, 4 * DAY_MS].entries()) {
    const after = afterFailure(before, { transaction: hash(index), nowMs });
    assert.deepEqual([after.failures, after.isActive], [index + 1, true]);
    pauses.push(after.nextTryAtMs === NEVER_MS ? NEVER_MS : after.nextTryAtMs - nowMs);
    before = row(after, nowMs);
  }
  assert.deepEqual(pauses, [DAY_MS, 3 * DAY_MS, NEVER_MS]);
});

Deno.test("suspension: a transaction counts once, whatever it carries and wherever it is mined", () => {
  const first = row(afterFailure(undefined, { transaction: hash(1), nowMs: 5 }), 5);
  assert.equal(afterFailure(first, { transaction: hash(1), nowMs: 9_000 }), first);
});

Deno.test("suspension: a success sets the pair free, and its failures are forgotten after a month without another", () => {
  const failed = row(afterFailure(undefined, { transaction: hash(1), nowMs: 0 }), 0);
  const free = { ...failed, isActive: false, updatedAtMs: DAY_MS };
  const again = (nowMs: number): number => afterFailure(free, { transaction: hash(2), nowMs }).failures;
  assert.deepEqual([again(31 * DAY_MS), again(31 * DAY_MS + 1)], [2, 1]);
});

Deno.test("risk: strangers lose ten dollars a day, and a quarter of what they share with proven pairs", () => {
  /** A dollar for each native token. */
  const price27 = 10n ** 27n;
  const dollars = (wei: bigint): bigint => wei * 10n ** 18n;
  const judge = (lost: bigint, planned: bigint, shared?: bigint): boolean =>
    isWithinRisk({
      lostMicroUsd: lost * 1_000_000n,
      pendingWei: 0n,
      plannedWei: dollars(planned),
      price27,
      sharedMicroUsd: shared === undefined ? undefined : shared * 1_000_000n,
    });
  assert.deepEqual([judge(4n, 6n), judge(4n, 7n)], [true, false]);
  assert.deepEqual([judge(1n, 1n, 8n), judge(1n, 2n, 8n), judge(4n, 7n, 800n)], [true, false, false]);
  assert.equal(judge(0n, 1_000n, 8n), true, "one may always be under way while nothing was lost");
});
