import type { Simulation } from "../../../src/core/chains/submission.ts";
import assert from "node:assert/strict";
import type { ExitCode } from "../../../src/core/runtime/exit_codes.ts";
import { formatAccumulated } from "../../../src/messaging/commands/accumulate_fees.ts";
import {
  type AccumulateOptions,
  claimAndWithdraw,
} from "../../../src/messaging/commands/run_accumulation.ts";
import { toEvmAddress } from "../../../src/core/ismp/signed_messages.ts";
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import { a, b, c, d, keyOf, Scene, sceneWith } from "../fees/scene.ts";
import { MemoryGates } from "../../support/memory_gates.ts";
import { hashOf, newSubmission } from "../../support/ledger_rows.ts";
import { openMemoryLedger } from "../../support/ledger.ts";

const never = new AbortController().signal;
const one = 10n ** 18n;

interface Outcome {
  readonly code: ExitCode;
  readonly printed: string;
}

async function run(
  scene: Scene,
  options: Partial<AccumulateOptions> = {},
  signal: AbortSignal = never,
  withinMs = 7 * 86_400_000,
): Promise<Outcome> {
  const all = { pollIntervalSec: 2, ...options };
  const done = await scene.during(claimAndWithdraw(scene.context, all, signal), withinMs);
  return { code: done.exitCode, printed: `${formatAccumulated(done)}\n` };
}

/** One chain, and 30 units of ours for it on the hub. */
async function credited(): Promise<Scene> {
  const scene = await sceneWith({ chains: [a] });
  scene.hub.accounts.credit(a, scene.address(a), 30n * one);
  return scene;
}

/** What a chain says that refuses a payment. */
const refusing = (code: "module_failed" | "host_frozen") => (): Promise<Simulation> =>
  Promise.resolve({ kind: "refused", refusal: { code, detail: "no gas" } });

Deno.test("accumulate-fees: claims everything that can be proved, prints the table and ends with 0", async () => {
  const scene = await sceneWith({ decimals: { [a]: 6 } });
  scene.deliver(51, { fee: 1_500_000n });
  scene.deliver(2, { first: 100, source: c, fee: 0n });
  const [claimed = hashOf(0)] = scene.deliver(1, { first: 200, source: b, dest: c });
  scene.hub.accounts.noteClaimed(claimed);
  await scene.blocks(5);
  const { code, printed } = await run(scene);
  assert.equal(code, 0);
  assert.deepEqual(scene.states(), { claimed: 52, no_fee: 2 });
  assert.equal(
    printed,
    [
      "pair                  claimed   already claimed   no fee   not yet available   failed",
      "EVM-1 -> EVM-56     51 (76.5)                 0        0                   0        0",
      "EVM-137 -> EVM-56           0                 0        2                   0        0",
      "EVM-56 -> EVM-137           0             1 (1)        0                   0        0",
      "",
    ].join("\n"),
  );
  await scene.clock.advance(1_000);
  const again = await run(scene);
  assert.equal(again.printed, "No delivery waits for a claim.\n", "what ended before is no news");
});

Deno.test("accumulate-fees: without --wait what needs a newer height is skipped, row by row, with status 0", async () => {
  const scene = await sceneWith();
  scene.deliver(2);
  scene.deliver(3, { first: 10, height: 100_000n });
  scene.deliver(1, { first: 20, height: 100_000n, isFinal: false });
  await scene.blocks(5);
  const { code, printed } = await run(scene);
  assert.equal(code, 0);
  assert.match(printed, /EVM-1 -> EVM-56 +2 \(2\) +0 +0 +4 +0\n/);
  assert.deepEqual(scene.states(), { claimed: 2, unclaimed: 4 });
  // The fourth is not final on its own chain yet, so nothing can be said of it.
  const told = scene.log.linesOf("claim_failed.hub_behind");
  assert.deepEqual(told.map(({ fields }) => [fields.pair, fields.requests]), [["EVM-1 -> EVM-56", 3]]);
});

Deno.test("accumulate-fees: --wait over three chains that become ready in reverse order claims each when it can (F24)", async () => {
  const scene = await sceneWith({ chains: [a, b, c, d] });
  for (const [index, dest] of [b, c, d].entries()) scene.deliver(2, { first: 1 + 10 * index, dest });
  for (const dest of [b, c, d]) scene.unheard.add(dest);
  const fresh = scene.node(b).head.height + 5n;
  for (const [index, dest] of [b, c, d].entries()) {
    scene.deliver(2, { first: 1 + 10 * index, dest, height: fresh });
  }
  const order: string[] = [];
  const done = run(scene, { wait: true });
  const wake = (async (): Promise<void> => {
    for (const dest of [d, c, b]) {
      await scene.clock.sleep(400_000, never);
      scene.unheard.delete(dest);
      await scene.clock.sleep(100_000, never);
      order.push(...scene.claims().slice(order.length).map(() => dest));
    }
  })();
  const { code, printed } = await done;
  await scene.during(wake);
  assert.equal(code, 0);
  assert.deepEqual(scene.states(), { claimed: 6 });
  assert.deepEqual(order, [d, c, b]);
  assert.ok(
    scene.log.events("info").some((event) => event === "long_wait.hub_height"),
  );
  assert.match(printed, /EVM-1 -> EVM-10 +2 \(2\)/);
});

Deno.test("accumulate-fees: a challenge period is waited for without --wait, since the height is on the hub", async () => {
  const scene = await sceneWith({ hub: { challengePeriodSec: 20n } });
  scene.deliver(2);
  await scene.blocks(5);
  const { code } = await run(scene);
  assert.equal(code, 0);
  assert.deepEqual(scene.states(), { claimed: 2 });
});

Deno.test("accumulate-fees: rows that the hub refuses three times, receipts that are not ours and unknown requests have failed; the others are claimed; status 1", async () => {
  const scene = await sceneWith();
  const [foreign = hashOf(0), unknown = hashOf(0)] = scene.deliver(10);
  scene.chain(b).proved.set(foreign, { relayer: new Uint8Array(20).fill(9), from: 1n });
  scene.hubNode.forget(unknown);
  scene.spoilt.add(hashOf(4));
  await scene.blocks(5);
  const { code, printed } = await run(scene);
  assert.equal(code, 1);
  assert.match(printed, /EVM-1 -> EVM-56 +7 \(7\) +0 +0 +0 +3 \(3\)\n/);
});

Deno.test("accumulate-fees: without --wait a chain that does not answer has failed after some tries, one that does at the third is claimed", async () => {
  const scene = await sceneWith();
  scene.deliver(2);
  scene.deliver(2, { first: 10, dest: c });
  await scene.blocks(5);
  scene.chain(b).faults.add("proveReceipts", { kind: "throw", code: "unreachable" }, { times: 2 });
  scene.chain(c).faults.add("proveReceipts", { kind: "throw", code: "unreachable" }, { times: 10_000 });
  const { code, printed } = await run(scene);
  assert.equal(code, 1);
  assert.match(printed, /EVM-1 -> EVM-137 +0 +0 +0 +0 +2 \(2\)\nEVM-1 -> EVM-56 +2 \(2\)/);
});

Deno.test("accumulate-fees: --wait waits for what the hub does not take yet", async () => {
  const scene = await sceneWith();
  scene.deliver(2);
  await scene.blocks(5);
  scene.hub.hubCalls.refusesAll = { code: "not_ready", detail: "challenge", error: undefined };
  void scene.clock.sleep(60_000, never).then(() => scene.hub.hubCalls.refusesAll = undefined);
  assert.equal((await run(scene, { wait: true })).code, 0);
  assert.deepEqual(scene.states(), { claimed: 2 });
});

Deno.test("accumulate-fees: --wait waits for open deliveries, which in the running relayer its own worker settles", async () => {
  const scene = await sceneWith();
  scene.ledger.submissions.record({
    kind: "delivery",
    submission: newSubmission(1, { chain: b }),
    items: [],
  });
  scene.context = { ...scene.context, isSettledElsewhere: true };
  assert.equal((await run(scene)).code, 0);
  const stop = new AbortController();
  void scene.clock.sleep(3_600_000, never).then(() => stop.abort());
  await run(scene, { wait: true }, stop.signal);
  assert.ok(stop.signal.aborted, "it did not wait");
  assert.equal(scene.ledger.submissions.listUnresolved(b).length, 1);
});

for (const withdraw of [false, true]) {
  Deno.test(`accumulate-fees: a hub that stops answering ends the run with status 1, withdraw: ${withdraw}`, async () => {
    const scene = await sceneWith();
    scene.deliver(2);
    await scene.blocks(5);
    scene.hub.faults.add("*", { kind: "throw", code: "unreachable" }, { times: 10_000 });
    const { code, printed } = await run(scene, { withdraw });
    assert.equal(code, 1);
    if (withdraw) assert.match(printed, /hub +the hub does not answer/);
    assert.deepEqual(scene.states(), { unclaimed: 2 });
  });
}

Deno.test("accumulate-fees: a signal ends it with 0, the table, and everything under way in the journal", async () => {
  const scene = await sceneWith();
  scene.deliver(2);
  scene.deliver(2, { first: 10, height: 100_000n });
  await scene.blocks(5);
  const stop = new AbortController();
  const done = run(scene, { wait: true }, stop.signal);
  const stopping = scene.clock.sleep(60_000, never).then(() => stop.abort(new Error("SIGTERM")));
  const { code, printed } = await done;
  await stopping;
  assert.equal(code, 0);
  assert.match(
    printed,
    /EVM-1 -> EVM-56 +2 \(2\) +0 +0 +2 +0\n|EVM-1 -> EVM-56 +2 \(2\) +0 +0 +2 \(2\) +0\n/,
  );
});

Deno.test("accumulate-fees: --withdraw alone withdraws what was claimed before and claims nothing", async () => {
  const scene = await sceneWith({ chains: [a, b] });
  scene.deliver(20);
  scene.hub.accounts.credit(a, scene.address(a), 10n * one);
  await scene.blocks(5);
  const { code, printed } = await run(scene, { withdraw: true });
  assert.equal(code, 0);
  assert.equal(printed, "chain   amount   withdrawal\nEVM-1       10   paid out\n");
  assert.deepEqual(scene.states()["unclaimed"], 20);
  assert.equal(scene.node(a).deliveries().length, 1);
  assert.equal(scene.hub.accounts.balanceOf(a, scene.address(a)), 0n);
});

Deno.test("accumulate-fees: --wait --withdraw claims first and withdraws the whole then", async () => {
  const scene = await sceneWith({ chains: [a, b] });
  scene.deliver(20);
  await scene.blocks(5);
  const { code } = await run(scene, { wait: true, withdraw: true });
  assert.equal(code, 0);
  assert.equal(scene.states()["claimed"], 20);
  const [row] = scene.ledger.withdrawals.listRecent(10);
  assert.equal(row?.amount, 20n * one);
  assert.equal(scene.node(a).deliveries().length, 1);
});

for (const code of ["module_failed", "host_frozen"] as const) {
  Deno.test(`accumulate-fees: a withdrawal that the chain refuses (${code}) ends the command with 1, a line, and is kept`, async () => {
    const scene = await credited();
    scene.chain(a).simulate = refusing(code);
    const { code: exit, printed } = await run(scene, { withdraw: true });
    assert.equal(exit, 1);
    assert.match(printed, /30 +dispatched, refused, and tried again by the running relayer \(\w+: no gas\)/);
    assert.deepEqual(scene.ledger.withdrawals.listRecent(10).map(({ state }) => state), ["dispatched"]);
  });
}

Deno.test("accumulate-fees: --withdraw tries a payment at once that waits for another attempt", async () => {
  const scene = await credited();
  const simulate = scene.chain(a).simulate.bind(scene.chain(a));
  scene.chain(a).simulate = refusing("module_failed");
  for (let times = 0; times < 2; times++) assert.equal((await run(scene, { withdraw: true })).code, 1);
  scene.chain(a).simulate = simulate;
  const before = scene.clock.now();
  assert.match((await run(scene, { withdraw: true })).printed, /30 +paid out/);
  assert.ok(scene.clock.now() - before < 60_000);
});

Deno.test("accumulate-fees: a payment for the network's relayer is reported, awaited with --wait, and never proved", async () => {
  const scene = await sceneWith({ chains: [a] });
  const gates = new MemoryGates(scene.clock);
  gates.others = toEvmAddress(keyOf(5));
  scene.chain(a).gates = gates;
  scene.hub.accounts.credit(a, scene.address(a), 30n * one);
  const first = await run(scene, { withdraw: true });
  assert.equal(first.code, 0);
  assert.match(first.printed, /30 +dispatched, waits for the network's relayer \(gated: .* deliveries of 0x/);
  assert.equal(scene.log.linesOf("payment_delayed.gated").length, 1);

  const stop = new AbortController();
  void scene.clock.sleep(3_600_000, never).then(() => stop.abort());
  const second = await run(scene, { wait: true, withdraw: true }, stop.signal);
  assert.ok(stop.signal.aborted, "it did not wait");
  assert.ok(scene.log.linesOf("long_wait.withdrawals").length >= 10);
  assert.match(second.printed, /waits for the network's relayer/);

  assert.equal(scene.hub.count("proveMessages"), 0);
  assert.ok(!scene.chain(a).calls.includes("simulate"));
  const [row] = scene.ledger.withdrawals.listOpen();
  assert.ok(row?.dispatch !== undefined);
  await scene.payAs(keyOf(5), { chain: a, commitment: row.dispatch.commitment });
  const third = await run(scene, { wait: true, withdraw: true });
  assert.equal(third.code, 0);
  assert.match(third.printed, /30 +paid out/);
});

Deno.test("accumulate-fees: --withdraw below ten units or below the hub's minimum is no failure", async () => {
  const scene = await sceneWith({ chains: [a] });
  scene.hub.accounts.credit(a, scene.address(a), 10n * one - 1n);
  assert.equal((await run(scene, { withdraw: true })).code, 0);
  scene.hub.accounts.credit(a, scene.address(a), one);
  scene.hub.accounts.minimums.set(a, 20n * one);
  assert.equal((await run(scene, { withdraw: true })).code, 0);
  assert.equal(scene.ledger.withdrawals.listRecent(1).length, 0);
});

for (const hinder of ["unheard", "down"] as const) {
  Deno.test(`accumulate-fees: --withdraw ends, and says why, while the chain is ${hinder}`, async () => {
    const scene = await credited();
    scene[hinder].add(a);
    const { code, printed } = await run(scene, { withdraw: true }, never, 3_600_000);
    assert.equal(code, hinder === "down" ? 1 : 0);
    assert.match(
      printed,
      /30 +dispatched, (without progress for 15 minutes|but the chain .* does not answer)/,
    );
    scene[hinder].delete(a);
    assert.match((await run(scene, { withdraw: true })).printed, /30 +paid out/);
  });
}

/** A payment that the hub has dispatched to a chain which does not answer. */
async function payUnheard(): Promise<{ readonly scene: Scene; readonly commitment: Hash256 }> {
  const scene = await credited();
  scene.unheard.add(a);
  await run(scene, { withdraw: true }, never, 3_600_000);
  const { dispatch } = scene.ledger.withdrawals.listOpen()[0] ?? {};
  assert.ok(dispatch !== undefined);
  return { scene, commitment: dispatch.commitment };
}

Deno.test("accumulate-fees: a payment whose message ended without a delivery has failed, and the command ends", async () => {
  const { scene, commitment } = await payUnheard();
  scene.ledger.transaction(() =>
    void scene.ledger.messages.transition(commitment, a, { to: "rejected", reason: "hub_refused" })
  );
  const { code, printed } = await run(scene, { wait: true, withdraw: true }, never, 3_600_000);
  assert.equal(code, 1);
  assert.match(printed, /30 +dispatched, but its message is rejected \(hub_refused\)/);
});

Deno.test("accumulate-fees: a payment that another relayer delivered ends once its receipt is final, also where no relayer runs", async () => {
  const { scene, commitment } = await payUnheard();
  await scene.payAs(keyOf(5), { chain: a, commitment });
  for (let time = 0; time < 4; time++) {
    await run(scene, { withdraw: true }, never, 3_600_000);
    await scene.blocks(100);
  }
  assert.deepEqual(scene.ledger.withdrawals.listRecent(10).map(({ state }) => state), ["done"]);
});

Deno.test("accumulate-fees: a payment whose message is not on record is delivered", async () => {
  const { scene } = await payUnheard();
  const [row] = scene.ledger.withdrawals.listOpen();
  assert.ok(row?.state === "dispatched");
  const { id: _, submissionId: __, ...payment } = row;
  const ledger = openMemoryLedger({ clock: scene.clock });
  ledger.transaction(() => void ledger.withdrawals.record({ ...payment, state: "dispatched" }));
  scene.connect(ledger);
  scene.unheard.delete(a);
  assert.match((await run(scene, { withdraw: true }, never, 3_600_000)).printed, /30 +paid out/);
});
