/** What `status` prints: of a running relayer, and of a database that none uses. */
import assert from "node:assert/strict";
import type { RunningProgram } from "../../../src/core/checks/program_status.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { HourlyMaxima } from "../../../src/core/telemetry/status_sections.ts";
import { type StatusInput, sumHistory } from "../../../src/messaging/status/relay_facts.ts";
import { buildStatus, type RelayStatus } from "../../../src/messaging/status/relay_status.ts";
import { formatProgramStatus } from "../../../src/core/checks/program_view.ts";
import { relayView } from "../../../src/messaging/status/status_view.ts";
import type { Spent } from "../../../src/messaging/ledger/ledger.ts";
import { noteBandwidth } from "../../../src/messaging/relay/limits/bandwidth.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { type Ledger, openMemoryLedger } from "../../support/ledger.ts";
import { ethereum, hashOf, hub, itemOf, newMessage, newSubmission } from "../../support/ledger_rows.ts";

const HOUR_MS = 3_600_000;

/** A ledger on a clock, with one chain beside the hub. */
interface Scene {
  readonly clock: FakeClock;
  readonly ledger: Ledger;
  /** Text and runway with a relayer whose account on the chain has 10 native tokens. */
  readonly running: () => {
    readonly status: RelayStatus;
    readonly text: string;
    readonly runwayHours: number | undefined;
  };
  readonly stopped: () => string;
}

function withScene(work: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2));
    const ledger = openMemoryLedger({ clock });
    const relayer = (): RunningProgram => ({
      startedAtMs: clock.now() - HOUR_MS,
      endpoints: [],
      readHeights: () => ({ head: { height: 77, readAtMs: clock.now() - 4_000 } }),
      warnings: [],
      checks: [],
      troubles: [],
      dateReasons: (found) =>
        found.filter(({ graceMs = 0 }) => graceMs === 0)
          .map((reason) => ({ ...reason, sinceMs: clock.now() - 5_000 })),
    });
    const input = (running?: RunningProgram): StatusInput => ({
      program: "causeway",
      names: new ChainNames([{ section: "ethereum", stateMachine: ethereum }]),
      history: sumHistory(ledger, clock.now()),
      ages: new HourlyMaxima(),
      readChain: (chain) => ({
        ...running !== undefined && chain !== hub && { balanceWei: { value: 10n ** 19n, atMs: clock.now() } },
        counterparties: [],
      }),
      ledger,
      hub,
      chains: [ethereum],
      nowMs: clock.now(),
      running,
    });
    try {
      await work({
        clock,
        ledger,
        running: () => {
          const status = buildStatus(input(relayer()));
          const [wallet] = status.wallets;
          return { status, text: formatProgramStatus(status, relayView), runwayHours: wallet?.runwayHours };
        },
        stopped: () => formatProgramStatus(buildStatus(input()), relayView),
      });
    } finally {
      ledger.close();
    }
  };
}

/** Records a transaction that was mined now and cost one native token. */
function spendOne(
  ledger: Ledger,
  number: number,
  spent: Pick<Spent, "result" | "price27" | "revenueUsd18"> = {
    result: "delivered",
    price27: undefined,
    revenueUsd18: 0n,
  },
): void {
  const id = ledger.submissions.record({
    submission: newSubmission(number, { chain: ethereum }),
    kind: "delivery",
    items: [{ ...itemOf(number), target: ethereum }],
  });
  ledger.submissions.update(id, { state: "included", block: { height: 5n, hash: hashOf(5) } });
  const gas = { gasUsed: 10n ** 9n, gasPriceWei: 10n ** 9n, dataCostWei: 0n };
  ledger.spending.note(id, { ...spent, gas });
}

Deno.test(
  "status text: without a relayer it says so, claims nothing about chains, and tells what the database knows",
  withScene(async ({ clock, ledger, stopped, running }) => {
    assert.match(stopped(), /No relayer runs on this database: nothing is delivered until one is started/);
    assert.doesNotMatch(stopped(), /Nothing is in the way|Chains|head/);
    ledger.messages.record(
      newMessage(1, { source: hub, target: ethereum, state: "held", reason: "unfunded" }),
    );
    spendOne(ledger, 1);
    ledger.submissions.record({
      submission: newSubmission(2, { chain: ethereum }),
      kind: "delivery",
      items: [{ ...itemOf(2), target: ethereum }],
    });
    await clock.advance(3 * HOUR_MS);
    assert.match(stopped(), /\n {2}ethereum \(EVM-1\) +stops work +Our account cannot pay for gas/);
    assert.match(stopped(), /Chains\n {2}chain +in flight\n {2}ethereum \(EVM-1\) +1 \(oldest 3 h\)/);
    assert.match(running().text, /\n {2}ethereum \(EVM-1\) +stops work +5 s +Our account/);
  }),
);

Deno.test(
  "status text: senders that lack bandwidth are listed with what they have left, and no section without one",
  withScene(({ ledger, running, stopped }) => {
    assert.doesNotMatch(running().text, /andwidth/);
    noteBandwidth(ledger, ethereum, [
      { sender: "0x0102", limit: { kind: "metered", remainingBytes: 12n } },
      { sender: "0x03", limit: { kind: "free" } },
    ]);
    for (const text of [running().text, stopped()]) {
      assert.match(text, /bandwidth left at the hub\n {2}ethereum -> .* 0x0102: 12 bytes/);
    }
    noteBandwidth(ledger, ethereum, []);
    assert.doesNotMatch(stopped(), /andwidth/);
    return Promise.resolve();
  }),
);

Deno.test(
  "status text: a running relayer shows heights with their age, and when nothing is in the way",
  withScene(({ running }) => {
    const { text } = running();
    assert.match(text, /running for 60 min\n\nState\n {2}Ready. Nothing is in the way\./);
    assert.match(text, /EVM-1\) +77 \(4 s ago\)/);
    return Promise.resolve();
  }),
);

Deno.test(
  "status: the runway follows from the first cost on, an hour's worth at least, and is no number before",
  withScene(async ({ clock, ledger, running }) => {
    assert.deepEqual(running().runwayHours, undefined);
    assert.match(running().text, /EVM-1\) +10 ETH +no cost in 24 h/);
    spendOne(ledger, 1);
    await clock.advance(60_000);
    assert.equal(running().runwayHours, 10, "one token in an hour");
    await clock.advance(5 * HOUR_MS - 60_000);
    assert.equal(running().runwayHours, 50, "one token in five hours");
    assert.match(running().text, /EVM-1\) +10 ETH +2 d/);
    spendOne(ledger, 2);
    await clock.advance(1_000);
    assert.equal(running().runwayHours, 25, "two tokens in five hours");
    await clock.advance(24 * HOUR_MS);
    assert.equal(running().runwayHours, undefined);
  }),
);

Deno.test(
  "status: earnings of the day and of 30 days, with what was wasted, an hour each, and what a wallet lacks for a week",
  withScene(async ({ clock, ledger, running }) => {
    const price27 = 2n * 10n ** 27n;
    spendOne(ledger, 1, { result: "delivered", price27, revenueUsd18: 5n * 10n ** 18n });
    await clock.advance(30 * HOUR_MS);
    spendOne(ledger, 2, { result: "delivered", price27, revenueUsd18: 3n * 10n ** 18n });
    await clock.advance(2 * HOUR_MS);
    spendOne(ledger, 3, { result: "lost_race", price27, revenueUsd18: 0n });
    await clock.advance(1_000);
    const { status, text } = running();
    assert.deepEqual(status.money.map(({ profitUsdByHour: _, ...money }) => money), [{
      chain: ethereum,
      day: { earnedUsd: 3, spentUsd: 4, wastedUsd: 2, profitUsd: -1 },
      month: { earnedUsd: 8, spentUsd: 6, wastedUsd: 2, profitUsd: 2 },
    }]);
    assert.deepEqual(status.money[0]?.profitUsdByHour, [...new Array(21).fill(0), 1, 0, -2]);
    assert.match(text, /profit in 24 h: -\$1\.00/);
    assert.match(
      text,
      /\$3\.00 \(30 d \$8\.00\) .* \$2\.00 \(30 d \$2\.00\) +-\$1\.00 \(30 d \$2\.00\) .*[▁-█]/,
    );
    // Two tokens in two hours: 168 in a week, of which the account has 10.
    assert.equal(Math.round(Number(status.wallets[0]?.topUp)), 158);
    assert.match(text, /top up for 7 d\n .* 15\d\.\d+ ETH/);
  }),
);
