import assert from "node:assert/strict";
import { judgeKnownHeight, type KnownHeight } from "../../../src/core/chains/chain_checks.ts";
import { judgeLightClient } from "../../../src/consensus/checks/plan_checks.ts";

const place = { chain: "EVM-1", target: "POLKADOT-3367", id: "ETH0" };
const hour = 3_600n;
const client = { isFrozen: false, updatedSec: 100n, unbondingSec: 24n * hour };

Deno.test("light client: missing, frozen and expired ones have failed, and each says who can help", () => {
  const missing = judgeLightClient(place, undefined, 100n);
  assert.equal(missing.result, "failed");
  assert.match(missing.advice ?? "", /log-consensus-state/);
  const frozen = judgeLightClient(place, { ...client, isFrozen: true }, 100n);
  assert.deepEqual([frozen.result, frozen.advice], ["failed", "ask the governance of POLKADOT-3367"]);
  const expired = judgeLightClient(place, client, 100n + 24n * hour);
  assert.equal(expired.result, "failed");
  assert.match(expired.found, /has expired/);
});

Deno.test("light client: half of the time to its expiry is a warning", () => {
  const fresh = judgeLightClient(place, client, 100n + 12n * hour);
  assert.equal(fresh.result, "ok");
  assert.match(fresh.found, /"ETH0" on POLKADOT-3367 was updated 12 h ago and expires after 24 h/);
  const { check, result } = judgeLightClient(place, client, 101n + 12n * hour);
  assert.deepEqual([check, result], ["client_expiring", "warning"]);
  const rollup = judgeLightClient(place, { ...client, unbondingSec: 2n ** 64n - 1n }, 100n + 500n * hour);
  assert.deepEqual([rollup.result, rollup.found.split(" ago and ")[1]], ["ok", "never expires"]);
});

Deno.test("known height: none and a frozen client have failed, an old one needs attention", () => {
  const names = { chain: "EVM-1", observer: "POLKADOT-3367", id: "ETH0" };
  const good: KnownHeight = { height: 7n, storedSec: 1_000n, nowSec: 1_060n, isFrozen: false };
  const resultOf = (change: Partial<KnownHeight>): string =>
    judgeKnownHeight(names, { ...good, ...change }).result;
  assert.equal(resultOf({}), "ok");
  assert.equal(resultOf({ storedSec: undefined }), "ok");
  assert.equal(resultOf({ height: 0n, storedSec: undefined }), "failed");
  assert.equal(resultOf({ isFrozen: true }), "failed");
  assert.equal(resultOf({ nowSec: 1_000n + 6n * hour }), "ok");
  assert.equal(resultOf({ nowSec: 1_001n + 6n * hour }), "warning");
  assert.match(
    judgeKnownHeight(names, { ...good, challengePeriodSec: 120n }).found,
    /60 s ago, challenge period 120 s$/,
  );
});
