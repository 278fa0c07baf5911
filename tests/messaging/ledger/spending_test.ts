import { deepEqual, equal, throws } from "node:assert/strict";
import type { Ledger, Spent } from "../../../src/messaging/ledger/ledger.ts";
import { type NewSubmission, onLedger } from "../../support/ledger.ts";
import { bsc, ethereum, hashOf, itemOf, newDelivery, newSubmission } from "../../support/ledger_rows.ts";

/** Here, so that the report names this file. */
const test = (name: string, work: Parameters<typeof onLedger>[0]): void => Deno.test(name, onLedger(work));

const dayMs = 86_400_000;
const GWEI = 10n ** 9n;
/** 2,000 dollars. */
const PRICE_27 = 2_000n * 10n ** 27n;
const block = { height: 9n, hash: hashOf(99) };

/** A transaction to BSC whose hash is that of {@link newDelivery}. */
function entry(number: number, change: Partial<NewSubmission> = {}): NewSubmission {
  const hash = hashOf(number + 1_000_000);
  return {
    submission: newSubmission(number, { chain: bsc, hash, gasPriceWei: GWEI, gasLimit: 200_000n }),
    kind: "delivery",
    items: [{ ...itemOf(number), target: bsc }],
    ...change,
  };
}

/** 0.0001 native tokens, which are 0.2 dollars. */
function spent(change: Partial<Spent> = {}): Spent {
  const gas = { gasUsed: 100_000n, gasPriceWei: GWEI, dataCostWei: 0n };
  return { result: "delivered", gas, price27: PRICE_27, revenueUsd18: 0n, ...change };
}

/** Records a payment of ours on its way, with the commitment of that number. */
function recordPayment(ledger: Ledger, number: number): void {
  ledger.withdrawals.record({
    chain: bsc,
    address: new Uint8Array(20),
    nonce: undefined,
    beneficiary: undefined,
    amount: 1n,
    hubBlock: 1n,
    state: "dispatched",
    dispatch: { commitment: hashOf(number), encoded: new Uint8Array(), hubBlock: 1n },
  });
}

test(
  "spending: what a transaction may cost is written with its journal entry, what it did cost once it is in a block",
  (ledger, clock) => {
    const offeredUsd18 = 5n * 10n ** 17n;
    const id = ledger.submissions.record(entry(1, { allowance: { rule: "profit", offeredUsd18 } }));
    const open = ledger.spending.find(id);
    deepEqual([open?.purpose, open?.rule, open?.maxCostWei, open?.offeredUsd18], [
      "delivery",
      "profit",
      200_000n * GWEI,
      offeredUsd18,
    ]);
    deepEqual([open?.result, open?.costWei, open?.minedAtMs], [undefined, undefined, undefined]);
    deepEqual(ledger.spending.listMined(bsc, 0), []);
    const gas = { gasUsed: 100_000n, gasPriceWei: GWEI, dataCostWei: 7n };
    ledger.spending.note(id, spent({ gas, revenueUsd18: offeredUsd18 }));
    const [row] = ledger.spending.listMined(bsc, 0);
    deepEqual([row?.costWei, row?.dataCostWei, row?.costUsd18, row?.revenueUsd18, row?.lossMicroUsd], [
      100_000n * GWEI + 7n,
      7n,
      2n * 10n ** 17n + 14_000n,
      offeredUsd18,
      0n,
    ]);
    equal(row?.minedAtMs, clock.now());
    throws(() => ledger.spending.note(99, spent()), /No allowance/);
  },
);

test("spending: every kind has its purpose; a replacement goes by the rule of what it replaces", (ledger) => {
  const kindOf = (id: number): unknown[] => {
    const row = ledger.spending.find(id);
    return [row?.purpose, row?.rule, row?.offeredUsd18];
  };
  const record = (number: number, change: Partial<NewSubmission>): unknown[] =>
    kindOf(ledger.submissions.record(entry(number, change)));
  const first = ledger.submissions.record(entry(1, { allowance: { rule: "profit", offeredUsd18: 3n } }));
  const { account, nonce } = newSubmission(1);
  const submission = newSubmission(2, { chain: bsc, account, nonce });
  deepEqual(record(1, { submission, replaces: first }), ["delivery", "profit", 3n]);
  const cancelling = { submission: newSubmission(3, { chain: bsc, account, nonce }), items: [] };
  deepEqual(record(1, { ...cancelling, kind: "cancel", replaces: first }), [
    "cancellation",
    "nonce",
    undefined,
  ]);
  deepEqual(record(4, { items: [] }), ["consensus_proofs", "consensus_proofs", undefined]);
  recordPayment(ledger, 5);
  deepEqual(record(5, {}), ["payment_delivery", "no_minimum", undefined]);
  const free = newSubmission(6, { account: undefined, nonce: undefined, gasLimit: undefined });
  for (
    const [kind, purpose] of [["accumulate", "claim"], ["withdraw", "withdrawal"], [
      "claim",
      "reward_claim",
    ]] as const
  ) deepEqual(record(6, { submission: free, kind, items: [] }), [purpose, "free", undefined]);
});

test("spending: an extrinsic costs nothing, and its end is that of the journal", (ledger) => {
  const free = { account: undefined, nonce: undefined, gasPriceWei: undefined, gasLimit: undefined };
  const make = (number: number): number =>
    ledger.submissions.record({
      submission: newSubmission(number, free),
      kind: "accumulate",
      items: [itemOf(number)],
    });
  const [done, failed] = [make(1), make(2)];
  ledger.submissions.update(done, { state: "final", block });
  ledger.submissions.update(failed, { state: "failed", block });
  deepEqual([ledger.spending.find(done)?.result, ledger.spending.find(done)?.costWei], ["done", 0n]);
  deepEqual([ledger.spending.find(failed)?.result, ledger.spending.find(failed)?.costUsd18], [
    "reverted",
    0n,
  ]);
});

test("spending: what was written without a price counts once there is one", (ledger) => {
  const id = ledger.submissions.record(entry(1));
  ledger.spending.note(id, spent({ result: "not_executed", price27: undefined }));
  deepEqual(ledger.spending.sumLoss(bsc, 0), { lossMicroUsd: 0n, unpriced: 1 });
  ledger.spending.price(ethereum, PRICE_27);
  equal(ledger.spending.sumLoss(bsc, 0).unpriced, 1);
  ledger.spending.price(bsc, PRICE_27);
  deepEqual(ledger.spending.sumLoss(bsc, 0), { lossMicroUsd: 200_000n, unpriced: 0 });
});

test("spending: a fee that is read later makes the loss smaller, and never greater again", (ledger) => {
  const id = ledger.submissions.record(entry(1));
  ledger.spending.note(id, spent({ revenueUsd18: undefined }));
  equal(ledger.spending.sumLoss(bsc, 0).lossMicroUsd, 200_000n);
  const { txHash = hashOf(0) } = newDelivery(1);
  const learn = (fee: bigint): void => {
    ledger.deliveries.setFee(hashOf(1), bsc, fee);
    // Six decimals on Ethereum.
    ledger.spending.learnRevenue(
      bsc,
      txHash,
      (source, each) => source === ethereum ? each * 10n ** 12n : undefined,
    );
  };
  ledger.deliveries.record(newDelivery(1));
  learn(900_000n);
  equal(ledger.spending.find(id)?.revenueUsd18, undefined, "nobody has proved it");
  ledger.deliveries.setClaimState({ commitment: hashOf(1), dest: bsc }, "claiming");
  learn(150_000n);
  equal(ledger.spending.sumLoss(bsc, 0).lossMicroUsd, 50_000n);
  learn(0n);
  equal(ledger.spending.find(id)?.revenueUsd18, 15n * 10n ** 16n);
  learn(900_000n);
  equal(ledger.spending.sumLoss(bsc, 0).lossMicroUsd, 0n);
});

test(
  "spending: the loss of a day is the cost that was not earned; gains make up for nothing, own payments are none",
  (ledger, clock) => {
    const note = (number: number, changes: Partial<Spent>, items = entry(number).items): void =>
      ledger.spending.note(ledger.submissions.record(entry(number, { items })), spent(changes));
    const old = clock.now();
    note(1, { result: "lost_race" });
    clock.jump(1_000);
    note(2, { revenueUsd18: 10n ** 18n });
    note(3, { result: "advanced" }, []);
    recordPayment(ledger, 4);
    note(4, {});
    equal(ledger.spending.sumLoss(bsc, 0).lossMicroUsd, 400_000n);
    equal(ledger.spending.sumLoss(bsc, old).lossMicroUsd, 200_000n, "the first one is too old");
    equal(ledger.spending.sumLoss(ethereum, 0).lossMicroUsd, 0n);
  },
);

test("retention: spending stays for 90 days, and as long as its submission", (ledger, clock) => {
  const done = ledger.submissions.record(entry(1));
  ledger.submissions.update(done, { state: "final", block });
  ledger.spending.note(done, spent());
  const open = ledger.submissions.record(entry(2));
  const startMs = clock.now();
  equal(ledger.prune(startMs + 40 * dayMs).spending, 0);
  equal(ledger.spending.find(done)?.result, "delivered");
  equal(ledger.prune(startMs + 90 * dayMs + 1).spending, 1);
  equal(ledger.spending.find(done), undefined);
  equal(ledger.spending.find(open)?.result, undefined);
});
