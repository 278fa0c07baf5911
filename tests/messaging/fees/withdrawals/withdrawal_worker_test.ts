import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { toEvmAddress } from "../../../../src/core/ismp/signed_messages.ts";
import {
  WithdrawalRounds,
  withdrawalWorker,
} from "../../../../src/messaging/fees/withdrawals/withdrawal_worker.ts";
import type { WithdrawalRow } from "../../../../src/messaging/ledger/ledger.ts";
import { toMessageRow } from "../../../../src/messaging/relay/messages.ts";
import { openMemoryLedger } from "../../../support/ledger.ts";
import { a, b, dieAt, keyOf, lone, Scene, type SceneOptions, sceneWith } from "../scene.ts";
import { withLedgerFile } from "../../../support/ledger.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryGates } from "../../../support/memory_gates.ts";

import assert from "node:assert/strict";

const never = new AbortController().signal;
const one = 10n ** 18n;

/** A scene with 150 units of ours on the hub. */
async function credited(options?: SceneOptions): Promise<{ scene: Scene; rounds: WithdrawalRounds }> {
  const scene = await sceneWith({ chains: [a, b], ...options });
  scene.hub.accounts.credit(a, scene.address(a), 150n * one);
  return { scene, rounds: new WithdrawalRounds(scene.context) };
}

/** The same, and they are ordered. */
async function ordered(options?: SceneOptions): ReturnType<typeof credited> {
  const { scene, rounds } = await credited(options);
  await rounds.orderNow(never);
  return { scene, rounds };
}

/** Rounds with blocks in between, and deliveries settled, until nothing is open. */
async function payAll(scene: Scene, rounds: WithdrawalRounds, seconds = 200): Promise<void> {
  for (let round = 0; round < seconds; round++) {
    await rounds.advance(never);
    for (const name of scene.chains.keys()) await scene.settle(name, never);
    await scene.blocks(1);
    if (scene.ledger.withdrawals.listOpen().length === 0) return;
  }
}

function rows(scene: Scene): readonly WithdrawalRow[] {
  return scene.ledger.withdrawals.listRecent(100).toSorted((left, right) => left.id - right.id);
}

/** Payments that reached a chain. */
function paidOn(scene: Scene, name: typeof a): number {
  return scene.node(name).deliveries().length;
}

Deno.test("withdrawals: a balance is ordered, found on the hub, delivered, and done when the receipt is final (F21)", async () => {
  const { scene, rounds } = await credited();
  assert.deepEqual(await rounds.orderNow(never), [
    { chain: a, results: ["ordered"] },
    { chain: b, results: ["skipped"] },
  ]);
  assert.deepEqual(rows(scene).map(({ state }) => state), ["requested"]);
  await payAll(scene, rounds);
  const [row] = rows(scene);
  assert.equal(row?.state, "done");
  assert.equal(row?.amount, 150n * one);
  assert.equal(paidOn(scene, a), 1);
  assert.equal(scene.hub.accounts.balanceOf(a, scene.address(a)), 0n);
  const message = scene.ledger.messages.find(row?.dispatch?.commitment ?? "0x", a);
  assert.equal(message?.state, "delivered");
  assert.equal(scene.context.calls.listOpen("withdraw").length, 0);
});

Deno.test("withdrawals: the row is on disk before the hub hears of the order", async () => {
  const scene = await sceneWith({ chains: [a, b] });
  scene.hub.accounts.credit(a, scene.address(a), 150n * one);
  let seen: readonly string[] = [];
  let submitted: number | undefined;
  const act = (): void => {
    seen = rows(scene).map(({ state }) => state);
    submitted = rows(scene)[0]?.submissionId;
  };
  scene.hub.faults.add("broadcast", { kind: "interrupt", when: "before", act });
  await new WithdrawalRounds(scene.context).orderNow(never);
  assert.deepEqual(seen, ["requested"]);
  assert.ok(submitted !== undefined);
});

Deno.test("withdrawals: what operator or hub find too little stays, and one line says whose minimum it is (F25)", async () => {
  for (
    const [available, hubMinimum, results, line] of [
      [100n * one - 1n, 10n * one, "skipped", "withdrawal_failed.below_minimum"],
      [100n * one, 10n * one, "ordered", "withdrawal_made.requested"],
      [100n * one, 100n * one + 1n, "skipped", "withdrawal_failed.below_hub_minimum"],
    ] as const
  ) {
    const scene = await sceneWith({ chains: [a] });
    scene.hub.accounts.credit(a, scene.address(a), available);
    scene.hub.accounts.minimums.set(a, hubMinimum);
    const rounds = new WithdrawalRounds(scene.context);
    await scene.blocks(61);
    assert.deepEqual(await rounds.orderDue(never), [{ chain: a, results: [results] }]);
    assert.deepEqual(scene.log.events("info").filter((event) => event.startsWith("withdrawal_")), [line]);
  }
});

Deno.test("withdrawals: hub account only, chain address only, both: each is signed with its own key and paid to us (F25)", async () => {
  for (const [own, hubAccount] of [[0n, 200n], [200n, 0n], [150n, 200n]] as const) {
    const scene = await sceneWith({ chains: [a, b], hasHubSigner: true });
    scene.hub.accounts.credit(a, scene.address(a), own * one);
    scene.hub.accounts.credit(a, scene.hub.relayer, hubAccount * one);
    const rounds = new WithdrawalRounds(scene.context);
    const [report] = await rounds.orderNow(never);
    const expected = [own, hubAccount].map((amount) => amount === 0n ? "skipped" : "ordered");
    assert.deepEqual(report?.results, expected);
    await payAll(scene, rounds);
    const paid = rows(scene).filter(({ state }) => state === "done");
    assert.deepEqual(
      paid.map(({ amount }) => amount),
      [own, hubAccount].filter((each) => each > 0n).map((each) => each * one),
    );
    assert.equal(paidOn(scene, a), paid.length);
    assert.equal(scene.hub.accounts.balanceOf(a, scene.hub.relayer), 0n);
  }
});

Deno.test("withdrawals: an address of earlier deliveries is emptied if its key is there, and reported if it is not", async () => {
  const scene = await sceneWith({ chains: [a, b], keys: { [a]: 1, [b]: 2 } });
  scene.deliver(1, { source: a, dest: b });
  scene.hub.accounts.credit(a, toEvmAddress(keyOf(2)), 200n * one);
  const stranger = new Uint8Array(20).fill(5);
  const [row] = scene.ledger.deliveries.listUnclaimed({
    source: a,
    dest: b,
    relayer: scene.address(b),
    maxBlock: 1_000n,
    limit: 1,
  });
  assert.ok(row !== undefined);
  scene.ledger.deliveries.record({ ...row, commitment: postMessage(lone).commitment, relayer: stranger });
  scene.hub.accounts.credit(a, stranger, 300n * one);
  const rounds = new WithdrawalRounds(scene.context);
  const [report] = await rounds.orderNow(never);
  assert.deepEqual(report?.results, ["skipped", "ordered"]);
  await payAll(scene, rounds);
  assert.equal(scene.hub.accounts.balanceOf(a, toEvmAddress(keyOf(2))), 0n);
  assert.ok(scene.log.events("warn").includes("withdrawal_failed.key_missing"));
});

Deno.test("withdrawals: a payment that another relayer delivered is done without a transaction, once endpoints agree (F25)", async () => {
  const { scene, rounds } = await ordered();
  scene.unheard.add(a);
  await scene.blocks(4);
  await rounds.advance(never);
  const [row] = rows(scene);
  assert.ok(row?.dispatch !== undefined);
  await scene.payAs(keyOf(5), { chain: a, commitment: row.dispatch.commitment });
  scene.chain(a).areWitnessesUp = false;
  await payAll(scene, rounds, 30);
  assert.deepEqual(rows(scene).map(({ state }) => state), ["dispatched"]);
  scene.chain(a).areWitnessesUp = true;
  await payAll(scene, rounds);
  assert.deepEqual(rows(scene).map(({ state }) => state), ["done"]);
  assert.ok(!scene.chain(a).calls.includes("broadcast"));
  assert.equal(paidOn(scene, a), 1);
  const message = scene.ledger.messages.find(row.dispatch.commitment, a);
  assert.deepEqual([message?.state, message?.reason], ["delivered_by_other", "handled_by_other"]);
});

for (const leg of ["has not met", "has rejected"] as const) {
  Deno.test(`withdrawals: a payment that a lost database had delivered and the leg ${leg} ends with its message and its record`, () =>
    payAgain(leg === "has rejected"));
}

/** Pays, loses the database, and finds what it paid. */
async function payAgain(isRejected: boolean): Promise<void> {
  const { scene, rounds } = await ordered();
  await payAll(scene, rounds);
  const commitment = rows(scene)[0]?.dispatch?.commitment;
  assert.ok(commitment !== undefined);
  const met = scene.ledger.messages.find(commitment, a);
  assert.ok(met !== undefined);
  scene.connect(openMemoryLedger({ clock: scene.clock }));
  if (isRejected) {
    const { detail: _, requiredUsd18: _1, offeredUsd18: _2, ...row } = met;
    scene.ledger.messages.record({ ...row, state: "rejected", reason: "hub_originated" });
  }
  await payAll(scene, new WithdrawalRounds(scene.context));
  assert.deepEqual(rows(scene).map(({ state }) => state), ["done"]);
  assert.equal(scene.ledger.messages.find(commitment, a)?.state, "delivered");
  assert.equal(scene.ledger.deliveries.find(commitment, a)?.claimState, "no_fee");
  assert.equal(paidOn(scene, a), 1);
}

Deno.test("withdrawals: those ordered elsewhere are found and delivered, also while other rows fail", async () => {
  const scene = await sceneWith({ chains: [a, b] });
  scene.hub.accounts.payOut(a, scene.address(a), 40n * one);
  scene.hub.accounts.payOut(b, scene.address(b), 50n * one);
  scene.hub.accounts.payOut(a, new Uint8Array(20).fill(8), 60n * one);
  await scene.blocks(5);
  scene.chain(b).faults.add("simulate", { kind: "throw", code: "unreachable" }, { times: 1_000 });
  const rounds = new WithdrawalRounds(scene.context);
  await payAll(scene, rounds, 40);
  const states = rows(scene).map(({ chain, amount, state }) => [chain, amount / one, state]);
  assert.deepEqual(states, [[a, 40n, "done"], [b, 50n, "dispatched"]]);
  scene.chain(b).faults.clear("simulate");
  await scene.blocks(400);
  await payAll(scene, rounds);
  assert.deepEqual(rows(scene).map(({ state }) => state), ["done", "done"]);
});

Deno.test("withdrawals: a payment that the leg read before it was known as one is delivered at once", async () => {
  const scene = await sceneWith({ chains: [a, b] });
  scene.hub.accounts.payOut(a, scene.address(a), 40n * one);
  await scene.blocks(5);
  const events = await scene.hub.fetchEvents(1n, scene.hubNode.head.height, never);
  const [sent] = events.flatMap((event) => event.kind === "message" ? [event] : []);
  assert.ok(sent !== undefined);
  const ends = { source: scene.hub.id.stateMachine, target: a };
  const held = { state: "held", reason: "hub_originated", seenAtHeight: sent.at.height } as const;
  const nextAttemptAtMs = scene.clock.now() + 3_600_000;
  scene.ledger.transaction(() =>
    scene.ledger.messages.record({ ...toMessageRow(sent.message, ends, held), nextAttemptAtMs })
  );
  await payAll(scene, new WithdrawalRounds(scene.context), 40);
  assert.deepEqual(rows(scene).map(({ state }) => state), ["done"]);
});

Deno.test("withdrawals: a payment that the chain refuses is tried again every 300 s, with one line, and never given up (F25)", async () => {
  const { scene, rounds } = await ordered({ withdrawals: { frequencySec: 3_600 } });
  scene.unheard.add(a);
  await scene.blocks(5);
  await rounds.advance(never);
  const [row] = rows(scene);
  assert.ok(row?.dispatch !== undefined);
  const { commitment } = row.dispatch;
  scene.node(a).failing.add(commitment); // the manager runs out of gas
  scene.unheard.clear();
  const attempts: number[] = [];
  for (let second = 0; second < 1_000; second++) {
    await rounds.advance(never);
    await scene.blocks(1);
    const message = scene.ledger.messages.find(commitment, a);
    if (message !== undefined && message.attempts > attempts.length) attempts.push(scene.clock.now());
  }
  const pauses = attempts.slice(1).map((atMs, index) => Math.round((atMs - (attempts[index] ?? 0)) / 1_000));
  assert.deepEqual([attempts.length >= 3, [...new Set(pauses)]], [true, [300]]);
  assert.equal(scene.log.linesOf("payment_delayed.rejected").length, 1);
  scene.node(a).failing.clear();
  await scene.blocks(300);
  await payAll(scene, rounds);
  assert.equal(rows(scene)[0]?.state, "done");
});

for (const isGated of [false, true]) {
  Deno.test(`withdrawals: a payment that is mined without effect comes back, and ${isGated ? "its gate is read again before another is sent" : "is paid once in the end"}`, async () => {
    const { scene, rounds } = await credited({ chains: [a] });
    const gates = new MemoryGates(scene.clock);
    scene.chain(a).gates = gates;
    const act = (): void => {
      if (isGated) gates.others = toEvmAddress(keyOf(5));
      const commitment = rows(scene)[0]?.dispatch?.commitment;
      if (commitment !== undefined) scene.node(a).failing.add(commitment);
    };
    scene.chain(a).faults.add("broadcast", { kind: "interrupt", when: "after", act });
    await rounds.orderNow(never);
    await payAll(scene, rounds, 30);
    assert.match(rows(scene)[0]?.detail ?? "", /not_executed/);
    // As for a node that shows no failing modules.
    scene.node(a).failing.clear();
    await payAll(scene, rounds, 400);
    const [row] = rows(scene);
    assert.deepEqual([row?.state, paidOn(scene, a)], isGated ? ["dispatched", 0] : ["done", 1]);
    if (isGated) assert.match(row?.detail ?? "", /gated/);
  });
}

Deno.test("withdrawals: an account without gas is reported, and its payment goes when it is funded", async () => {
  const { scene, rounds } = await credited();
  scene.node(a).unfunded.add(toHex(scene.address(a)));
  await rounds.orderNow(never);
  await payAll(scene, rounds, 90);
  assert.equal(rows(scene)[0]?.state, "dispatched");
  const told = scene.log.linesOf("balance_insufficient");
  assert.equal(told.length, 1);
  scene.node(a).unfunded.clear();
  await payAll(scene, rounds);
  assert.equal(rows(scene)[0]?.state, "done");
});

Deno.test("withdrawals: a payment whose delivery costs a tenth of it waits with one line, and goes when gas is cheaper", async () => {
  // 100,000 gas at 2,000 dollars: 75 gwei make 15 dollars.
  const { scene, rounds } = await credited({ price27: 2_000n * 10n ** 27n });
  scene.node(a).priceWei = 75n * 10n ** 9n;
  scene.chain(a).balanceWei = 10n ** 20n;
  await rounds.orderNow(never);
  await payAll(scene, rounds, 1_300);
  assert.equal(rows(scene)[0]?.state, "dispatched");
  assert.equal(paidOn(scene, a), 0);
  const told = scene.log.linesOf("payment_delayed.cost");
  assert.deepEqual(told.map(({ fields }) => [fields["costUsd"], fields["mostUsd"]]), [
    ["15", "14.999999999999999999"],
  ]);
  scene.node(a).priceWei = 74n * 10n ** 9n;
  await payAll(scene, rounds, 700);
  assert.equal(rows(scene)[0]?.state, "done");
  assert.equal(paidOn(scene, a), 1);
});

Deno.test("withdrawals: the first round comes a minute after the start, the next a period after the last completed one", async () => {
  await withLedgerFile(new FakeClock(), async (ledger, reopen) => {
    const scene = new Scene({ chains: [a], ledger, withdrawals: { frequencySec: 3_600 } });
    await scene.blocks(8);
    let rounds = new WithdrawalRounds(scene.context);
    const looks = (): number => scene.hub.count("fetchFeeBalance");
    assert.deepEqual(await rounds.orderDue(never), []);
    await scene.blocks(60);
    await rounds.orderDue(never);
    assert.equal(looks(), 1);
    await rounds.orderDue(never);
    await scene.blocks(1_800);
    scene.connect(reopen());
    rounds = new WithdrawalRounds(scene.context);
    await scene.blocks(61);
    await rounds.orderDue(never);
    assert.equal(looks(), 1, "a restart repeats the round");
    await scene.blocks(1_800);
    await rounds.orderDue(never);
    assert.equal(looks(), 2, "a restart puts the round off");
  });
});

Deno.test("withdrawals: a round in which the hub does not answer is not completed", async () => {
  const { scene, rounds } = await credited({ chains: [a] });
  await scene.blocks(60);
  await scene.blocks(60);
  scene.hub.faults.add("fetchFeeBalance", { kind: "throw", code: "timeout" });
  assert.deepEqual(await rounds.orderDue(never), [{ chain: a, results: "unreachable" }]);
  await scene.blocks(10);
  assert.deepEqual(await rounds.orderDue(never), [{ chain: a, results: ["ordered"] }]);
});

Deno.test("withdrawals: an order that the hub never takes is void after ten minutes, and the fees stay", async () => {
  const { scene, rounds } = await credited({ chains: [a] });
  scene.hub.faults.add("broadcast", { kind: "throw", code: "timeout" }, { times: 1_000 });
  await rounds.orderNow(never);
  for (let minute = 0; minute < 11; minute++) {
    await rounds.advance(never);
    await scene.blocks(60);
  }
  await rounds.advance(never);
  assert.deepEqual(rows(scene).map(({ state }) => state), ["void"]);
  assert.equal(scene.hub.accounts.balanceOf(a, scene.address(a)), 150n * one);
  scene.hub.faults.clear("broadcast");
  await rounds.orderNow(never);
  await payAll(scene, rounds);
  assert.deepEqual(rows(scene).map(({ state }) => state), ["void", "done"]);
});

Deno.test("withdrawals: an order whose nonce went to another relayer's signature is void once that is read", async () => {
  const { scene, rounds } = await credited({ chains: [a] });
  scene.hubNode.isFull = true;
  await rounds.orderNow(never);
  scene.hubNode.clearMempool();
  scene.hubNode.isFull = false;
  scene.hub.accounts.useNonceOf(a, scene.address(a));
  for (let second = 0; second < 12; second++) {
    await rounds.advance(never);
    await scene.blocks(1);
  }
  assert.deepEqual(rows(scene).map(({ state }) => state), ["void"]);
});

Deno.test("withdrawals: the worker pays out by itself, again and again", async () => {
  const scene = await sceneWith({ chains: [a], withdrawals: { frequencySec: 600 } });
  scene.hub.accounts.credit(a, scene.address(a), 150n * one);
  const stop = new AbortController();
  const run = withdrawalWorker(scene.context, 2_000).run(stop.signal).catch(() => {});
  const settling = (async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await scene.settle(a, stop.signal);
      await scene.clock.sleep(2_000, stop.signal);
    }
  })().catch(() => {});
  await scene.during(scene.clock.sleep(300_000, never));
  assert.deepEqual(rows(scene).map(({ state }) => state), ["done"]);
  scene.hub.accounts.credit(a, scene.address(a), 120n * one);
  await scene.during(scene.clock.sleep(600_000, never));
  stop.abort();
  await Promise.all([run, settling]);
  assert.deepEqual(rows(scene).map(({ state, amount }) => [state, amount / one]), [["done", 150n], [
    "done",
    120n,
  ]]);
  assert.equal(paidOn(scene, a), 2);
});

const crashes: readonly (readonly ["hub" | "chain", string])[] = [
  ["hub", "dryRunCall"],
  ["hub", "prepareCall"],
  ["hub", "broadcast"],
  ["hub", "fetchOutcome"],
  ["hub", "fetchEvents"],
  ["hub", "proveMessages"],
  ["chain", "fetchReceipts"],
  ["chain", "simulate"],
  ["chain", "sign"],
  ["chain", "broadcast"],
  ["chain", "fetchFinalHeight"],
];

for (const [where, method] of crashes) {
  for (const when of ["before", "after"] as const) {
    Deno.test(`withdrawals: killed ${when} ${method} of the ${where}, a restart pays out exactly once (F5)`, async () => {
      await withLedgerFile(new FakeClock(), async (ledger, reopen) => {
        const { scene, rounds: dying } = await credited({ chains: [a], ledger });
        const on = where === "hub" ? scene.hub : scene.chain(a);
        await dieAt({ scene, on, method, when }, async (signal, round) => {
          if (round === 0) await dying.orderNow(signal);
          await dying.advance(signal);
          await scene.settle(a, signal);
        });
        scene.connect(reopen());
        await scene.blocks(2);
        const rounds = new WithdrawalRounds(scene.context);
        for (let pass = 0; pass < 3; pass++) {
          await rounds.orderNow(never);
          await payAll(scene, rounds);
          await scene.blocks(20);
        }
        assert.equal(paidOn(scene, a), 1);
        assert.equal(scene.hub.accounts.balanceOf(a, scene.address(a)), 0n);
        assert.equal(rows(scene).filter(({ state }) => state === "done").length, 1);
        assert.equal(scene.ledger.withdrawals.listOpen().length, 0);
        assert.equal(scene.context.calls.listOpen("withdraw").length, 0);
      });
    });
  }
}
