import { deepEqual, equal } from "node:assert/strict";
import { onLedger } from "../../support/ledger.ts";
import {
  bsc,
  ethereum,
  hashOf,
  hub,
  itemOf,
  newDelivery,
  newMessage,
  newSubmission,
} from "../../support/ledger_rows.ts";

const GWEI = 10n ** 9n;
const START_MS = 1_000_000;
const block = { height: 9n, hash: hashOf(99) };
const ALL = { afterMs: 0, untilMs: 10 * START_MS };

Deno.test(
  "statistics: open messages are counted by leg, state and reason, with the time of the oldest; ended ones are not",
  onLedger(async (ledger, clock) => {
    ledger.messages.record(newMessage(1));
    await clock.advance(10);
    ledger.messages.record(newMessage(2));
    ledger.messages.record(newMessage(3, { state: "held", reason: "waiting_for_update" }));
    ledger.messages.record(newMessage(4, { state: "rejected", reason: "module_filter" }));
    const { statistics } = ledger;
    deepEqual(statistics.countOpen(), [
      {
        source: ethereum,
        target: hub,
        state: "held",
        reason: "waiting_for_update",
        count: 1,
        oldestMs: START_MS + 10,
      },
      { source: ethereum, target: hub, state: "seen", reason: undefined, count: 2, oldestMs: START_MS },
    ]);
    const ended = [{ source: ethereum, target: hub, state: "rejected", count: 1 }];
    deepEqual(statistics.countEnded({ afterMs: START_MS, untilMs: START_MS + 10 }), ended);
    deepEqual(statistics.countEnded({ afterMs: START_MS + 10, untilMs: START_MS + 20 }), []);
  }),
);

Deno.test(
  "statistics: counts follow every change of a message: found, held, released, ended, opened again and removed",
  onLedger(async (ledger, clock) => {
    const counted = (): unknown[] =>
      ledger.statistics.countOpen().map(({ state, reason, count }) => [state, reason, count]);
    const all = (): unknown[] => ledger.messages.countByState().map(({ state, count }) => [state, count]);
    for (const number of [1, 2, 3]) ledger.messages.record(newMessage(number));
    ledger.messages.transition(hashOf(1), hub, { to: "held", reason: "unprofitable" });
    ledger.messages.transition(hashOf(2), hub, { to: "held", reason: "unprofitable" });
    ledger.messages.transition(hashOf(2), hub, { to: "held", reason: "unfunded" });
    deepEqual(counted(), [["held", "unfunded", 1], ["held", "unprofitable", 1], ["seen", undefined, 1]]);
    ledger.messages.transition(hashOf(1), hub, { to: "ready" });
    ledger.messages.transition(hashOf(2), hub, { to: "gone" });
    ledger.messages.record(newMessage(3));
    deepEqual(counted(), [["ready", undefined, 1], ["seen", undefined, 1]]);
    deepEqual(all(), [["gone", 1], ["ready", 1], ["seen", 1]]);
    await clock.advance(60 * 86_400_000);
    ledger.prune(clock.now());
    deepEqual(all(), [["ready", 1], ["seen", 1]]);
  }),
);

Deno.test(
  "statistics: a transaction's cost, revenue, messages and times are summed once it is mined",
  onLedger(async (ledger, clock) => {
    ledger.messages.record(newMessage(1, { state: "ready", target: bsc, source: hub }));
    await clock.advance(5_000);
    const id = ledger.submissions.record({
      submission: newSubmission(1, { chain: bsc, gasPriceWei: GWEI, gasLimit: 200_000n }),
      kind: "delivery",
      items: [{ ...itemOf(1), target: bsc }],
      allowance: { rule: "profit", offeredUsd18: 10n ** 18n },
    });
    const { statistics } = ledger;
    deepEqual(statistics.sumMined(ALL), []);
    deepEqual(statistics.listWaitsForSending(ALL), [{ target: bsc, tookMs: 5_000 }]);
    await clock.advance(3_000);
    const gas = { gasUsed: 100_000n, gasPriceWei: GWEI, dataCostWei: 0n };
    const price27 = 2_000n * 10n ** 27n;
    ledger.submissions.update(id, { state: "included", block });
    ledger.spending.note(id, { result: "delivered", gas, price27, revenueUsd18: 5n * 10n ** 17n });
    deepEqual(statistics.sumMined(ALL), [{
      chain: bsc,
      purpose: "delivery",
      result: "delivered",
      count: 1,
      spent: 0.0001,
      spentUsd: 0.2,
      earnedUsd: 0.5,
      offeredUsd: 1,
    }]);
    deepEqual(statistics.listMinedTransactions(ALL), [
      { chain: bsc, messages: 1, signedAtMs: START_MS + 5_000, minedAtMs: START_MS + 8_000 },
    ]);
    deepEqual(statistics.sumSpent(bsc, ALL), { costWei: 1e14, sinceMs: START_MS + 8_000 });
    equal(statistics.sumSpent(ethereum, ALL), undefined);
    await clock.advance(60_000);
    ledger.submissions.update(id, { state: "final" });
    deepEqual(statistics.listWaitsForFinality(ALL), [{ target: bsc, tookMs: 60_000 }]);
    deepEqual(statistics.listWaitsForFinality({ afterMs: 0, untilMs: START_MS }), []);
  }),
);

Deno.test(
  "statistics: transactions in flight show their age, the replacements of a nonce, and nonces that are missing",
  onLedger(async (ledger, clock) => {
    const record = (number: number, nonce: bigint, replaces?: number): number =>
      ledger.submissions.record({
        submission: newSubmission(number, { chain: bsc, nonce }),
        kind: "cancel",
        items: [],
        replaces,
      });
    const first = record(1, 7n);
    await clock.advance(1_000);
    const second = record(2, 7n, first);
    record(3, 7n, second);
    record(4, 10n);
    deepEqual(ledger.statistics.sumInFlight(), [
      { chain: bsc, count: 4, oldestMs: START_MS, replacements: 2, nonceGap: 2 },
    ]);
  }),
);

Deno.test(
  "statistics: fees are summed by source and state of their claim, claimed ones by period",
  onLedger((ledger) => {
    for (const number of [1, 2, 3]) ledger.deliveries.record(newDelivery(number, { fee: 500_000n }));
    ledger.deliveries.setClaimState({ commitment: hashOf(3), dest: bsc }, "claimed");
    deepEqual(ledger.statistics.sumUnclaimed(), [
      { source: ethereum, state: "unclaimed", count: 2, feeUnits: 1_000_000 },
    ]);
    deepEqual(ledger.statistics.sumClaimed(ALL), [
      { source: ethereum, state: "claimed", count: 1, feeUnits: 500_000 },
    ]);
    deepEqual(ledger.statistics.sumClaimed({ afterMs: START_MS, untilMs: START_MS + 1 }), []);
  }),
);

Deno.test(
  "statistics: the last deliveries are ours, newest first",
  onLedger(async (ledger, clock) => {
    for (const number of [1, 2, 3]) {
      ledger.messages.record(newMessage(number));
      await clock.advance(10);
      const to = number === 2 ? "delivered_by_other" as const : "delivered" as const;
      ledger.messages.transition(hashOf(number), hub, { to, reason: "handled_by_us" });
    }
    const last = ledger.statistics.listLastDelivered(10);
    deepEqual(last.map(({ commitment }) => commitment), [hashOf(3), hashOf(1)]);
    equal(ledger.statistics.listLastDelivered(1).length, 1);
  }),
);
