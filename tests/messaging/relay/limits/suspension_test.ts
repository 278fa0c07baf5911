import assert from "node:assert/strict";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import { NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { releaseSuspended } from "../../../../src/messaging/commands/hold.ts";
import type { HoldSubject } from "../../../../src/messaging/relay/decisions/route.ts";
import {
  afterFailure,
  isWithinRisk,
  noteExecuted,
  noteNotExecuted,
  type PairHistory,
  toSuspensionKey,
} from "../../../../src/messaging/relay/limits/suspension.ts";
import { mine, outbound, round, trust } from "../rounds.ts";
import { Fixture, interrupt, memoryLedger, names, Relayer, setUp, setUpWith } from "../fixture.ts";
import { COST_18, payAndUpdate, profitOf, recordPayment } from "../market.ts";
import { settleAll } from "../../../../src/messaging/relay/settle/settle_worker.ts";
import { MemoryReplacing } from "../../../support/memory_replacing.ts";
import { withLedgerFile } from "../../../support/ledger.ts";
import type { SuspensionRow } from "../../../../src/messaging/ledger/ledger.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";

const DAY_MS = 86_400_000;
/** Behaves in simulations and fails in blocks. */
const deceiver: Hex = "0x00000000000000000000000000000000000000cc";
const toDeceiver = { to: fromHex(deceiver) };

/** Rounds until nothing is due and nothing under way. */
async function work(relayer: Relayer): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    await round(relayer, outbound(relayer));
    await mine(relayer, 3);
  }
}

/** Transactions to the second chain that were mined and delivered nothing. */
function countVain(relayer: Relayer): number {
  const { submissions } = relayer.ledger;
  return listSent(relayer).filter(({ id }) =>
    submissions.itemsOf(id).every(({ outcome }) => outcome === "not_handled")
  ).length;
}

/** Every transaction to the second chain. */
function listSent({ ledger }: Relayer): { readonly id: number }[] {
  const found: { readonly id: number }[] = [];
  for (let id = 1;; id++) {
    const row = ledger.submissions.find(id);
    if (row === undefined) return found;
    if (row.submission.chain === names.two) found.push(row);
  }
}

const stateOf = (relayer: Relayer, message: Message | undefined): string =>
  message === undefined ? "" : relayer.stateOf(message).join(" ");

Deno.test("suspension: a module that behaves in simulations only is paid three times at most, however many messages come", async () => {
  const { fixture, relayer } = setUp({ settings: { retryFrequencySec: 600 } });
  fixture.two.deceivers.add(deceiver);
  for (let time = 0; time < 80; time++) {
    await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
    await work(relayer);
    await fixture.clock.advance(DAY_MS / 4);
  }
  assert.equal(countVain(relayer), 3);
  const rows = relayer.ledger.messages.countByState();
  assert.deepEqual(
    rows.filter(({ target }) => target === names.two).map(({ state, count }) => [state, count]),
    [
      ["held", 80],
    ],
  );
});

Deno.test("suspension: after one delivery without effect messages of the pair, and of new senders to its receiver, are held, also those found after a restart, others travel", async () => {
  const fixture = new Fixture();
  await withLedgerFile(fixture.clock, async (ledger, reopen) => {
    fixture.two.deceivers.add(deceiver);
    const relayer = new Relayer(fixture, ledger);
    const [bad] = await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
    await work(relayer);
    assert.equal(stateOf(relayer, bad), "held not_executed");
    assert.equal(relayer.log.events("warn").length, 1);
    const [later] = await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
    await work(relayer);
    assert.equal(stateOf(relayer, later), "held suspended");

    const again = new Relayer(fixture, reopen());
    const [fresh] = await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
    const [otherSender] = await fixture.sendFrom(fixture.hub, fixture.two, 1, {
      ...toDeceiver,
      from: fromHex("0x00000000000000000000000000000000000000dd"),
    });
    const [otherReceiver] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
    await work(again);
    assert.deepEqual([fresh, otherSender, otherReceiver].map((message) => stateOf(again, message)), [
      "held suspended",
      "held suspended",
      "delivered handled_by_us",
    ]);
    assert.deepEqual(again.submissions(fresh ?? fixture.message()), []);
  });
});

Deno.test("suspension: after a day one message is tried; when it is delivered the others follow", async () => {
  const { fixture, relayer } = setUp();
  fixture.two.deceivers.add(deceiver);
  await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
  await work(relayer);
  const later = await fixture.sendFrom(fixture.hub, fixture.two, 5, toDeceiver);
  await work(relayer);
  fixture.two.deceivers.clear();
  assert.equal((await round(relayer, outbound(relayer))).sent, 0);
  await fixture.clock.advance(DAY_MS);
  await fixture.blocks(1);
  assert.equal((await round(relayer, outbound(relayer))).sent, 1);
  assert.deepEqual(
    later.map((message) => relayer.row(message).state).sort(),
    ["held", "held", "held", "held", "submitted"],
  );
  await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
  assert.equal((await round(relayer, outbound(relayer))).sent, 0, "one at a time, whatever comes meanwhile");
  await mine(relayer, 3);
  assert.equal((await round(relayer, outbound(relayer))).sent, 5);
});

Deno.test("suspension: a delivery that was signed before the failure releases nothing", async () => {
  const { fixture, relayer, first: message } = await setUpWith(1, { changes: toDeceiver });
  await round(relayer, outbound(relayer));
  const target = relayer.on(relayer.two);
  const { ledger } = relayer;
  const row = relayer.row(message);
  const failedAtMs = fixture.clock.now();
  const listActive = (): number => ledger.suspensions.listActive(names.two).length;
  ledger.transaction(() => void noteNotExecuted(target, { row, transaction: message.commitment }));
  for (const [sentAtMs, active] of [[failedAtMs - 1, 1], [failedAtMs, 0]] as const) {
    ledger.transaction(() => noteExecuted(target, [row], sentAtMs));
    assert.equal(listActive(), active);
  }
});

Deno.test("suspension: our own payments are not held by it, and neither shorten nor end it", async () => {
  const { fixture, relayer } = setUp();
  const [payment] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { ...toDeceiver, source: names.hub });
  recordPayment(relayer, payment, COST_18);
  const pair = { ...toSuspensionKey(payment, names.two), isActive: true, nextTryAtMs: NEVER_MS };
  const lastTransaction = payment.commitment;
  relayer.ledger.transaction(() =>
    relayer.ledger.suspensions.write({ ...pair, failures: 3, lastTransaction })
  );
  const due = (): unknown =>
    relayer.ledger.suspensions.listActive(names.two).map(({ nextTryAtMs }) => nextTryAtMs);
  await round(relayer, outbound(relayer));
  assert.equal(relayer.row(payment).state, "submitted");
  assert.deepEqual(due(), [NEVER_MS]);
  await mine(relayer, 3);
  assert.equal(relayer.row(payment).state, "delivered");
  assert.deepEqual(due(), [NEVER_MS]);
});

Deno.test("suspension: what was prepared before the failure was seen is not sent", async () => {
  const { fixture, relayer } = setUp();
  const [suspended] = await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
  const [free] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  trust(relayer.on(relayer.two), [suspended, free]);
  const { suspensions } = relayer.ledger;
  const lastTransaction = suspended.commitment;
  const failed = { failures: 1, isActive: true, nextTryAtMs: NEVER_MS, lastTransaction };
  interrupt(
    relayer.two,
    "sign",
    () => suspensions.write({ ...toSuspensionKey(suspended, names.two), ...failed }),
  );
  assert.equal((await round(relayer, outbound(relayer))).sent, 1);
  assert.equal(stateOf(relayer, suspended), "held suspended");
  assert.equal(relayer.row(free).state, "submitted");
  assert.deepEqual(relayer.submissions(suspended), []);
});

Deno.test("suspension: after the last try only a hand sets the pair free", async () => {
  const { fixture, relayer } = setUp();
  fixture.two.deceivers.add(deceiver);
  for (const days of [0, 1, 3, 400]) {
    await fixture.clock.advance(days * DAY_MS);
    await fixture.sendFrom(fixture.hub, fixture.two, 2, toDeceiver);
    await work(relayer);
  }
  assert.equal(countVain(relayer), 3);
  const [last] = await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
  await work(relayer);
  assert.equal(relayer.row(last).nextAttemptAtMs, NEVER_MS);
  fixture.two.deceivers.clear();
  const { ledger } = relayer;
  const release = (subject?: HoldSubject): ReturnType<typeof releaseSuspended> =>
    releaseSuspended(ledger, [names.one, names.two], subject);
  const { sender } = toSuspensionKey(last, names.two);
  const others: readonly HoldSubject[] = [
    { kind: "route", source: undefined, dest: names.one },
    { kind: "route", source: names.one, dest: names.two },
    { kind: "module", module: "0xdead" },
  ];
  for (const other of others) assert.deepEqual(release(other), []);
  const released = release({ kind: "module", module: toHex(sender) });
  assert.deepEqual(released.map((pair) => pair.failures), [3]);
  assert.deepEqual(release(), []);
  await work(relayer);
  assert.equal(relayer.row(last).state, "delivered");
});

Deno.test("suspension: a failure whose block is gone does not count", async () => {
  const { fixture, relayer } = setUp();
  fixture.two.deceivers.add(deceiver);
  const [first] = await fixture.sendFrom(fixture.hub, fixture.two, 1, toDeceiver);
  await round(relayer, outbound(relayer));
  await mine(relayer);
  assert.equal(stateOf(relayer, first), "held not_executed");
  fixture.two.deceivers.clear();
  fixture.two.reorganise(1);
  await mine(relayer, 4);
  assert.equal(stateOf(relayer, first), "delivered handled_by_us");
  assert.deepEqual(relayer.ledger.suspensions.listActive(names.two), []);
});

/** Receivers of one owner, as CREATE2 makes them. */
const clone = (index: number): { readonly to: Uint8Array } => ({ to: new Uint8Array(20).fill(index, 0, 1) });

Deno.test("strangers: pairs without a delivery share no transaction with others, proven ones share one, over a restart too", async () => {
  const fixture = new Fixture();
  await withLedgerFile(fixture.clock, async (ledger, reopen) => {
    const sizes = async (relayer: Relayer): Promise<number[]> => {
      const from = fixture.two.deliveries().length;
      for (const index of [1, 1, 2, 3]) await fixture.sendFrom(fixture.hub, fixture.two, 1, clone(index));
      const before = listSent(relayer).length;
      await work(relayer);
      assert.equal(fixture.two.deliveries().length, from + 4);
      return listSent(relayer).slice(before).map(({ id }) => relayer.ledger.submissions.itemsOf(id).length);
    };
    assert.deepEqual(await sizes(new Relayer(fixture, ledger)), [2, 1, 1]);
    assert.deepEqual(await sizes(new Relayer(fixture, reopen())), [4]);
  });
});

/** A relayer with a limit in dollars, and one round of it to the second chain with everything that follows. */
function limited(fixture: Fixture, dollars: bigint): {
  readonly relayer: Relayer;
  readonly deliver: (...receivers: readonly number[]) => Promise<readonly string[]>;
  readonly lose: (index: number) => Promise<void>;
} {
  const settings = { maxDailyLossMicroUsd: dollars * 1_000_000n };
  const relayer = new Relayer(fixture, memoryLedger(fixture), { settings });
  const profit = profitOf(relayer, 10);
  const leg = relayer.leg(relayer.hub, relayer.two, { profit });
  const replacement = new MemoryReplacing(fixture.two, relayer.two);
  const settling = { ...relayer.on(relayer.two), replacement, profit };
  /** Delivers one message that pays to each of these receivers; 20 cents each, and twice as much is planned. */
  const deliver = async (...receivers: readonly number[]): Promise<readonly string[]> => {
    const sent: Message[] = [];
    for (const index of receivers) sent.push(...await payAndUpdate(fixture, [2n * COST_18], clone(index)));
    await round(relayer, leg);
    await fixture.blocks(3);
    await settleAll(settling);
    await settleAll(settling);
    return sent.map((message) => relayer.row(message).state);
  };
  const lose = async (index: number): Promise<void> => {
    fixture.two.deceivers.add(toHex(clone(index).to));
    await deliver(index);
  };
  return { relayer, deliver, lose };
}

Deno.test("strangers: fresh receivers that fail cost ten dollars a day together, and keep no proven pair back", async () => {
  const { relayer, deliver, lose } = limited(new Fixture(), 100n);
  assert.deepEqual(await deliver(100), ["delivered"]);
  for (let index = 1; index <= 55; index++) await lose(index);
  assert.equal(countVain(relayer), 49);
  assert.deepEqual(await deliver(100, 100), ["delivered", "delivered"]);
});

Deno.test("strangers: a small limit is all theirs before anything was delivered, and a quarter of it afterwards", async () => {
  const { relayer, deliver, lose } = limited(new Fixture(), 2n);
  for (const index of [1, 2, 3, 4]) await lose(index);
  assert.equal(countVain(relayer), 4, "more than a quarter");
  assert.deepEqual(await deliver(5), ["delivered"]);
  await lose(6);
  assert.equal(countVain(relayer), 4, "the rest is for proven pairs");
  assert.deepEqual(await deliver(5), ["delivered"]);
});

Deno.test("strangers: one that makes a transaction revert alone is suspended with its receiver at once, and warned about", async () => {
  const { fixture, relayer } = setUp();
  for (const from of [7, 8]) {
    const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1, {
      ...toDeceiver,
      from: new Uint8Array(20).fill(from),
    });
    fixture.two.spoiling.add(message.commitment);
    await work(relayer);
  }
  assert.equal(fixture.two.reverted().length, 1);
  assert.deepEqual(relayer.log.events("warn"), ["modules_suspended"]);
});

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
