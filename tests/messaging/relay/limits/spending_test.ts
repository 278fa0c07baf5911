/** What the ledger of spending says of transactions, and the daily limit of losses. */
import assert from "node:assert/strict";
import { collectMessages, type Delivery } from "../../../../src/core/chains/submission.ts";
import type { SpendingRow } from "../../../../src/messaging/ledger/ledger.ts";
import { STUCK_AFTER_MS } from "../../../../src/core/chains/replacement.ts";
import type { LegProfit } from "../../../../src/messaging/relay/leg.ts";
import { sendConsensus } from "../../../../src/messaging/relay/deliver/send.ts";
import { settleAll } from "../../../../src/messaging/relay/settle/settle_worker.ts";
import {
  boundByLosses,
  findSpendingStop,
  findUnspendable,
  stopUncovered,
  suspendUnfunded,
} from "../../../../src/messaging/relay/limits/spending.ts";
import type { EventCode } from "../../../../src/core/telemetry/log.ts";
import { MemoryReplacing } from "../../../support/memory_replacing.ts";
import { raceWith, signDelivery } from "../competitor.ts";
import { COST_18, payAndUpdate, PRICE_WEI, profitOf } from "../market.ts";
import { round } from "../rounds.ts";
import { Fixture, names, type Scene, type SetUp, setUp } from "../fixture.ts";
import { withLedgerFile } from "../../../support/ledger.ts";

type Case = Scene & { readonly profit: LegProfit };

function prepare(percent: number, options: SetUp = {}): Case {
  const scene = setUp(options);
  scene.fixture.two.priceWei = PRICE_WEI;
  const profit = profitOf(scene.relayer, percent);
  return { ...scene, profit, leg: { ...scene.leg, profit } };
}

async function settle({ relayer, profit, fixture }: Case): Promise<void> {
  const replacement = new MemoryReplacing(fixture.two, relayer.two);
  await settleAll({ ...relayer.on(relayer.two), replacement, profit });
}

/** Sends what is due; messages that others may want are left to them for a while. */
async function send({ leg, relayer, fixture }: Case): Promise<number> {
  for (let rounds = 0; rounds < 40; rounds++) {
    const { sent } = await round(relayer, leg);
    if (sent > 0) return sent;
    await fixture.clock.advance(3_000);
  }
  return 0;
}

/** Sends what is due, has it mined, and settles it. */
async function deliver(work: Case): Promise<number> {
  const sent = await send(work);
  await work.fixture.blocks(1);
  await settle(work);
  return sent;
}

/** Everything that was spent on the second chain. */
function rows({ relayer }: Case): readonly SpendingRow[] {
  return relayer.ledger.spending.listMined(names.two, 0);
}

function told({ relayer }: Case, code: EventCode): readonly unknown[] {
  return relayer.log.linesOf(code).map(({ fields }) => fields);
}

/** Millionths of a dollar that a delivery of one message costs at most: its gas limit is twice its gas. */
const MAX_COST_MICRO_USD = COST_18 * 2n / 10n ** 12n;

/** What 100,000 gas cost. */
const COST_WEI = 100_000n * PRICE_WEI;

Deno.test("spending: a delivery by the profit rule cost what its receipt says and earned its fees", async () => {
  const work = prepare(10);
  const fees = [COST_18 * 2n, COST_18 * 3n];
  await payAndUpdate(work.fixture, fees);
  assert.equal(await deliver(work), 2);
  const [row] = rows(work);
  assert.deepEqual([row?.purpose, row?.rule, row?.result], ["delivery", "profit", "delivered"]);
  assert.deepEqual([row?.costWei, row?.costUsd18], [2n * COST_WEI, 2n * COST_18]);
  assert.deepEqual([row?.offeredUsd18, row?.revenueUsd18, row?.lossMicroUsd], [
    5n * COST_18,
    5n * COST_18,
    0n,
  ]);
});

Deno.test("spending: without a minimum the revenue of a delivery is unknown until the claim; until then it counts as lost", async () => {
  const work = prepare(0);
  await payAndUpdate(work.fixture, [COST_18 * 2n]);
  await deliver(work);
  const [row] = rows(work);
  assert.deepEqual([row?.rule, row?.result, row?.revenueUsd18], ["no_minimum", "delivered", undefined]);
  assert.equal(row?.lossMicroUsd, 200_000n);
});

Deno.test("spending: a lost race, a module that fails and a freed nonce are distinguished, and earned nothing", async () => {
  const work = prepare(0);
  const { fixture } = work;
  const [lost] = await payAndUpdate(fixture, [0n]);
  await raceWith(fixture, [lost]);
  await deliver(work);
  const [failing] = await payAndUpdate(fixture, [0n]);
  // It behaves while it is simulated.
  assert.equal(await send(work), 1);
  fixture.two.failing.add(failing.commitment);
  await fixture.blocks(1);
  await settle(work);
  // Between other modules: what those of this one did keeps their other messages back.
  await payAndUpdate(fixture, [0n], { from: new Uint8Array(20).fill(9), to: new Uint8Array(20).fill(9) });
  fixture.two.isFull = true;
  assert.equal(await send(work), 1);
  for (let replacement = 0; replacement < 4; replacement++) {
    await fixture.clock.advance(STUCK_AFTER_MS);
    await settle(work);
  }
  fixture.two.isFull = false;
  await fixture.blocks(1);
  await settle(work);
  const found = rows(work);
  assert.deepEqual(found.map(({ result }) => result), ["lost_race", "not_executed", "cancelled"]);
  assert.deepEqual(found.map(({ revenueUsd18 }) => revenueUsd18), [0n, 0n, 0n]);
  const [reverted, , cancelled] = found;
  assert.deepEqual([reverted?.costWei, cancelled?.gasUsed], [21_000n * PRICE_WEI, 21_000n]);
  assert.deepEqual([cancelled?.purpose, cancelled?.rule], ["cancellation", "nonce"]);
});

Deno.test("spending: what a module let fail counts as that, also when another relayer has delivered it since", async () => {
  const work = prepare(0);
  const { fixture } = work;
  const [failing] = await payAndUpdate(fixture, [0n]);
  assert.equal(await send(work), 1);
  fixture.two.failing.add(failing.commitment);
  await fixture.blocks(1);
  fixture.two.failing.delete(failing.commitment);
  await raceWith(fixture, [failing]);
  await fixture.blocks(1);
  await settle(work);
  assert.deepEqual(rows(work).map(({ result }) => result), ["not_executed"]);
  const message = work.relayer.ledger.messages.find(failing.commitment, names.two);
  assert.equal(message?.state, "delivered_by_other");
});

Deno.test("spending: proofs that the host already had are distinguished from those that advanced it", async () => {
  const work = prepare(0, { nodes: { two: { setId: 0n } } });
  const { fixture } = work;
  await fixture.blocks(3);
  fixture.hub.acceptProof("messaging");
  await fixture.blocks(4);
  const { acceptedProofs } = work.relayer.hub;
  const { messaging } = await acceptedProofs.fetchAcceptedIndex(work.relayer.signal);
  const bytes = await Promise.all(
    messaging.map((height) =>
      acceptedProofs.fetchProofBytes({ height, newSetId: undefined }, work.relayer.signal)
    ),
  );
  const known = bytes.filter((each) => each !== undefined);
  assert.equal(known.length, 1);
  const delivery: Delivery = { steps: known.map((proof) => ({ kind: "consensus", proof })) };
  work.relayer.two.reportsKnownProofs = false;
  for (let time = 0; time < 2; time++) {
    const simulation = await work.leg.target.simulator.simulate(delivery, work.relayer.signal);
    assert.ok(simulation.kind === "accepted");
    const consensus = { delivery, simulation, why: "ahead of messages" } as const;
    assert.equal(await sendConsensus(work.leg, consensus), "sent");
    await fixture.blocks(1);
    await settle(work);
  }
  assert.deepEqual(rows(work).map(({ purpose, rule, result }) => [purpose, rule, result]), [
    ["consensus_proofs", "consensus_proofs", "advanced"],
    ["consensus_proofs", "consensus_proofs", "already_known"],
  ]);
});

/** Two lost races of 0.042 dollars fit into this limit beside a transaction's maximum cost, three do not. */
const LIMIT_MICRO_USD = MAX_COST_MICRO_USD + 60_000n;

/** Loses `times` races of 0.042 dollars each. */
async function loseRaces(work: Case, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const messages = await payAndUpdate(work.fixture, [COST_18 * 2n]);
    await raceWith(work.fixture, messages);
    assert.equal(await deliver(work), 1);
    await work.fixture.clock.advance(60_000);
  }
}

/** Notes for the first transaction that it cost far more than any limit, without a price. */
function loseMuch(work: Case): void {
  const [lost] = rows(work);
  assert.ok(lost !== undefined);
  const { ledger } = work.relayer;
  ledger.transaction(() =>
    ledger.spending.note(lost.id, {
      gas: { gasUsed: 10n ** 9n, gasPriceWei: PRICE_WEI, dataCostWei: 0n },
      price27: undefined,
      result: "lost_race",
      revenueUsd18: 0n,
    })
  );
}

Deno.test("daily loss: when it is reached nothing is sent there, over a restart too, and after a day it continues", async () => {
  const fixture = new Fixture();
  const settings = { maxDailyLossMicroUsd: LIMIT_MICRO_USD };
  await withLedgerFile(fixture.clock, async (ledger, reopen) => {
    const work = prepare(10, { settings, fixture, ledger });
    await loseRaces(work, 2);
    assert.deepEqual(told(work, "loss_limit_reached"), []);
    await payAndUpdate(fixture, [COST_18 * 2n]);
    assert.equal(await deliver(work), 0);
    const lines = told(work, "loss_limit_reached");
    assert.equal(lines.length, 1);
    assert.match(
      String(Object(lines[0]).because),
      /what is left of maximum_daily_loss does not cover it/,
    );
    const again = prepare(10, { settings, fixture, ledger: reopen() });
    assert.equal(await send(again), 0, "before anything was settled");
    // The other chain is not concerned.
    const profit = profitOf(again.relayer, 0);
    fixture.one.priceWei = PRICE_WEI;
    const other = again.relayer.leg(again.relayer.hub, again.relayer.one, { profit });
    fixture.hub.dispatch(fixture.message({ source: names.two, dest: names.one }));
    await fixture.blocks(1);
    await fixture.update(fixture.hub, fixture.one);
    assert.equal((await round(again.relayer, other)).sent, 1);
    await fixture.clock.advance(86_400_000 - 60_000);
    await settle(again);
    assert.equal(await deliver(again), 1, "the first loss is a day old");
    assert.equal(told(again, "loss_limit_cleared").length, 1);
  });
});

Deno.test("daily loss: a stop ends at once when the file has no limit any more", async () => {
  const fixture = new Fixture();
  await withLedgerFile(fixture.clock, async (ledger, reopen) => {
    const work = prepare(10, { settings: { maxDailyLossMicroUsd: LIMIT_MICRO_USD }, fixture, ledger });
    await loseRaces(work, 2);
    await payAndUpdate(fixture, [COST_18 * 2n]);
    assert.equal(await deliver(work), 0);
    const free = prepare(10, { fixture, ledger: reopen() });
    await settle(free);
    assert.equal(told(free, "loss_limit_cleared").length, 1);
    assert.equal(await deliver(free), 1);
  });
});

Deno.test("daily loss: what arrived anyway is noticed, and the others say why they wait", async () => {
  const work = prepare(10, { settings: { maxDailyLossMicroUsd: LIMIT_MICRO_USD } });
  const { fixture, relayer } = work;
  await loseRaces(work, 2);
  await payAndUpdate(fixture, [COST_18 * 2n]);
  while (told(work, "loss_limit_reached").length === 0) {
    assert.equal((await round(relayer, work.leg)).sent, 0);
    await fixture.clock.advance(3_000);
  }
  const [arrived] = await payAndUpdate(fixture, [COST_18 * 2n]);
  const [waiting] = await payAndUpdate(fixture, [COST_18 * 2n]);
  await raceWith(fixture, [arrived]);
  fixture.two.produceBlock();
  assert.equal((await round(relayer, work.leg)).sent, 0);
  assert.equal(relayer.row(arrived).state, "delivered_by_other");
  const { state, reason, nextAttemptAtMs } = relayer.row(waiting);
  assert.deepEqual([state, reason], ["held", "loss_limit"]);
  assert.ok(nextAttemptAtMs - fixture.clock.now() <= 600_000);
  await fixture.clock.advance(86_400_000);
  await settle(work);
  assert.equal(await deliver(work), 1, "it continues with as many as the limit covers");
  assert.equal(await deliver(work), 1);
});

Deno.test("daily loss: a waiting transaction is not replaced while the limit is reached", async () => {
  const work = prepare(10, { settings: { maxDailyLossMicroUsd: 4n * MAX_COST_MICRO_USD } });
  const { fixture } = work;
  await loseRaces(work, 1);
  await payAndUpdate(fixture, [COST_18 * 9n]);
  fixture.two.isFull = true;
  assert.equal(await send(work), 1);
  loseMuch(work);
  await fixture.clock.advance(STUCK_AFTER_MS);
  fixture.two.priceWei = PRICE_WEI * 3n / 2n;
  await settle(work);
  assert.deepEqual(told(work, "transaction_replaced.repriced"), []);
  assert.match(JSON.stringify(told(work, "loss_limit_reached")), /"lostUsd":"\d/);
});

for (const isReached of [true, false]) {
  Deno.test(`daily loss: what others have delivered meanwhile is ${isReached ? "not " : ""}cancelled while the limit is ${isReached ? "" : "not "}reached`, async () => {
    const work = prepare(10, { settings: { maxDailyLossMicroUsd: 4n * MAX_COST_MICRO_USD } });
    const { fixture: { two }, fixture, relayer } = work;
    await loseRaces(work, 1);
    const [message] = await payAndUpdate(fixture, [COST_18 * 9n]);
    const { competitor, submission } = await signDelivery(fixture, [message]);
    two.isFull = true;
    assert.equal(await send(work), 1);
    two.clearMempool();
    await competitor.two.broadcast(submission, competitor.signal);
    two.isFull = false;
    two.produceBlock();
    two.isFull = true;
    const [waiting] = relayer.submissions(message);
    assert.ok(waiting !== undefined);
    two.submit(waiting.submission.hash);
    if (isReached) loseMuch(work);
    await fixture.clock.advance(STUCK_AFTER_MS);
    await settle(work);
    const found = relayer.ledger.submissions.listUnresolved(names.two).map(({ kind }) => kind);
    assert.deepEqual(found, isReached ? ["delivery"] : ["delivery", "cancel"]);
  });
}

Deno.test("daily loss: without a price, what was spent stops it", async () => {
  const work = prepare(0, { settings: { maxDailyLossMicroUsd: 1_000_000n } });
  const unpriced = { ...work, profit: profitOf(work.relayer, 0, "none") };
  await payAndUpdate(work.fixture, [0n]);
  await deliver(unpriced);
  await payAndUpdate(work.fixture, [0n]);
  assert.equal((await round(work.relayer, work.leg)).sent, 0);
  assert.match(
    String(JSON.stringify(told(work, "loss_limit_reached"))),
    /price of the native token is unknown/,
  );
  await settle(work);
  assert.equal(await deliver(work), 1);
});

Deno.test("daily loss: one message that never fits what is left waits alone, and those after it go", async () => {
  const work = prepare(0, { settings: { maxDailyLossMicroUsd: 3n * MAX_COST_MICRO_USD } });
  const { fixture, relayer } = work;
  const [large] = await payAndUpdate(fixture, [0n]);
  await payAndUpdate(fixture, [0n, 0n]);
  relayer.two.alterSimulation = (found, delivery) => {
    const isLarge = collectMessages(delivery).some(({ commitment }) => commitment === large.commitment);
    if (found.kind !== "accepted" || !isLarge) return found;
    return { ...found, gasUsed: found.gasUsed + 10_000_000n, gasLimit: found.gasLimit + 20_000_000n };
  };
  assert.equal(await deliver(work) + await deliver(work), 2);
  const { state, reason, detail = "" } = relayer.row(large);
  assert.deepEqual([state, reason], ["held", "loss_limit"]);
  assert.match(detail, /what is left of maximum_daily_loss does not cover it/);
  assert.deepEqual(told(work, "loss_limit_reached"), []);
});

Deno.test("daily loss: what was spent is compared with the limit also while one transaction was not covered", async () => {
  const work = prepare(10, { settings: { maxDailyLossMicroUsd: LIMIT_MICRO_USD } });
  await loseRaces(work, 2);
  await payAndUpdate(work.fixture, [COST_18 * 2n]);
  assert.equal(await deliver(work), 0);
  stopUncovered(work.leg, "another one");
  loseMuch(work);
  await settle(work);
  assert.equal(work.relayer.ledger.spending.sumLoss(names.two, 0).unpriced, 0, "a price was asked for");
  await work.fixture.clock.advance(120_000);
  assert.ok(findSpendingStop(work.leg), "the limit is reached");
});

Deno.test("daily loss: what waits for a higher price gets it although another transaction was not covered", async () => {
  const work = prepare(10, { settings: { maxDailyLossMicroUsd: 4n * MAX_COST_MICRO_USD } });
  const { fixture } = work;
  await payAndUpdate(fixture, [COST_18 * 9n]);
  fixture.two.isFull = true;
  assert.equal(await send(work), 1);
  await fixture.clock.advance(STUCK_AFTER_MS);
  fixture.two.priceWei = PRICE_WEI * 3n / 2n;
  stopUncovered(work.leg, "another one");
  await settle(work);
  assert.equal(told(work, "transaction_replaced.repriced").length, 1);
  const bound = await boundByLosses(work.leg, work.profit.price, { gasLimit: 200_000n, dataCostWei: 0n });
  assert.equal(bound?.wei, PRICE_WEI * 5n / 2n, "of one nonce only the dearest transaction counts");
});

Deno.test("daily loss: without a price nothing is signed, also where nothing was spent yet", async () => {
  const work = prepare(0, { settings: { maxDailyLossMicroUsd: 1_000_000n } });
  await payAndUpdate(work.fixture, [0n]);
  const leg = work.relayer.leg(work.relayer.hub, work.relayer.two, {
    profit: profitOf(work.relayer, 0, "none"),
  });
  assert.equal((await round(work.relayer, leg)).sent, 0);
  assert.match(JSON.stringify(told(work, "loss_limit_reached")), /price of the native token is unknown/);
});

Deno.test("spending: a pause of an account that cannot pay does not last as long as the clock was ahead", () => {
  const { fixture, leg } = prepare(10);
  suspendUnfunded(leg, "no funds");
  assert.equal(findUnspendable(leg)?.reason, "unfunded");
  fixture.clock.jump(-3_600_000);
  assert.equal(findUnspendable(leg), undefined);
});
