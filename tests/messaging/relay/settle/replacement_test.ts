import assert from "node:assert/strict";
import type { SubmissionRow } from "../../../../src/messaging/ledger/ledger.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import {
  MAX_REPLACEMENTS,
  MAX_TIMES_MARKET,
  STUCK_AFTER_MS,
} from "../../../../src/core/chains/replacement.ts";
import type { LegProfit } from "../../../../src/messaging/relay/leg.ts";
import { reportForeign } from "../../../../src/messaging/relay/limits/capacity.ts";
import { settleAll, type SettleRound } from "../../../../src/messaging/relay/settle/settle_worker.ts";
import { MemoryReplacing } from "../../../support/memory_replacing.ts";
import { raceWith } from "../competitor.ts";
import { outbound, round } from "../rounds.ts";
import {
  delivered,
  Fixture,
  interrupt,
  memoryLedger,
  names,
  Relayer,
  type Scene,
  type SetUp,
  setUp,
  setUpWith,
} from "../fixture.ts";
import { withLedgerFile } from "../../../support/ledger.ts";
import { COST_18, payAndUpdate, PRICE_WEI, profitOf } from "../market.ts";
import {
  type PriceCapInput,
  priceCaps,
  shortfallWei,
} from "../../../../src/messaging/relay/settle/replacement.ts";

/** A delivery that waits in the pool of a chain whose blocks are full. */
type Waiting = Scene & {
  readonly first: Message;
  readonly replacing: MemoryReplacing;
  readonly account: string;
};

async function waiting(options: SetUp & { readonly fee18?: bigint } = {}): Promise<Waiting> {
  const { fee18 = 0n, ...rest } = options;
  const scene = setUp(rest);
  const { fixture, relayer } = scene;
  const [first] = await payAndUpdate(fixture, [fee18]);
  fixture.two.isFull = true;
  assert.ok((await round(relayer, scene.leg)).sent > 0);
  const replacing = new MemoryReplacing(fixture.two, relayer.two);
  return { ...scene, first, replacing, account: relayer.account };
}

function settle({ relayer, replacing }: Waiting, profit?: LegProfit): Promise<SettleRound> {
  return settleAll({ ...relayer.on(relayer.two), replacement: replacing, profit });
}

/** Everything at the first nonce of the account. */
function rowsOf({ relayer, account }: Waiting, nonce = 0n): SubmissionRow[] {
  return relayer.ledger.submissions.listByNonce(names.two, account, nonce);
}

function statesOf(work: Waiting, nonce = 0n): string[] {
  return rowsOf(work, nonce).map(({ kind, state }) => `${kind} ${state}`);
}

/** Lets the patience pass, then settles. */
async function patience(work: Waiting, profit?: LegProfit): Promise<void> {
  await work.fixture.clock.advance(STUCK_AFTER_MS);
  await settle(work, profit);
}

/** Blocks are mined again until what is in them is final. */
async function mine(work: Waiting): Promise<void> {
  work.fixture.two.isFull = false;
  await work.fixture.blocks(1);
  await settle(work);
  await work.fixture.blocks(3);
  await settle(work);
  await settle(work);
}

Deno.test("replacement (F3): before its patience is over a transaction is left alone", async () => {
  const work = await waiting();
  await work.fixture.clock.advance(STUCK_AFTER_MS - 1);
  await settle(work);
  assert.deepEqual(statesOf(work), ["delivery broadcast"]);
});

Deno.test("replacement: what calls a handler that governance replaced is cancelled, and its message goes through the new one", async () => {
  const work = await waiting();
  work.fixture.two.replaceHandler();
  await work.fixture.blocks(1);
  await patience(work);
  assert.deepEqual(statesOf(work), ["delivery broadcast", "cancel broadcast"]);
  await mine(work);
  assert.deepEqual(statesOf(work), ["delivery replaced", "cancel final"]);
  await work.fixture.clock.advance(5_000);
  await round(work.relayer, work.leg);
  await mine(work);
  assert.equal(work.relayer.row(work.first).state, "delivered");
  assert.equal(work.fixture.two.reverted().length, 0);
});

Deno.test("replacement (F3): neither is mined and no node knows any hash: the newest is sent again", async () => {
  const work = await waiting();
  await patience(work);
  work.fixture.two.clearMempool();
  await settle(work);
  assert.equal(work.fixture.two.mempoolSize, 1);
  await mine(work);
  assert.deepEqual(statesOf(work), ["delivery replaced", "delivery final"]);
  assert.equal(delivered(work.fixture.two).length, 1);
});

Deno.test("replacement (F3): a cancellation that a reorganisation removes is replaced by the original", async () => {
  const work = await waiting({ nodes: { two: { finalityLag: 5n } } });
  for (let turn = 0; turn < MAX_REPLACEMENTS + 1; turn++) await patience(work);
  const deliveries = Array(MAX_REPLACEMENTS + 1).fill("delivery broadcast");
  assert.deepEqual(statesOf(work), [...deliveries, "cancel broadcast"]);
  work.fixture.two.isFull = false;
  await work.fixture.blocks(1);
  await settle(work);
  assert.equal(work.relayer.row(work.first).state, "ready");
  work.fixture.two.reorganise(1, "forget");
  const [original] = rowsOf(work);
  assert.ok(original !== undefined);
  work.fixture.two.submit(original.submission.hash);
  await work.fixture.blocks(7);
  await settle(work);
  await settle(work);
  assert.equal(work.relayer.row(work.first).state, "delivered");
  assert.equal(statesOf(work)[0], "delivery final");
});

for (const when of ["before", "after"] as const) {
  for (const isMined of [false, true]) {
    const name = `${when} the broadcast of a replacement, ${
      isMined ? "one of them mined" : "nothing mined"
    } meanwhile`;
    Deno.test(`replacement (F2): a crash ${name}, loses nothing and sends nothing twice`, async () => {
      const fixture = new Fixture();
      await withLedgerFile(fixture.clock, async (ledger, reopen) => {
        const work = await waiting({ ledger, fixture });
        const act = (): void => work.relayer.kill();
        interrupt(work.relayer.two, "broadcast", act, when);
        await assert.rejects(patience(work), /killed/);
        if (isMined) {
          fixture.two.isFull = false;
          await fixture.blocks(1);
        }
        const relayer = new Relayer(fixture, reopen(), { seed: 2 });
        const replacing = new MemoryReplacing(fixture.two, relayer.two);
        const successor = { ...work, relayer, replacing };
        assert.equal(rowsOf(successor).length, 2, "the replacement is in the journal");
        await fixture.clock.advance(60_000);
        await settle(successor);
        await mine(successor);
        assert.equal(relayer.row(work.first).state, "delivered");
        assert.deepEqual(statesOf(successor).toSorted(), ["delivery final", "delivery replaced"]);
        assert.equal(delivered(fixture.two).length, 1);
        assert.equal(fixture.two.reverted().length, 0);
      });
    });
  }
}

for (const [times, expected] of [[100n, "delivery"], [1n, "cancel"]] as const) {
  Deno.test(`replacement: with a minimum profit it costs no more than the fees pay: a ${expected} at ${times} times the cost`, async () => {
    const work = await waiting({ fee18: times * COST_18 });
    await patience(work, profitOf(work.relayer, 10));
    assert.equal(rowsOf(work)[1]?.kind, expected);
  });
}

Deno.test("replacement: while a fee cannot be read a transaction waits, ten minutes at most", async () => {
  const work = await waiting();
  const unread = { ...profitOf(work.relayer, 10), feeChains: new Map() };
  await patience(work, unread);
  assert.deepEqual(statesOf(work), ["delivery broadcast"]);
  await work.fixture.clock.advance(600_000);
  await settle(work, unread);
  assert.deepEqual(statesOf(work), ["delivery broadcast", "cancel broadcast"]);
});

Deno.test("replacement: neither a further delivery nor a cancellation costs more than maximum_gas_price", async () => {
  for (const hasProfitRule of [false, true]) {
    const work = await waiting();
    work.replacing.maximumWei = work.fixture.two.priceWei;
    await patience(work, hasProfitRule ? profitOf(work.relayer, 10) : undefined);
    assert.deepEqual(rowsOf(work).map(({ kind }) => kind), ["delivery"]);
    assert.equal(work.relayer.two.count("broadcast"), 2, "sent again");
  }
});

Deno.test("replacement: a message that another transaction carries by now stays there", async () => {
  const work = await waiting();
  const { submissions } = work.relayer.ledger;
  for (const { id } of rowsOf(work)) submissions.settleItems(id, [work.first.commitment], "not_handled");
  await patience(work);
  assert.deepEqual(rowsOf(work).map(({ id }) => submissions.itemsOf(id).length), [1, 0]);
});

Deno.test("replacement: what others have delivered meanwhile is cancelled, not sent for more", async () => {
  const work = await waiting();
  const competitor = new Relayer(work.fixture, memoryLedger(work.fixture), { number: 2 });
  work.fixture.two.clearMempool();
  await round(competitor, outbound(competitor));
  work.fixture.two.isFull = false;
  work.fixture.two.produceBlock();
  work.fixture.two.isFull = true;
  const [original] = rowsOf(work);
  assert.ok(original !== undefined);
  work.fixture.two.submit(original.submission.hash);
  work.replacing.maximumWei = work.fixture.two.priceWei;
  let isSent = false;
  interrupt(work.relayer.two, "broadcast", () => void (isSent = true));
  await patience(work);
  assert.equal(isSent, false, "it would revert");
  work.replacing.maximumWei = undefined;
  await settle(work);
  assert.deepEqual(statesOf(work), ["delivery broadcast", "cancel broadcast"]);
  await mine(work);
  assert.equal(work.relayer.row(work.first).state, "delivered_by_other");
  assert.equal(work.fixture.two.reverted().length, 0);
});

Deno.test("replacement: a replacement that the node finds too cheap starts from its price next time (F18)", async () => {
  const work = await waiting();
  work.fixture.two.priceWei = PRICE_WEI;
  interrupt(work.relayer.two, "broadcast", () => void (work.fixture.two.priceWei = PRICE_WEI * 3n / 2n));
  await patience(work);
  assert.deepEqual(statesOf(work), ["delivery broadcast", "delivery dropped"]);
  assert.equal(work.relayer.row(work.first).state, "submitted");
  await patience(work);
  assert.equal(rowsOf(work)[2]?.submission.gasPriceWei, 1_562_500_000n);
  await mine(work);
  assert.equal(work.relayer.row(work.first).state, "delivered");
});

Deno.test("replacement: a price refused at the height of a spike does not bind once the market has fallen (F18)", async () => {
  const work = await waiting();
  const { two } = work.fixture;
  two.priceWei = 30n * PRICE_WEI;
  interrupt(work.relayer.two, "broadcast", () => void (two.priceWei = 50n * PRICE_WEI));
  await patience(work);
  assert.deepEqual(statesOf(work), ["delivery broadcast", "delivery dropped"]);
  // Less than a quarter of the refused price, and more than the transaction that waits offers.
  two.priceWei = two.minedFromWei = 21n * PRICE_WEI / 10n;
  await patience(work);
  assert.deepEqual(statesOf(work), ["delivery broadcast", "delivery dropped", "delivery broadcast"]);
  assert.equal(rowsOf(work)[2]?.submission.gasPriceWei, 21n * PRICE_WEI / 10n);
  await mine(work);
  assert.equal(work.relayer.row(work.first).state, "delivered");
});

Deno.test("replacement (F18): a nonce that another program used is reported once and repaired", async () => {
  const work = await waiting();
  await patience(work);
  for (let turn = 0; turn < 2; turn++) {
    work.fixture.two.clearMempool();
    work.fixture.two.useNonce(work.account);
    await work.fixture.blocks(1);
    await settle(work);
    assert.equal(work.relayer.row(work.first).state, "ready");
    await work.fixture.clock.advance(5_000);
    await round(work.relayer, work.leg);
  }
  const warnings = work.relayer.log.events("warn").filter((event) => event === "account_shared.mined");
  assert.equal(warnings.length, 1);
  assert.deepEqual(statesOf(work), ["delivery replaced", "delivery replaced"]);
  await mine(work);
  assert.equal(work.relayer.row(work.first).state, "delivered");
});

/** Two deliveries are on their way, and all nodes have lost the first, which the journal has given up. */
async function withGap(): Promise<Waiting & { readonly second: Message; readonly third: Message }> {
  const work = await waiting();
  const { fixture, relayer, leg } = work;
  // Trust is won with one delivery.
  await mine(work);
  fixture.two.isFull = true;
  const [second] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await round(relayer, leg);
  const [third] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await round(relayer, leg);
  const [lost, above] = [...rowsOf(work, 1n), ...rowsOf(work, 2n)];
  assert.ok(above !== undefined && lost !== undefined);
  fixture.two.clearMempool();
  relayer.ledger.transaction(() => {
    relayer.ledger.submissions.update(lost.id, { state: "dropped" });
    relayer.ledger.messages.transition(second.commitment, names.two, { to: "ready" });
  });
  fixture.two.submit(above.submission.hash);
  await settle(work);
  return { ...work, second, third };
}

Deno.test("replacement (F18): the next delivery takes the nonce that a dropped one left below another", async () => {
  const work = await withGap();
  await round(work.relayer, work.leg);
  assert.deepEqual(statesOf(work, 1n), ["delivery dropped", "delivery broadcast"]);
  await mine(work);
  assert.deepEqual([work.second, work.third].map((each) => work.relayer.row(each).state), [
    "delivered",
    "delivered",
  ]);
  assert.equal(work.fixture.two.reverted().length, 0);
});

for (const isForgotten of [true, false]) {
  const then = isForgotten ? "nothing is paid for the gap" : "what a pool still mines of it is accounted for";
  Deno.test(`replacement (F18): what waits above a gap is signed again at the account's nonce, and ${then}`, async () => {
    const work = await withGap();
    const { relayer, fixture, leg, third } = work;
    assert.equal(relayer.row(third).state, "submitted", "it may be a matter of seconds");
    await fixture.clock.advance(30_000);
    await settle(work);
    assert.deepEqual([statesOf(work, 1n), statesOf(work, 2n)], [["delivery dropped"], ["delivery dropped"]]);
    if (isForgotten) fixture.two.clearMempool();
    await fixture.clock.advance(5_000);
    await round(relayer, leg);
    assert.deepEqual(statesOf(work, 1n), ["delivery dropped", "delivery broadcast"]);
    await mine(work);
    await mine(work);
    assert.equal(delivered(fixture.two).length, 3);
    assert.equal(relayer.row(third).state, "delivered");
    assert.deepEqual(statesOf(work, 2n), [isForgotten ? "delivery dropped" : "delivery failed"]);
    const paid = fixture.two.paidBy(work.account).length;
    assert.equal(paid, isForgotten ? 2 : 3);
  });
}

Deno.test("replacement (F18): what a pool still mines above a gap is accounted for when what took the gap reverts, too", async () => {
  const work = await withGap();
  const { relayer, fixture, leg, second } = work;
  await fixture.clock.advance(30_000);
  await settle(work);
  await fixture.clock.advance(5_000);
  await round(relayer, leg);
  fixture.two.spoiling.add(second.commitment);
  await mine(work);
  await mine(work);
  assert.deepEqual(statesOf(work, 1n), ["delivery dropped", "delivery failed"]);
  assert.deepEqual(statesOf(work, 2n), ["delivery final"]);
});

for (const isLate of [false, true]) {
  const when = isLate
    ? "counts as used no longer than ten minutes"
    : "is believed before an endpoint that is behind";
  Deno.test(`replacement (F18): a nonce of ours that the journal has as mined ${when}`, async () => {
    const work = await waiting();
    const { replacing, fixture } = work;
    await mine(work);
    fixture.two.isFull = true;
    const [next] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
    await round(work.relayer, work.leg);
    const nonces = { latest: 0n, pending: 0n };
    const read = replacing.fetchReplacementState.bind(replacing);
    replacing.fetchNonces = () => Promise.resolve(nonces);
    replacing.fetchReplacementState = async (...args) => ({ ...await read(...args), nonces });
    await fixture.clock.advance(isLate ? 600_000 : 60_000);
    await settle(work);
    assert.equal(work.relayer.row(next).state, isLate ? "ready" : "submitted");
  });
}

Deno.test("replacement (F18): a transaction from before the database was lost is named once a day while ours wait behind it", async () => {
  const before = await waiting();
  await mine(before);
  const work = await waiting({ fixture: before.fixture });
  const { relayer, fixture, replacing } = work;
  assert.deepEqual([rowsOf(work, 0n).length, rowsOf(work, 1n).length], [0, 1]);
  // The node still has the first one in its pool.
  replacing.fetchNonces = () => Promise.resolve({ latest: 0n, pending: 2n });
  const warnings = (): readonly unknown[] =>
    relayer.log.linesOf("account_shared.ahead").map(({ fields }) => fields["nonce"]);
  // A nonce that endpoints showed when ours was signed is news of its own.
  reportForeign(relayer.on(relayer.two), 0n, "account_shared.seen");
  await fixture.clock.advance(60_000);
  await settle(work);
  assert.deepEqual(warnings(), [], "it may be mined soon");
  for (let hour = 0; hour < 26; hour++) {
    await fixture.clock.advance(3_600_000);
    await settle(work);
  }
  assert.deepEqual(warnings(), [0n, 0n]);
});

Deno.test("replacement: without funds for a higher price the shortfall is reported once an interval, and the cap holds", async () => {
  const work = await waiting();
  const gasLimit = rowsOf(work)[0]?.submission.gasLimit ?? 0n;
  work.replacing.balanceWei = gasLimit * 1_050_000_000n;
  await settle(work);
  assert.deepEqual(work.relayer.log.events("warn"), [], "nothing is missing before its patience is over");
  await patience(work);
  assert.equal(rowsOf(work)[1]?.kind, "cancel", "no better price is affordable, a transfer is");
  const [told] = work.relayer.log.lines.filter(({ level }) => level === "warn");
  assert.match(String(told?.fields["detail"]), new RegExp(`${gasLimit * 200_000_000n} wei are missing`));
});

Deno.test("balance (F18): an empty account suspends its chain: one check a minute, one log line every five", async () => {
  const { fixture, relayer, leg } = await setUpWith(2);
  fixture.two.unfunded.add(relayer.account);
  const signs = (): number => relayer.two.count("sign");
  for (let second = 0; second < 600; second += 10) {
    await round(relayer, leg);
    await fixture.clock.advance(10_000);
  }
  assert.equal(signs(), 10);
  const told = relayer.log.lines.filter(({ level }) => level === "warn");
  assert.equal(told.length, 2);
  const [late] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await round(relayer, leg);
  assert.ok(relayer.ledger.messages.find(late.commitment, names.two), "planning continues");
  fixture.two.unfunded.clear();
  await fixture.clock.advance(60_000);
  assert.equal((await round(relayer, leg)).sent, 3);
  assert.deepEqual(relayer.log.events("error"), []);
  assert.ok(relayer.log.events("info").includes("balance_restored"));
});

Deno.test("replacement: a batch in which a message has timed out is cancelled, not sent for more", async () => {
  const work = await waiting();
  const { fixture, relayer } = work;
  const timeoutTimestampSec = BigInt(Math.floor(fixture.clock.now() / 1000)) + 600n;
  await fixture.sendFrom(fixture.hub, fixture.two, 1, { timeoutTimestampSec });
  await mine(work);
  fixture.two.isFull = true;
  assert.equal((await round(relayer, work.leg)).sent, 1);
  await fixture.clock.advance(600_000);
  fixture.two.produceBlock();
  await settle(work);
  assert.deepEqual(statesOf(work, 1n), ["delivery broadcast", "cancel broadcast"]);
});

Deno.test("replacement: a nonce that endpoints call used is no other program's when the host has our receipts", async () => {
  const work = await waiting();
  await mine(work);
  const { relayer, fixture } = work;
  const [next] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await round(relayer, work.leg);
  relayer.two.fetchOutcome = () => Promise.resolve({ kind: "replaced" });
  await fixture.blocks(1);
  await settle(work);
  assert.equal(relayer.row(next).state, "delivered");
  assert.deepEqual(relayer.log.events("warn"), []);
});

for (const what of ["others have delivered", "has timed out"]) {
  Deno.test(`replacement: what ${what} is not sent again for the nonce that others wait for: those are signed again`, async () => {
    const work = await waiting();
    const { fixture, relayer, leg } = work;
    await mine(work);
    fixture.two.isFull = true;
    const timeoutTimestampSec = BigInt(Math.floor(fixture.clock.now() / 1000)) + 110n;
    const [second] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { timeoutTimestampSec });
    await round(relayer, leg);
    const [third] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
    await round(relayer, leg);
    assert.equal(relayer.row(third).state, "submitted", "two are on their way");
    fixture.two.clearMempool();
    fixture.two.isFull = false;
    if (what === "has timed out") await fixture.clock.advance(108_000);
    else await raceWith(fixture, [second]);
    fixture.two.produceBlock();
    await settle(work);
    assert.deepEqual(statesOf(work, 1n), ["delivery dropped"]);
    await fixture.clock.advance(60_000);
    await settle(work);
    fixture.two.clearMempool();
    await fixture.clock.advance(60_000);
    await round(relayer, leg);
    await mine(work);
    assert.equal(relayer.row(third).state, "delivered");
    assert.equal(fixture.two.reverted().length, 0);
  });
}

const rich: PriceCapInput = {
  revenue: { kind: "any" },
  gasLimit: 150_000n,
  dataCostWei: 0n,
  marketWei: 1_000n,
  balanceWei: 10n ** 30n,
};
const fees = { kind: "fees", price27: 10n ** 27n, profitPercent: 10 } as const;

Deno.test("price cap: without a minimum profit it is a multiple of the market", () => {
  assert.deepEqual(priceCaps(rich), {
    capWei: MAX_TIMES_MARKET * 1_000n,
    cancelCapWei: MAX_TIMES_MARKET * 1_000n,
  });
});

Deno.test("price cap: with one it is the price at which the fees just pay", () => {
  const { capWei } = priceCaps({ ...rich, revenue: { ...fees, offered18: 123_750n * 5_000n } });
  assert.equal(capWei, 5_000n);
  assert.equal(priceCaps({ ...rich, revenue: { ...fees, offered18: 0n } }).capWei, 0n);
  const unknown = { ...fees, price27: undefined, offered18: 10n ** 18n };
  assert.equal(priceCaps({ ...rich, revenue: unknown }).capWei, 0n, "an unknown price pays for nothing");
});

Deno.test("price cap: what is not wanted any more may cost nothing, its cancellation may", () => {
  const { capWei, cancelCapWei } = priceCaps({ ...rich, revenue: { kind: "none" } });
  assert.equal(capWei, 0n);
  assert.equal(cancelCapWei, MAX_TIMES_MARKET * 1_000n);
});

Deno.test("price cap: the account must be able to pay for the gas limit", () => {
  const poor = { ...rich, balanceWei: 150_000n * 700n };
  assert.deepEqual(priceCaps(poor), { capWei: 700n, cancelCapWei: MAX_TIMES_MARKET * 1_000n });
  assert.equal(priceCaps({ ...poor, dataCostWei: 150_000n * 600n }).capWei, 100n, "data is paid for first");
  assert.equal(shortfallWei(poor, 700n), 0n);
  assert.equal(shortfallWei(poor, 701n), 150_000n);
});
