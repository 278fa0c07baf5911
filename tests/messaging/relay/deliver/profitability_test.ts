import { collectMessages } from "../../../../src/core/chains/submission.ts";
import { confirmUnknown } from "../../../../src/messaging/relay/deliver/profitability.ts";
import assert from "node:assert/strict";
import type { Message } from "../../../../src/core/ismp/message.ts";
import { getMessage, getResponseMessage } from "../../../../src/core/ismp/message.ts";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";
import type { LegRun, RelaySettings } from "../../../../src/messaging/relay/leg.ts";
import { readBatchLimit, rememberCompetitors } from "../../../../src/messaging/relay/limits/competitors.ts";
import { CONFIRM_AFTER_MS, NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { COST_18, payAndUpdate, PRICE_WEI, profitOf, recordPayment } from "../market.ts";
import { inbound, mine, outbound, readAgain, round, trust } from "../rounds.ts";
import {
  delivered,
  Fixture,
  getRequest,
  interrupt,
  names,
  Relayer,
  type Scene,
  sender,
  setUp,
  setUpWith,
} from "../fixture.ts";

const REQUIRED_18 = COST_18 + COST_18 / 10n;

async function prepare(
  fees: readonly bigint[],
  settings: Partial<RelaySettings> = {},
  percent?: number,
): Promise<Scene & { readonly messages: readonly Message[]; readonly first: Message }> {
  const scene = setUp({ settings });
  const messages = await payAndUpdate(scene.fixture, fees);
  const [first = scene.fixture.message()] = messages;
  return { ...scene, ...withProfitRule(scene.relayer, percent), messages, first };
}

const withProfitRule = (
  relayer: Relayer,
  percent = 10,
  price27?: "none",
): { profit: ReturnType<typeof profitOf>; leg: LegRun } => {
  const profit = profitOf(relayer, percent, price27);
  return { profit, leg: relayer.leg(relayer.hub, relayer.two, { profit }) };
};

/** A request of the second chain with that fee, and its answer, which the second chain can verify. */
async function askAndAnswer(fixture: Fixture, fee18: bigint, nonce = 1n): Promise<[Message, Message]> {
  fixture.two.priceWei = PRICE_WEI;
  const get = getRequest({ nonce, from: fromHex(sender), timeoutTimestampSec: 1n });
  const asked = getMessage(get);
  const response = getResponseMessage({ get, values: [] });
  fixture.two.dispatch(asked, fee18);
  fixture.hub.dispatch(response);
  await fixture.blocks(1);
  await fixture.update(fixture.hub, fixture.two);
  return [asked, response];
}

Deno.test("profitability: a fee exactly at the requirement delivers, one below is held with both numbers", async () => {
  const { relayer, messages, first, leg } = await prepare([REQUIRED_18 - 1n, REQUIRED_18]);
  assert.deepEqual(await round(relayer, leg), { sent: 1, hasMore: false });
  const { state, reason, requiredUsd18, offeredUsd18, nextAttemptAtMs } = relayer.row(first);
  assert.deepEqual([state, reason], ["held", "unprofitable"]);
  assert.deepEqual([requiredUsd18, offeredUsd18], [REQUIRED_18, REQUIRED_18 - 1n]);
  assert.ok(nextAttemptAtMs < NEVER_MS, "one reading decides nothing for good");
  assert.deepEqual(messages.map((message) => relayer.row(message).state), ["held", "submitted"]);
});

Deno.test("profitability: what may pay in a larger batch after a lost race is judged again soon, also when the limit grows meanwhile", async () => {
  for (const growsMs of [0, 2_000]) {
    const { fixture, relayer, first, leg } = await prepare([REQUIRED_18 - 1n]);
    const lose = (): void =>
      leg.ledger.transaction(() =>
        rememberCompetitors(leg, { relayers: [new Uint8Array(20).fill(9)], isLoss: true })
      );
    lose();
    await round(relayer, leg);
    await fixture.clock.advance(600_000);
    lose();
    await fixture.clock.advance(89_000);
    assert.equal(readBatchLimit(leg), 1);
    relayer.two.alterSimulation = async (found) => {
      await fixture.clock.advance(growsMs);
      return found;
    };
    await round(relayer, leg);
    const { state, reason, nextAttemptAtMs } = relayer.row(first);
    assert.deepEqual([state, reason], ["held", "unprofitable"]);
    assert.ok(nextAttemptAtMs - fixture.clock.now() <= 10_000, `${nextAttemptAtMs - fixture.clock.now()} ms`);
  }
});

Deno.test("profitability: what does not pay for all the gas that it may use, where nobody knows what it uses, is judged again", async () => {
  const { fixture, relayer, first, leg } = await prepare([REQUIRED_18]);
  const { alterSimulation } = relayer.two;
  // What eth_call makes of it: four million gas a message.
  const gas = 4_000_000n;
  relayer.two.alterSimulation = (found) =>
    found.kind === "refused"
      ? found
      : { ...found, gasUsed: gas, gasLimit: gas, messageGas: [gas], isBlind: true };
  assert.equal((await round(relayer, leg)).sent, 0);
  const { state, reason, requiredUsd18, nextAttemptAtMs } = relayer.row(first);
  assert.deepEqual([state, reason, requiredUsd18], ["held", "untraceable", REQUIRED_18 * 40n]);
  assert.ok((nextAttemptAtMs ?? NEVER_MS) <= fixture.clock.now() + 750_000);
  relayer.two.alterSimulation = alterSimulation;
  await fixture.clock.advance(750_000);
  assert.equal((await round(relayer, leg)).sent, 1);
});

for (const [what, fee18, sent] of [["more than", COST_18 * 2n - 1n, 0], ["what", COST_18 * 2n, 1]] as const) {
  Deno.test(
    `filterProfitable: a batch whose gas comes to cost ${what} its fees pay for is ${
      sent === 0 ? "checked again, not signed" : "still signed"
    }`,
    async () => {
      const { relayer, fixture, first, leg } = await prepare([fee18]);
      interrupt(relayer.two, "sign", () => void (fixture.two.priceWei = PRICE_WEI * 2n));
      assert.equal((await round(relayer, leg)).sent, sent);
      const { state, reason, requiredUsd18 } = relayer.row(first);
      if (sent === 1) {
        assert.equal(state, "submitted");
        return;
      }
      assert.deepEqual([state, reason, requiredUsd18], ["held", "unprofitable", REQUIRED_18 * 2n]);
      assert.deepEqual(relayer.submissions(first), []);
    },
  );
}

Deno.test("profitability: fees are in units of their source's token", async () => {
  const { relayer, first, messages, leg } = await prepare([219_999n, 220_000n]);
  relayer.one.decimals = 6;
  await round(relayer, leg);
  assert.equal(relayer.row(first).offeredUsd18, 219_999n * 10n ** 12n);
  assert.deepEqual(messages.map((message) => relayer.row(message).state), ["held", "submitted"]);
});

Deno.test("profitability: a price of one moment holds nothing for good, also without a retry frequency", async () => {
  for (const pauseMs of [60_000, 60_000 + CONFIRM_AFTER_MS]) {
    const { relayer, fixture, first, leg } = await prepare([REQUIRED_18]);
    fixture.two.priceWei = PRICE_WEI * 100n;
    await round(relayer, leg);
    assert.equal(relayer.row(first).reason, "unprofitable");
    for (let leftMs = pauseMs; leftMs > 60_000; leftMs -= CONFIRM_AFTER_MS) {
      await fixture.clock.advance(60_000);
      await round(relayer, leg);
    }
    fixture.two.priceWei = PRICE_WEI;
    await fixture.clock.advance(pauseMs);
    assert.equal((await round(relayer, leg)).sent, 1, `${pauseMs} ms later`);
  }
});

Deno.test("profitability: without a retry frequency an unprofitable message is judged for two hours and never tried again", async () => {
  const { relayer, fixture, first, leg } = await prepare([1n]);
  await round(relayer, leg);
  await readAgain(relayer, leg);
  assert.equal(relayer.row(first).nextAttemptAtMs, NEVER_MS);
  fixture.one.fund(first.commitment, REQUIRED_18);
  await fixture.blocks(1);
  await fixture.clock.advance(86_400_000);
  const before = relayer.two.count("simulate");
  assert.deepEqual(await round(relayer, leg), { sent: 0, hasMore: false });
  assert.equal(relayer.two.count("simulate"), before);
});

Deno.test("profitability: with a retry frequency the fee is read again after that time, not before", async () => {
  const { relayer, fixture, first, leg } = await prepare([1n], { retryFrequencySec: 60 });
  await round(relayer, leg);
  fixture.one.fund(first.commitment, REQUIRED_18);
  await fixture.blocks(1);
  await fixture.clock.advance(58_000);
  await round(relayer, leg);
  assert.equal(relayer.row(first).reason, "unprofitable");
  await fixture.clock.advance(2_000);
  assert.equal((await round(relayer, leg)).sent, 1);
});

for (const retryFrequencySec of [undefined, 3_600]) {
  Deno.test(`filterProfitable: a raised fee revives a message at once, retries: ${retryFrequencySec}`, async () => {
    const { relayer, fixture, first, leg } = await prepare([1n], { retryFrequencySec });
    await fixture.update(fixture.one, fixture.hub);
    await round(relayer, inbound(relayer));
    await round(relayer, leg);
    await readAgain(relayer, leg);
    assert.equal(relayer.row(first).reason, "unprofitable");
    const raise = async (more: bigint): Promise<number> => {
      fixture.one.fund(first.commitment, more);
      await fixture.blocks(1);
      await fixture.update(fixture.one, fixture.hub);
      await round(relayer, inbound(relayer));
      return (await round(relayer, leg)).sent;
    };
    const before = relayer.two.count("simulate");
    for (let unit = 0; unit < 3; unit++) assert.equal(await raise(1n), 0);
    assert.equal(relayer.two.count("simulate"), before, "a unit is not worth a simulation");
    // Half of what was required may pay by now, and is judged once.
    assert.equal(await raise(REQUIRED_18 / 2n), 0);
    assert.equal(relayer.two.count("simulate"), before + 1);
    for (let unit = 0; unit < 3; unit++) assert.equal(await raise(1n), 0);
    assert.equal(relayer.two.count("simulate"), before + 1);
    assert.equal(await raise(REQUIRED_18 / 2n), 1);
  });
}

Deno.test("profitability: without a price nothing is sent, and the row says so", async () => {
  const { relayer, fixture, first } = await prepare([REQUIRED_18 * 100n], { retryFrequencySec: 60 });
  const { leg } = withProfitRule(relayer);
  await round(relayer, withProfitRule(relayer, 10, "none").leg);
  const { state, reason, offeredUsd18, requiredUsd18 } = relayer.row(first);
  assert.deepEqual([state, reason], ["held", "price_unknown"]);
  assert.deepEqual([offeredUsd18, requiredUsd18], [REQUIRED_18 * 100n, undefined]);
  await fixture.clock.advance(10_000);
  assert.equal((await round(relayer, leg)).sent, 1);
});

Deno.test("profitability: a source chain that is down holds its own messages only (I12), and they go when it is back", async () => {
  const { relayer, fixture, first } = await prepare([REQUIRED_18]);
  const [other] = await payAndUpdate(fixture, [REQUIRED_18], { source: names.two });
  const { leg } = withProfitRule(relayer);
  relayer.one.faults.add("fetchFees", { kind: "throw", code: "unreachable" });
  assert.equal((await round(relayer, leg)).sent, 1);
  assert.deepEqual(relayer.stateOf(first), ["held", "fee_unknown"]);
  assert.equal(relayer.row(other).state, "submitted");
  await mine(relayer, 3);
  assert.equal((await round(relayer, leg)).sent, 1);
  await fixture.blocks(1);
  assert.equal(delivered(fixture.two).length, 2);
  assert.equal(fixture.two.reverted().length, 0);
});

Deno.test("profitability: a request that its source has forgotten ends, the rest of the batch goes", async () => {
  const { relayer, fixture, messages, first } = await prepare([REQUIRED_18, REQUIRED_18]);
  fixture.one.forget(first.commitment);
  await fixture.blocks(1);
  const { leg } = withProfitRule(relayer);
  assert.equal((await round(relayer, leg)).sent, 1);
  assert.deepEqual(relayer.stateOf(first), ["held", "request_gone"]);
  await mine(relayer, 3);
  await readAgain(relayer, leg);
  assert.deepEqual(relayer.stateOf(first), ["gone", "request_gone"]);
  assert.deepEqual(messages.map((message) => relayer.submissions(message).length), [0, 1]);
});

Deno.test("profitability: a request that a node behind does not know yet waits, and goes when the node has caught up", async () => {
  const { relayer, fixture, first, leg } = await prepare([REQUIRED_18]);
  relayer.one.readsBehind = fixture.one.head.height - 1n;
  assert.equal((await round(relayer, leg)).sent, 0);
  assert.deepEqual(relayer.stateOf(first), ["held", "fee_unknown"]);
  relayer.one.readsBehind = 0n;
  await fixture.clock.advance(10_000);
  assert.equal((await round(relayer, leg)).sent, 1);
});

Deno.test("profitability: a request that no endpoint knows does not end without a second endpoint", async () => {
  const { relayer, fixture, first, leg } = await prepare([REQUIRED_18]);
  fixture.one.forget(first.commitment);
  await fixture.blocks(1);
  relayer.one.areWitnessesUp = false;
  await round(relayer, leg);
  assert.deepEqual(relayer.stateOf(first), ["held", "fee_unknown"]);
  relayer.one.areWitnessesUp = true;
  await fixture.clock.advance(10_000);
  await round(relayer, leg);
  await readAgain(relayer, leg);
  assert.deepEqual(relayer.stateOf(first), ["gone", "request_gone"]);
});

Deno.test("profitability: what is left of a mixed batch is proved and simulated again, and mined without a revert", async () => {
  const { relayer, fixture, messages, leg } = await prepare([REQUIRED_18, 0n, REQUIRED_18, 5n, REQUIRED_18]);
  assert.deepEqual(await round(relayer, leg), { sent: 3, hasMore: false });
  assert.equal(relayer.hub.count("proveMessages"), 2);
  assert.equal(relayer.two.count("simulate"), 2);
  await fixture.blocks(1);
  const paying = [messages[0], messages[2], messages[4]].map((message) => message?.commitment);
  assert.deepEqual(delivered(fixture.two), paying);
  assert.equal(fixture.two.reverted().length, 0);
});

Deno.test("profitability: with 0 percent everything goes, and neither fees nor prices are asked for", async () => {
  const { relayer } = await prepare([0n, 0n]);
  const { leg, profit } = withProfitRule(relayer, 0);
  assert.equal((await round(relayer, leg)).sent, 2);
  assert.equal(profit.asked(), 0);
  assert.deepEqual(relayer.one.calls, []);
  const calls = ["fetchView", "fetchReceipts", "fetchHostParams", "simulate", "sign", "broadcast"];
  assert.deepEqual(relayer.two.calls, calls);
});

const fromHub = async (settings: Partial<RelaySettings>): Promise<[Relayer, Message]> => {
  const { fixture, relayer, first } = await setUpWith(1, { settings, changes: { source: names.hub } });
  fixture.two.priceWei = PRICE_WEI;
  await round(relayer, withProfitRule(relayer).leg);
  return [relayer, first];
};

/** Units of the hub's token that are worth so many dollars x 10^18 at one dollar each; rounds down. */
const rewardOf = (dollars18: bigint): bigint => dollars18 / 10n ** 6n;

Deno.test("profitability: the reward for a listed module of the hub counts like a fee", async () => {
  const listed = (reward: bigint): Partial<RelaySettings> => ({
    listedModules: () => new Map([[sender, reward]]),
  });
  const [paid, enough] = await fromHub(listed(rewardOf(REQUIRED_18)));
  assert.equal(paid.row(enough).state, "submitted");
  const [relayer, message] = await fromHub(listed(rewardOf(REQUIRED_18) - 1n));
  const { state, reason, offeredUsd18, requiredUsd18 } = relayer.row(message);
  assert.deepEqual([state, reason], ["held", "unprofitable"]);
  assert.deepEqual([offeredUsd18, requiredUsd18], [REQUIRED_18 - 10n ** 6n, REQUIRED_18]);
});

Deno.test("profitability: without a price of the hub's token a reward counts for nothing, and the row says why", async () => {
  const [relayer, message] = await fromHub({
    listedModules: () => new Map([[sender, 10n ** 30n]]),
    hubTokenPrice27: undefined,
  });
  const { state, reason, offeredUsd18, detail } = relayer.row(message);
  assert.deepEqual([state, reason, offeredUsd18], ["held", "unprofitable", 0n]);
  assert.match(detail ?? "", /token_price/);
});

Deno.test("profitability: a request of the hub that only module_filter lets in has no fee and does not pay", async () => {
  const [relayer, message] = await fromHub({ moduleFilter: new Set([sender]) });
  const { state, reason, offeredUsd18, requiredUsd18 } = relayer.row(message);
  assert.deepEqual([state, reason, offeredUsd18, requiredUsd18], ["held", "unprofitable", 0n, REQUIRED_18]);
});

for (const [amount18, state] of [[10n * COST_18, "held"], [10n * COST_18 + 1n, "submitted"]] as const) {
  for (const percent of [0, 10]) {
    Deno.test(`profitability: a withdrawal of ours is ${state} at ${percent} percent when its amount is ${amount18} and a tenth of it costs ${COST_18}`, () =>
      withdraw(amount18, percent, state));
  }
}

async function withdraw(amount: bigint, percent: number, state: string): Promise<void> {
  const { relayer, ours, theirs, leg } = await paidBy(amount, percent, 2);
  await round(relayer, leg);
  const states = [ours, theirs ?? ours].map((message) => relayer.row(message).state);
  assert.deepEqual(states, [state, percent === 0 ? "submitted" : "held"]);
}

/** A relayer whose money the first of some messages of the hub carries. */
async function paidBy(
  amount: bigint,
  percent: number,
  count = 1,
): Promise<Scene & { readonly ours: Message; readonly theirs: Message | undefined }> {
  const scene = await setUpWith(count, {
    settings: { moduleFilter: new Set([sender]) },
    changes: { source: names.hub },
  });
  const { fixture, relayer, first: ours, messages: [, theirs] } = scene;
  fixture.two.priceWei = PRICE_WEI;
  recordPayment(relayer, ours, amount);
  trust(relayer.on(relayer.two), [theirs]);
  return { ...scene, ...withProfitRule(relayer, percent), ours, theirs };
}

for (const percent of [0, 10]) {
  Deno.test(`profitability: a withdrawal of ours is not signed at ${percent} percent when a tenth of it no longer pays for the gas`, async () => {
    const { fixture, relayer, ours, leg } = await paidBy(20n * COST_18, percent);
    relayer.two.alterSimulation = (found) => {
      fixture.two.priceWei = 10n * PRICE_WEI;
      return found;
    };
    await round(relayer, leg);
    assert.deepEqual(relayer.stateOf(ours), ["held", "unprofitable"]);
  });

  Deno.test(`profitability: what may be spent on a withdrawal of ours is not what its delivery earns, at ${percent} percent`, async () => {
    const { relayer, ours, leg } = await paidBy(1_000n * COST_18, percent);
    await round(relayer, leg);
    await mine(relayer);
    assert.equal(relayer.row(ours).state, "delivered");
    const [submission] = relayer.submissions(ours);
    const spent = submission && relayer.ledger.spending.find(submission.id);
    assert.deepEqual([spent?.purpose, spent?.result, spent?.revenueUsd18 ?? 0n], [
      "payment_delivery",
      "delivered",
      0n,
    ]);
  });
}

for (const retryFrequencySec of [undefined, 3_600]) {
  Deno.test(`profitability: a raised fee revives the answer to a GET request, with retries every ${retryFrequencySec} s`, async () => {
    const { fixture, relayer } = setUp({ settings: { retryFrequencySec } });
    const [asked, response] = await askAndAnswer(fixture, REQUIRED_18 - 1n);
    const { leg } = withProfitRule(relayer);
    await round(relayer, leg);
    assert.deepEqual(relayer.stateOf(response), ["held", "unprofitable"]);
    const back = relayer.leg(relayer.two, relayer.hub);
    await fixture.update(fixture.two, fixture.hub);
    await round(relayer, back);
    fixture.two.fund(asked.commitment, REQUIRED_18);
    await fixture.blocks(1);
    await fixture.update(fixture.two, fixture.hub);
    await round(relayer, back);
    assert.equal((await round(relayer, leg)).sent, 1);
  });
}

Deno.test("profitability: a response is paid by the fee of its request, and goes after the request's timeout", async () => {
  const { fixture, relayer } = setUp();
  const responses = [
    (await askAndAnswer(fixture, REQUIRED_18, 1n))[1],
    (await askAndAnswer(fixture, REQUIRED_18 - 1n, 2n))[1],
  ];
  const [post] = await payAndUpdate(fixture, [REQUIRED_18]);
  const { leg } = withProfitRule(relayer);
  await round(relayer, leg);
  assert.deepEqual(
    [post, ...responses].map((message) => relayer.row(message).state),
    ["seen", "submitted", "held"],
    "requests share no transaction with responses",
  );
  await mine(relayer);
  assert.equal((await round(relayer, leg)).sent, 1);
  assert.equal(relayer.row(post).state, "submitted");
});

Deno.test("profitability: a large message that does not pay for its own bytes is neither proved nor simulated, and data is paid by size", async () => {
  const { fixture, relayer } = setUp();
  const body = new Uint8Array(20_000).fill(1);
  // 320,000 gas of bytes alone, against 0.64 dollars.
  const [large] = await payAndUpdate(fixture, [COST_18 * 3n], { body });
  const [small] = await payAndUpdate(fixture, [REQUIRED_18 * 2n]);
  const [paying] = await payAndUpdate(fixture, [COST_18 * 100n], { body });
  const simulated: number[] = [];
  relayer.two.alterSimulation = (found, delivery) => {
    simulated.push(collectMessages(delivery).length);
    // Half of it would be more than the small one pays; its share is a thirtieth.
    return found.kind === "refused" ? found : { ...found, dataCostWei: 10n ** 14n * 3n };
  };
  await round(relayer, withProfitRule(relayer).leg);
  assert.deepEqual(simulated, [2]);
  assert.deepEqual([large, small, paying].map((message) => relayer.row(message).state), [
    "held",
    "submitted",
    "submitted",
  ]);
  assert.equal(relayer.row(large).reason, "unprofitable");
});

Deno.test("gone: an answer whose request one node does not know ends only when that is certain, a request never", async () => {
  const { fixture, relayer } = setUp();
  await fixture.blocks(2);
  const get = getRequest({ nonce: 7n, keys: [] });
  const refusal = { code: "unknown_message", detail: "UnknownMessage" } as const;
  const refused = [
    { message: getResponseMessage({ get, values: [] }), ...refusal },
    { message: fixture.message(), ...refusal },
    { message: fixture.message(), code: "module_failed", detail: "UnexpectedCall" } as const,
  ];
  const codes = async (): Promise<readonly string[]> => {
    const confirmed = await confirmUnknown(outbound(relayer), refused);
    return confirmed.map(({ code }) => code);
  };
  relayer.two.areWitnessesUp = false;
  assert.deepEqual(await codes(), ["not_ready", "not_ready", "module_failed"]);
  relayer.two.areWitnessesUp = true;
  assert.deepEqual(await codes(), ["unknown_message", "not_ready", "module_failed"]);
  relayer.two.faults.add("fetchCertainFees", { kind: "throw", code: "timeout" });
  assert.deepEqual(await codes(), ["not_ready", "not_ready", "module_failed"]);
});
