import type { Hash256 } from "../../../../src/core/encoding/bytes.ts";
import { CLAIM_GROUP_SIZE } from "../../../../src/messaging/fees/claims/claim_attempt.ts";
import { CONFIRM_AFTER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { toEvmAddress } from "../../../../src/core/ismp/signed_messages.ts";
import { ClaimsRounds, claimsWorker } from "../../../../src/messaging/fees/claims/claims_worker.ts";
import { toMessageRow } from "../../../../src/messaging/relay/messages.ts";
import { a, b, c, dieAt, hubName, keyOf, lone, Scene, type SceneOptions, sceneWith } from "../scene.ts";
import { withLedgerFile } from "../../../support/ledger.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { hashOf, newDelivery, newSubmission } from "../../../support/ledger_rows.ts";

import assert from "node:assert/strict";

const never = new AbortController().signal;
const one = 10n ** 18n;

/** Repeats rounds with blocks in between until nothing moves any more. */
async function claimAll(scene: Scene, rounds = new ClaimsRounds(scene.context)): Promise<ClaimsRounds> {
  for (let round = 0, idle = 0; idle < 3; round++) {
    assert.ok(round < 200, "no end of rounds");
    const { hasChanges, underWay } = await rounds.run(never);
    idle = hasChanges || underWay > 0 ? 0 : idle + 1;
    await scene.blocks(1);
  }
  return rounds;
}

/** A scene in which we have delivered so many requests, and rounds that claim their fees. */
async function delivered(
  count: number,
  options?: SceneOptions,
): Promise<{ scene: Scene; commitments: Hash256[]; rounds: ClaimsRounds }> {
  const scene = await sceneWith(options);
  const commitments = scene.deliver(count);
  await scene.blocks(5);
  return { scene, commitments, rounds: new ClaimsRounds(scene.context) };
}

for (const [count, sizes] of [[49, [49]], [50, [50]], [51, [50, 1]], [101, [50, 50, 1]]] as const) {
  Deno.test(`claims: ${count} rows go in groups of at most 50 and end claimed, with their fees on the hub (F24)`, async () => {
    const { scene } = await delivered(count);
    await claimAll(scene);
    assert.deepEqual(scene.states(), { claimed: count });
    assert.deepEqual(scene.claims().map(({ length }) => length), sizes);
    assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), BigInt(count) * one);
    assert.ok(scene.accumulations().every(({ state }) => state === "final"));
  });
}

Deno.test("claims: a row counts as claimed only when the block of the hub is final, and knows that block (F4)", async () => {
  const { scene, commitments: [commitment = hashOf(0)], rounds } = await delivered(1);
  await rounds.run(never);
  assert.deepEqual(scene.states(), { claiming: 1 });
  await scene.blocks(1);
  await rounds.run(never);
  assert.equal(scene.accumulations()[0]?.state, "included");
  assert.deepEqual(scene.states(), { claiming: 1 });
  await scene.blocks(2);
  await rounds.run(never);
  const row = scene.ledger.deliveries.find(commitment, b);
  assert.equal(row?.claimState, "claimed");
  assert.equal(row?.claimHubBlock, scene.accumulations()[0]?.block?.height);
  assert.equal(row?.fee, one);
});

Deno.test("claims: what is in the journal is there before the hub hears of it", async () => {
  const { scene } = await delivered(3);
  let before: Readonly<Record<string, number>> = {};
  let journalled = 0;
  const act = (): void => {
    before = scene.states();
    journalled = scene.claims().flat().length;
  };
  scene.hub.faults.add("broadcast", { kind: "interrupt", when: "before", act });
  await new ClaimsRounds(scene.context).run(never);
  assert.deepEqual(before, { claiming: 3 });
  assert.equal(journalled, 3);
});

Deno.test("claims: zero fees, claimed ones and those unknown to the hub end without spoiling the others (F24)", async () => {
  const scene = await sceneWith();
  scene.deliver(2, { fee: 0n });
  const [claimed = hashOf(0)] = scene.deliver(1, { first: 10 });
  const [unknown = hashOf(0)] = scene.deliver(1, { first: 20 });
  scene.deliver(3, { first: 30 });
  scene.hub.accounts.noteClaimed(claimed);
  scene.hubNode.forget(unknown);
  await scene.blocks(5);
  const rounds = new ClaimsRounds(scene.context);
  await claimAll(scene, rounds);
  assert.deepEqual(
    scene.states(),
    { claimed: 4, no_fee: 2, unclaimed: 1 },
    "what one answer says is read again",
  );
  await scene.clock.advance(CONFIRM_AFTER_MS);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 4, no_fee: 2, unclaimable: 1 });
  assert.deepEqual(scene.claims().map(({ length }) => length), [3]);
});

Deno.test("claims: one answer of a hub that is behind ends no fee", async () => {
  const { scene } = await delivered(3);
  const { accounts } = scene.hub;
  const real = accounts.fetchClaimStatus.bind(accounts);
  let isBehind = true;
  accounts.fetchClaimStatus = async (commitments, signal) =>
    isBehind ? commitments.map(() => "unknown") : await real(commitments, signal);
  const rounds = await claimAll(scene);
  assert.deepEqual(scene.states(), { unclaimed: 3 });
  isBehind = false;
  scene.hub.hubCalls.refusesAll = { code: "not_ready", detail: "challenge", error: undefined };
  await scene.clock.advance(CONFIRM_AFTER_MS);
  await claimAll(scene, rounds);
  isBehind = true;
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { unclaimed: 3 }, "an answer between them was another one");
  isBehind = false;
  scene.hub.hubCalls.refusesAll = undefined;
  await scene.clock.advance(CONFIRM_AFTER_MS);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 3 });
});

Deno.test("claims: rows that have waited are not remembered in the size of a query", async () => {
  const scene = await sceneWith();
  const limits: number[] = [];
  const { deliveries } = scene.ledger;
  const list = deliveries.listUnclaimed.bind(deliveries);
  deliveries.listUnclaimed = (query) => {
    limits.push(query.limit);
    return list(query);
  };
  const rounds = new ClaimsRounds(scene.context);
  scene.deliver(40);
  await scene.blocks(5);
  scene.chain(a).areWitnessesUp = false; // its endpoints disagree for a moment
  await rounds.run(never);
  scene.chain(a).areWitnessesUp = true;
  await scene.clock.advance(3_600_000);
  await claimAll(scene, rounds);
  scene.deliver(1, { first: 100 });
  await scene.blocks(5);
  await claimAll(scene, rounds);
  assert.deepEqual([scene.states(), limits.at(-1)], [{ claimed: 41 }, CLAIM_GROUP_SIZE]);
});

Deno.test("claims: a source that does not know the request leaves the row alone until that is certain", async () => {
  const { scene, commitments: [commitment = hashOf(0)] } = await delivered(1);
  scene.chain(a).paidFees.delete(commitment);
  scene.chain(a).areWitnessesUp = false;
  const rounds = new ClaimsRounds(scene.context);
  await rounds.run(never);
  assert.deepEqual(scene.states(), { unclaimed: 1 });
  scene.chain(a).areWitnessesUp = true;
  await claimAll(scene, rounds);
  await scene.blocks(20);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { no_fee: 1 });
});

for (const stale of [0n, one]) {
  Deno.test(`claims: a node behind a raise that tells a fee of ${stale} neither ends the row nor makes us claim the old fee`, async () => {
    const { scene, commitments: [commitment = hashOf(0)], rounds } = await delivered(1);
    scene.chain(a).raise(commitment, 50n * one);
    scene.chain(a).staleFees = new Map([[commitment, stale]]);
    await claimAll(scene, rounds);
    await scene.blocks(20);
    await claimAll(scene, rounds);
    assert.deepEqual(scene.states(), { claimed: 1 });
    assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 51n * one);
  });
}

Deno.test("claims: a fee that endpoints do not agree on for an hour is claimed as one of them tells it", async () => {
  const { scene } = await delivered(1);
  scene.chain(a).areWitnessesUp = false;
  const rounds = await claimAll(scene);
  assert.deepEqual(scene.states(), { unclaimed: 1 });
  await scene.clock.advance(3_600_000);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 1 });
});

Deno.test("claims: a receipt of another relayer and a reorganised one are lost before anything is sent (F24)", async () => {
  const scene = await sceneWith();
  const [foreign = hashOf(0), gone = hashOf(0), good = hashOf(0)] = scene.deliver(3);
  const { height } = scene.node(b).head;
  scene.chain(b).proved.set(foreign, { relayer: new Uint8Array(20).fill(9), from: height });
  scene.chain(b).proved.set(gone, { relayer: scene.address(b), from: height, until: height + 1n });
  await scene.blocks(5);
  await claimAll(scene);
  assert.deepEqual(scene.states(), { claimed: 1, lost: 2 });
  assert.deepEqual(scene.claims(), [[good]]);
});

Deno.test("claims: a lost receipt is read again at final blocks: ours is claimed, a foreign or missing one is dropped", async () => {
  const ends = { ours: "delivered", foreign: "delivered_by_other", gone: "ready" } as const;
  for (const what of ["ours", "foreign", "gone"] as const) {
    const scene = await sceneWith();
    const message = postMessage(lone);
    const { commitment } = message;
    const { height } = scene.node(b).head;
    const { messages, deliveries } = scene.ledger;
    const leg = { source: hubName, target: b };
    messages.record(toMessageRow(message, leg, { seenAtHeight: height, state: "seen" }));
    messages.transition(commitment, b, { to: "delivered", reason: "handled_by_us" });
    const ours = scene.address(b);
    const block = { height, hash: hashOf(5) };
    deliveries.record({ ...newDelivery(1, { commitment, dest: b, source: a, relayer: ours }), block });
    scene.chain(a).paidFees.set(commitment, one);
    scene.hub.accounts.noteRouted(commitment);
    if (what === "foreign") {
      scene.chain(b).proved.set(commitment, { relayer: new Uint8Array(20).fill(9), from: height });
    }
    if (what === "ours") scene.chain(b).proved.set(commitment, { relayer: ours, from: height + 100n });
    await scene.blocks(5);
    const rounds = await claimAll(scene);
    assert.deepEqual(scene.states(), { lost: 1 }, what);
    scene.chain(b).areWitnessesUp = false;
    await scene.blocks(110);
    await scene.settle(b, never);
    assert.deepEqual([scene.states(), messages.find(commitment, b)?.state], [{ lost: 1 }, "delivered"], what);
    scene.chain(b).areWitnessesUp = true;
    await scene.settle(b, never);
    await scene.blocks(5);
    await claimAll(scene, rounds);
    assert.deepEqual(scene.states(), what === "ours" ? { claimed: 1 } : {}, what);
    assert.equal(messages.find(commitment, b)?.state, ends[what]);
  }
});

for (const where of ["dry run", "pool"]) {
  Deno.test(`claims: a group that the ${where} refuses is halved until the hub takes a part; the bad row stands alone, the others follow (F4)`, async () => {
    const { scene, commitments, rounds } = await delivered(50);
    const bad = commitments[17] ?? hashOf(0);
    if (where === "dry run") scene.spoilt.add(bad);
    else {
      scene.hub.hubCalls.refusesAtPool = (call) =>
        call.kind === "accumulate" && call.proof.commitments.includes(bad);
    }
    await claimAll(scene, rounds);
    assert.deepEqual(scene.states(), { claimed: 49, unclaimed: 1 });
    assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 49n * one);
    assert.ok(where === "pool" || scene.claims().length <= 7, "a few claims");
    assert.ok(rounds.refusalsOf({ commitment: bad, dest: b }) >= 1);
    scene.spoilt.clear();
    scene.hub.hubCalls.refusesAtPool = () => false;
    await scene.blocks(700);
    await claimAll(scene, rounds);
    assert.deepEqual(scene.states(), { claimed: 50 });
  });
}

Deno.test("claims: while the hub is not ready for a height nothing is deferred", async () => {
  const { scene } = await delivered(4);
  scene.hub.hubCalls.refusesAll = { code: "not_ready", detail: "challenge", error: undefined };
  const rounds = await claimAll(scene);
  assert.deepEqual(scene.states(), { unclaimed: 4 });
  assert.equal(rounds.refusalsOf({ commitment: hashOf(1), dest: b }), 0);
  scene.hub.hubCalls.refusesAll = undefined;
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 4 });
});

Deno.test("claims: with a challenge period the newest matured heights are proved", async () => {
  const { scene, rounds } = await delivered(2, { hub: { challengePeriodSec: 10n } });
  const { pairs } = await rounds.run(never);
  assert.deepEqual(pairs.map(({ result }) => result), ["maturing"]);
  await scene.blocks(5);
  await rounds.run(never);
  await scene.blocks(8);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 2 });
});

Deno.test("claims: with other keys on source and destination the source's address is credited, nonce by nonce (F24)", async () => {
  const { scene } = await delivered(101, { keys: { [a]: 1, [b]: 2 } });
  await claimAll(scene);
  assert.deepEqual(scene.states(), { claimed: 101 });
  assert.equal(scene.hub.accounts.balanceOf(a, toEvmAddress(keyOf(1))), 101n * one);
  assert.equal(scene.hub.accounts.balanceOf(a, toEvmAddress(keyOf(2))), 0n);
  assert.equal(await scene.hub.accounts.fetchRelayerNonce(toEvmAddress(keyOf(2)), a, never), 3n);
});

Deno.test("claims: a nonce that a withdrawal uses up between signing and sending is read again (F24)", async () => {
  const { scene } = await delivered(4, { keys: { [a]: 1, [b]: 2 } });
  const act = (): void => scene.hub.accounts.useNonceOf(a, toEvmAddress(keyOf(2)));
  scene.hub.faults.add("dryRunCall", { kind: "interrupt", when: "before", act });
  scene.hub.faults.add("prepareCall", { kind: "interrupt", when: "after", act });
  await claimAll(scene);
  assert.deepEqual(scene.states(), { claimed: 4 });
  assert.equal(scene.hub.accounts.balanceOf(a, toEvmAddress(keyOf(1))), 4n * one);
});

Deno.test("claims: the next group of a pair waits until the one before is in a block", async () => {
  const { rounds } = await delivered(51);
  for (const expected of ["sent", "busy"]) {
    assert.deepEqual((await rounds.run(never)).pairs.map(({ result }) => result), [expected]);
  }
});

Deno.test("claims: for a beneficiary they wait while an order to withdraw holds the nonce", async () => {
  const { scene } = await delivered(1, { keys: { [a]: 1, [b]: 2 } });
  const id = scene.ledger.withdrawals.record({
    chain: a,
    address: toEvmAddress(keyOf(2)),
    nonce: 0n,
    beneficiary: undefined,
    amount: 1n,
    hubBlock: 1n,
    state: "requested",
  });
  const rounds = new ClaimsRounds(scene.context);
  assert.deepEqual((await rounds.run(never)).pairs.map(({ result }) => result), ["busy"]);
  scene.ledger.withdrawals.update(id, { state: "void" });
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 1 });
});

Deno.test("claims: pairs run side by side, and one whose chain fails does not stop the others", async () => {
  const scene = await sceneWith();
  scene.deliver(3);
  scene.deliver(3, { first: 10, dest: c });
  scene.deliver(3, { first: 20, source: c, dest: a });
  await scene.blocks(5);
  scene.chain(b).faults.add("proveReceipts", { kind: "throw", code: "unreachable" }, { times: 1_000 });
  const rounds = await claimAll(scene);
  assert.deepEqual(scene.states(), { claimed: 6, unclaimed: 3 });
  scene.chain(b).faults.clear("proveReceipts");
  await scene.blocks(400);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 9 });
});

Deno.test("claims: a chain that has left the configuration keeps its rows and is reported once (F24)", async () => {
  const scene = await sceneWith();
  scene.deliver(2);
  scene.deliver(2, { first: 10, dest: c });
  await scene.blocks(5);
  scene.chains.delete(c);
  await claimAll(scene);
  assert.deepEqual(scene.states(), { claimed: 2, unclaimed: 2 });
  const told = scene.log.linesOf("claim_failed.chain_missing");
  assert.equal(told.length, 1);
});

Deno.test("claims: the worker claims by itself, also what was recorded while it was disabled (F24)", async () => {
  const scene = await sceneWith();
  scene.deliver(5);
  await scene.blocks(60);
  assert.deepEqual(scene.states(), { unclaimed: 5 });
  const stop = new AbortController();
  const run = claimsWorker(scene.context, 2_000).run(stop.signal).catch(() => {});
  await scene.during(scene.clock.sleep(60_000, never));
  scene.deliver(5, { first: 50 });
  await scene.during(scene.clock.sleep(60_000, never));
  stop.abort();
  await run;
  assert.deepEqual(scene.states(), { claimed: 10 });
});

Deno.test("claims: without an answer to the broadcast the claim is searched, and sent again when it never arrived (F19)", async () => {
  for (const kind of ["throw", "loseAnswer"] as const) {
    const { scene } = await delivered(3);
    scene.hub.faults.add("broadcast", { kind, code: "timeout" });
    await claimAll(scene);
    assert.deepEqual(scene.states(), { claimed: 3 }, kind);
    assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 3n * one);
    assert.equal(scene.claims().length, kind === "throw" ? 2 : 1);
  }
});

Deno.test("claims: a call that no node knows counts as gone after three blocks, not before, and is made again (F4)", async () => {
  const { scene, rounds } = await delivered(3);
  scene.hubNode.isFull = true;
  await rounds.run(never);
  scene.hubNode.clearMempool();
  await scene.blocks(2);
  await rounds.run(never);
  assert.deepEqual(scene.states(), { claiming: 3 });
  assert.equal(scene.log.linesOf("claim_failed.ineffective").length, 0);
  await scene.blocks(1);
  await rounds.run(never);
  assert.equal(scene.log.linesOf("claim_failed.ineffective").length, 1);
  scene.hubNode.isFull = false;
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 3 });
  assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 3n * one);
});

for (const transactions of ["repool", "forget"] as const) {
  const name = transactions === "repool" ? "goes back to the pool" : "is forgotten";
  Deno.test(`claims: a claim whose block a reorganisation removes ${name} and is paid once (F4)`, async () => {
    const { scene, rounds } = await delivered(3);
    await rounds.run(never);
    await scene.blocks(1);
    await rounds.run(never);
    assert.equal(scene.accumulations()[0]?.state, "included");
    scene.hubNode.reorganise(1, transactions);
    assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 0n);
    await claimAll(scene, rounds);
    assert.deepEqual(scene.states(), { claimed: 3 });
    assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 3n * one);
    assert.equal(scene.claims().length, transactions === "repool" ? 1 : 2);
  });
}

const calls = ["dryRunCall", "prepareCall", "broadcast", "fetchOutcome", "fetchClaimStatus"];
for (const method of ["fetchCertainFees", "proveFees", ...calls]) {
  for (const when of ["before", "after"] as const) {
    Deno.test(`claims: killed ${when} ${method}, a restart ends as an uninterrupted run does (F4)`, async () => {
      await withLedgerFile(new FakeClock(), async (ledger, reopen) => {
        const { scene, rounds } = await delivered(60, { ledger, keys: { [a]: 1, [b]: 2 } });
        const on = calls.includes(method) ? scene.hub : scene.chain(a);
        const skip = method === "broadcast" ? 0 : 1;
        await dieAt({ scene, on, method, when, skip }, (signal) => rounds.run(signal));
        scene.connect(reopen());
        await scene.blocks(2);
        await claimAll(scene);
        assert.deepEqual(scene.states(), { claimed: 60 });
        assert.equal(scene.hub.accounts.balanceOf(a, toEvmAddress(keyOf(1))), 60n * one);
        assert.equal(scene.context.calls.listOpen("accumulate").length, 0);
      });
    });
  }
}

Deno.test("claims: rows under way without a claim in the journal are settled by the hub's own record", async () => {
  const { scene, commitments: [paid = hashOf(0), unpaid = hashOf(0)] } = await delivered(2);
  scene.ledger.deliveries.setClaimState({ commitment: paid, dest: b }, "claiming");
  scene.ledger.deliveries.setClaimState({ commitment: unpaid, dest: b }, "claiming");
  scene.hub.accounts.noteClaimed(paid);
  await scene.blocks(5);
  await new ClaimsRounds(scene.context).run(never);
  assert.equal(scene.ledger.deliveries.find(paid, b)?.claimState, "claimed");
  await claimAll(scene);
  assert.deepEqual(scene.states(), { claimed: 2 });
  assert.deepEqual(scene.claims(), [[unpaid]]);
});

for (const known of ["unclaimed", "claiming"] as const) {
  Deno.test(`claims: with a database that lacks a claim (${known}) its block has to be final, and one that is not is made again (I7)`, async () => {
    const { scene, commitments } = await delivered(2);
    await new ClaimsRounds(scene.context).run(never);
    await scene.blocks(1);
    // The journal of a replica that is behind.
    const [claim] = scene.accumulations();
    assert.ok(claim !== undefined);
    scene.ledger.submissions.update(claim.id, { state: "dropped" });
    for (const commitment of commitments) {
      scene.ledger.deliveries.setClaimState({ commitment, dest: b }, known);
    }
    await new ClaimsRounds(scene.context).run(never);
    assert.deepEqual(scene.states(), { unclaimed: 2 });
    scene.hubNode.reorganise(1, "forget");
    await claimAll(scene);
    assert.deepEqual(scene.states(), { claimed: 2 });
    assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 2n * one);
    assert.equal(scene.claims().length, 2);
  });
}

Deno.test("claims: a raise that the hub's height of the source lacks is waited for and paid; the others of its group go", async () => {
  const { scene, commitments: [raised = hashOf(0), other = hashOf(0)] } = await delivered(2);
  scene.chain(a).raise(raised, 50n * one);
  scene.unheard.add(a);
  const rounds = await claimAll(scene);
  assert.deepEqual(scene.claims(), [[other]]);
  assert.equal(scene.ledger.deliveries.find(raised, b)?.claimState, "unclaimed");
  const told = scene.log.linesOf("claim_failed.fee_raised");
  assert.equal(told.length, 1);
  scene.unheard.delete(a);
  await scene.blocks(60);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.claims(), [[other], [raised]]);
  assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 52n * one);
});

Deno.test("claims: while the hub hears nothing new of the source a raise is waited for; a day later the fee counts as the height shows", async () => {
  const { scene, commitments } = await delivered(2);
  const { submissions, spending, deliveries } = scene.ledger;
  const hash = hashOf(7_000_000);
  // Both went in one transaction.
  for (const commitment of commitments) {
    const row = deliveries.find(commitment, b);
    if (row !== undefined) deliveries.record({ ...row, txHash: hash });
  }
  const [paid = hashOf(0), raised = hashOf(0)] = commitments;
  const items = [paid, raised].map((each) => ({ commitment: each, requestCommitment: each, target: b }));
  const id = submissions.record({
    submission: newSubmission(1, { chain: b, hash }),
    kind: "delivery",
    items,
  });
  const gas = { gasUsed: 1n, gasPriceWei: 1n, dataCostWei: 0n };
  spending.note(id, { result: "delivered", gas, price27: undefined, revenueUsd18: undefined });
  scene.chain(a).raise(raised, 50n * one);
  scene.unheard.add(a);
  const rounds = await claimAll(scene);
  assert.deepEqual([deliveries.find(raised, b)?.fee, spending.find(id)?.revenueUsd18], [51n * one, one]);
  await scene.clock.advance(3_600_000);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 1, unclaimed: 1 });
  await scene.clock.advance(86_400_000);
  await claimAll(scene, rounds);
  assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), 2n * one);
  assert.deepEqual(scene.log.linesOf("fees_claimed").map(({ fields }) => fields["fees"]), ["1", "1"]);
  assert.deepEqual([deliveries.find(raised, b)?.fee, spending.find(id)?.revenueUsd18], [one, 2n * one]);
});

Deno.test("claims: a raise that a reorganisation took away holds up nothing for long", async () => {
  const { scene, commitments: [commitment = hashOf(0)] } = await delivered(1);
  scene.chain(a).raise(commitment, 50n * one);
  const rounds = new ClaimsRounds(scene.context);
  await rounds.run(never);
  assert.deepEqual(scene.claims(), []);
  scene.chain(a).paidFees.set(commitment, one);
  scene.chain(a).feesBefore.clear();
  await scene.clock.advance(60_000);
  await claimAll(scene, rounds);
  assert.deepEqual(scene.states(), { claimed: 1 });
  assert.equal(scene.hub.accounts.balanceOf(a, scene.address(b)), one);
});

Deno.test("claims: one claim costs few requests", async () => {
  const { scene } = await delivered(50);
  scene.hub.calls.length = 0;
  await new ClaimsRounds(scene.context).run(never);
  assert.deepEqual(scene.hub.calls.toSorted(), [
    "broadcast",
    "dryRunCall",
    "fetchClaimStatus",
    "fetchStateRoot",
    "fetchStateRoot",
    "fetchView",
    "fetchView",
    "prepareCall",
  ]);
});
