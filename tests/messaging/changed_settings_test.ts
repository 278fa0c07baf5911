import assert from "node:assert/strict";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { type MessageReason, neverMs } from "../../src/messaging/ledger/ledger.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { wakeChanged } from "../../src/messaging/run.ts";
import { edited } from "./config/wrong_configs.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { hashOf, hub, newMessage } from "../support/ledger_rows.ts";
import { openMemoryLedger } from "../support/memory_ledger.ts";

const target = parseStateMachine("EVM-31337");
const other = parseStateMachine("EVM-56");

/** Messages that are never tried again by themselves: reason and chain. */
const held: readonly (readonly [MessageReason, typeof target])[] = [
  ["unprofitable", target],
  ["unprofitable", other],
  ["simulation_failed", target],
  ["too_large", target],
];

const cases: readonly (readonly [what: string, old: string, now: string, due: readonly number[]])[] = [
  ["nothing", "[hub]", "[hub]", []],
  ["a key that decides nothing", "[hub]\n", "[hub]\npoll_interval = 7\n", []],
  ["the profit", "minimum_profit_percentage = 0", "minimum_profit_percentage = 5", [0, 1]],
  ["the retry frequency", "[relayer]\n", "[relayer]\nunprofitable_retry_frequency = 300\n", [0, 1, 2]],
  ["the price limit of a chain", "[evm1]\n", "[evm1]\nmaximum_gas_price = 200\n", [0]],
  [
    "the filter",
    "[relayer]\n",
    '[relayer]\nmodule_filter = ["0x00000000000000000000000000000000000000aa"]\n',
    [4],
  ],
];

for (const [what, old, now, due] of cases) {
  Deno.test(`settings: when ${what} was changed, the messages that it concerns are judged once`, () => {
    using ledger = openLedgerWith();
    const [before, after] = [edited(), edited([old, now])].map((toml) => {
      const { config, problems } = parseMessagingConfig({ readFile: () => new Uint8Array() }, toml);
      assert.ok(config !== undefined, JSON.stringify(problems));
      return config;
    });
    assert.ok(before !== undefined && after !== undefined);
    wakeChanged(ledger.ledger, before);
    assert.deepEqual(ledger.listDue(), [], "nothing is known to be changed");
    wakeChanged(ledger.ledger, after);
    assert.deepEqual(ledger.listDue(), due);
    ledger.holdAll();
    wakeChanged(ledger.ledger, after);
    assert.deepEqual(ledger.listDue(), [], "once");
  });
}

function openLedgerWith() {
  const clock = new FakeClock();
  const ledger = openMemoryLedger({ clock });
  for (const [index, [reason, chain]] of held.entries()) {
    ledger.messages.record(
      newMessage(index, { source: hub, target: chain, state: "held", reason, nextAttemptAtMs: neverMs }),
    );
  }
  const rejected = { state: "rejected", reason: "module_filter", nextAttemptAtMs: neverMs } as const;
  ledger.messages.record(newMessage(4, { source: hub, target, ...rejected }));
  const rows = () =>
    [target, other].flatMap((chain) =>
      ledger.messages.listDue({ source: hub, target: chain, nowMs: clock.now(), limit: 9 })
    );
  return {
    ledger,
    listDue: () =>
      rows().map(({ commitment }) => [0, 1, 2, 3, 4].find((number) => hashOf(number) === commitment)).sort(),
    holdAll: () => {
      for (const row of rows()) {
        ledger.messages.transition(row.commitment, row.target, {
          to: "held",
          reason: "unprofitable",
          nextAttemptAtMs: neverMs,
        });
      }
    },
    [Symbol.dispose]: () => ledger.close(),
  };
}
