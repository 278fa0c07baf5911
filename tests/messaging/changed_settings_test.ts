import assert from "node:assert/strict";
import type { MessagingConfig } from "../../src/messaging/config/schema.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { type MessageReason, type MessageRow, neverMs } from "../../src/messaging/ledger/ledger.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { wakeChanged } from "../../src/messaging/run.ts";
import { edited } from "./config/wrong_configs.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { hub, newMessage } from "../support/ledger_rows.ts";
import { openMemoryLedger } from "../support/ledger.ts";

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

function readConfig(toml: string): MessagingConfig {
  const { config } = parseMessagingConfig({ readFile: () => new Uint8Array() }, toml);
  assert.ok(config !== undefined);
  return config;
}

for (const [what, old, now, due] of cases) {
  Deno.test(`settings: when ${what} was changed, the messages that it concerns are judged once`, () => {
    const clock = new FakeClock();
    const ledger = openMemoryLedger({ clock });
    const waiting = { source: hub, state: "held", nextAttemptAtMs: neverMs } as const;
    for (const [index, [reason, chain]] of held.entries()) {
      ledger.messages.record(newMessage(index, { ...waiting, target: chain, reason }));
    }
    ledger.messages.record(newMessage(4, { ...waiting, target, state: "rejected", reason: "module_filter" }));
    const rows = [target, other].map((chain) => ({ source: hub, target: chain, limit: 9 }));
    const listDue = (): readonly MessageRow[] =>
      rows.flatMap((query) => ledger.messages.listDue({ ...query, nowMs: clock.now() }));
    const numbers = (): readonly number[] => listDue().map(({ nonce }) => Number(nonce)).sort();
    wakeChanged(ledger, readConfig(edited()));
    assert.deepEqual(numbers(), [], "nothing is known to be changed");
    wakeChanged(ledger, readConfig(edited([old, now])));
    assert.deepEqual(numbers(), due);
    for (const row of listDue()) {
      const again = { to: "held", reason: "unprofitable", nextAttemptAtMs: neverMs } as const;
      ledger.messages.transition(row.commitment, row.target, again);
    }
    wakeChanged(ledger, readConfig(edited([old, now])));
    assert.deepEqual(numbers(), [], "once");
    ledger.close();
  });
}
