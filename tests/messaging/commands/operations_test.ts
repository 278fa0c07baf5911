/** What operations on the database answer, as a command gets it over the socket. */
import assert from "node:assert/strict";
import { readMessagingConfig } from "../../../src/messaging/config/read.ts";
import { programParser } from "../../../src/core/commands/program_parser.ts";
import { answerRequest, type OperationRun, toRequestLine } from "../../../src/core/commands/operation.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import type { CommonArguments } from "../../../src/core/runtime/app.ts";
import type { OperationContext } from "../../../src/messaging/commands/command.ts";
import { operations } from "../../../src/messaging/commands/commands.ts";
import { profitCommand } from "../../../src/messaging/commands/profit.ts";
import { noteBandwidth } from "../../../src/messaging/relay/limits/bandwidth.ts";
import { toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { readStatus } from "../../../src/messaging/status/relay_status.ts";
import { relayerConfig } from "../../../devnet/programs/relayer_config.ts";
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
import { openMemoryLedger } from "../../support/ledger.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { neverMs } from "../../../src/messaging/ledger/ledger.ts";

interface Scene extends OperationContext {
  readonly clock: FakeClock;
  readonly log: RecordedLog;
  readonly woken: () => number;
}

function openScene(): Scene {
  const clock = new FakeClock();
  let woken = 0;
  const text = relayerConfig({
    hub: { stateMachine: hub, wsUrl: "ws://127.0.0.1:9" },
    chains: [ethereum, bsc].map((stateMachine) => ({
      stateMachine,
      consensusStateId: "ETH0",
      rpcUrl: "http://127.0.0.1:9",
      ismpHost: `0x${"11".repeat(20)}`,
    })),
  });
  const files = { readFile: () => new TextEncoder().encode(text) };
  const { config } = readMessagingConfig(files, "relayer.toml");
  assert.ok(config !== undefined);
  const ledger = openMemoryLedger({ clock });
  return {
    clock,
    log: new RecordedLog(),
    ledger,
    config,
    isRunning: true,
    wake: () => void woken++,
    status: () => readStatus({ ledger, config, clock }),
    relaying: () => ({
      legs: [],
      get fees(): never {
        return assert.fail("these operations need no chains");
      },
    }),
    woken: () => woken,
  };
}

async function ask(scene: Scene, operation: string, input: unknown): Promise<unknown> {
  const server = { commands: operations, context: scene };
  const answer: unknown = JSON.parse(
    await answerRequest(server, toRequestLine(operation, [input, {}]), new AbortController().signal),
  );
  return field(answer, "output") ?? field(answer, "refusal");
}

function field(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => typeof inner === "object" && inner !== null ? Reflect.get(inner, name) : undefined,
    value,
  );
}

Deno.test("operations: list filters by status, chains, sender, time and reason, newest first", async () => {
  const scene = openScene();
  const { ledger, clock } = scene;
  ledger.messages.record(newMessage(1, { state: "held", reason: "unprofitable", nextAttemptAtMs: neverMs }));
  ledger.messages.record(newMessage(2, { requestDest: ethereum, requestSource: bsc, source: bsc }));
  await clock.advance(60_000);
  ledger.messages.record(newMessage(3, { module: new Uint8Array([1, 2]) }));
  const list = async (filter: Record<string, unknown>): Promise<unknown> => {
    const output = await ask(scene, "list", { ...filter, limit: 10 });
    const messages = field(output, "messages");
    assert.ok(Array.isArray(messages), JSON.stringify(output));
    assert.equal(field(output, "total"), messages.length);
    return messages.map((message) => Number(BigInt(String(field(message, "commitment")))));
  };
  assert.deepEqual(await list({}), [3, 2, 1]);
  assert.deepEqual(await list({ status: ["held"] }), [1]);
  assert.deepEqual(await list({ reason: ["unprofitable", "race"] }), [1]);
  assert.deepEqual(await list({ source: "evm_56", dest: ethereum }), [2]);
  assert.deepEqual(await list({ module: "0x0102" }), [3]);
  assert.deepEqual(await list({ since: clock.now() }), [3]);
  const two = await ask(scene, "list", { limit: 2 });
  assert.deepEqual([field(two, "total"), field(two, "messages", "length")], [3, 2]);
  const nextOf = async (commitment: string): Promise<unknown> => {
    const messages = field(await ask(scene, "list", { limit: 9 }), "messages");
    assert.ok(Array.isArray(messages));
    return field(messages.find((each) => field(each, "commitment") === commitment), "nextAttemptAt");
  };
  assert.equal(await nextOf(hashOf(1)), undefined, "it is never tried again");
  assert.equal(await nextOf(hashOf(3)), new Date(clock.now()).toISOString());
  for (const [to, hasNext] of [["ready", true], ["submitted", false], ["delivered", false]] as const) {
    ledger.messages.transition(hashOf(3), hub, { to });
    assert.equal(await nextOf(hashOf(3)) !== undefined, hasNext, to);
  }
});

Deno.test("operations: show tells what bandwidth a waiting sender had left when it was read last", async () => {
  const scene = openScene();
  const { ledger } = scene;
  const message = newMessage(1, { state: "held", reason: "no_bandwidth", nextAttemptAtMs: 9 });
  ledger.messages.record(message);
  const left = async (): Promise<unknown> =>
    field(await ask(scene, "show", hashOf(1)), "legs", 0, "bandwidthLeft");
  assert.equal(await left(), undefined);
  const limit = { kind: "metered", remainingBytes: 0n } as const;
  noteBandwidth(ledger, message.source, [{ sender: toHex(message.module), limit }]);
  assert.equal(await left(), "0");
  ledger.messages.transition(hashOf(1), hub, { to: "timed_out" });
  assert.equal(await left(), undefined);
});

Deno.test("operations: show tells the whole life of a message, by its commitment and by our transaction", async () => {
  const scene = openScene();
  const { ledger, clock } = scene;
  ledger.messages.record(newMessage(1));
  await clock.advance(1_000);
  ledger.decisions.note(hub, [{
    commitment: hashOf(1),
    verdict: "unprofitable",
    feeUsd18: 10n ** 17n,
    gas: 100_000n,
    gasPriceWei: 5n * 10n ** 9n,
    dataCostWei: 0n,
    price27: 2_000n * 10n ** 27n,
    priceOrigin: "etherscan",
    profitPercent: 10,
    costUsd18: 10n ** 18n,
    requiredUsd18: 11n * 10n ** 17n,
  }]);
  const changes = [
    { to: "held", reason: "unprofitable", nextAttemptAtMs: neverMs },
    { to: "held", reason: "unprofitable" },
    { to: "ready" },
    { to: "submitted" },
  ] as const;
  for (const change of changes) {
    ledger.messages.transition(hashOf(1), hub, change);
    await clock.advance(1_000);
  }
  const id = ledger.submissions.record({
    submission: newSubmission(7),
    kind: "delivery",
    items: [itemOf(1)],
  });
  ledger.submissions.update(id, { state: "broadcast" });
  const shown = await ask(scene, "show", hashOf(1));
  const leg = field(shown, "legs", 0);
  const history = field(leg, "changes");
  assert.ok(Array.isArray(history));
  assert.deepEqual(history.map((each) => [field(each, "status"), field(each, "reason")]), [
    ["seen", undefined],
    ["held", "unprofitable"],
    ["submitted", undefined],
  ]);
  assert.deepEqual(
    ["verdict", "feeUsd", "gas", "gasPriceGwei", "price", "priceSource", "costUsd", "requiredUsd"].map((
      name,
    ) => field(leg, "decision", name)),
    ["unprofitable", "0.1", "100000", "5", "2000", "etherscan", "1", "1.1"],
  );
  assert.deepEqual(
    [field(leg, "transactions", 0, "hash"), field(leg, "transactions", 0, "status")],
    [hashOf(7), "broadcast"],
  );
  assert.match(String(field(leg, "next")), /followed until it is final/);
  assert.deepEqual(await ask(scene, "show", hashOf(7)), shown);
  ledger.messages.record(newMessage(3, { commitment: toHash256("ab".repeat(32)) }));
  const found = field(await ask(scene, "show", "0xababab"), "legs", 0, "message", "commitment");
  assert.equal(found, `0x${"ab".repeat(32)}`);
  assert.match(
    String(await ask(scene, "show", "0x000000")),
    /^Several begin with 0x000000: 0x0{63}1, 0x0{63}7$/,
  );
  assert.match(String(await ask(scene, "show", "0xabcdef")), /^Nothing is known of 0xabcdef: /);
  ledger.messages.transition(hashOf(1), hub, { to: "delivered", reason: "handled_by_us" });
  ledger.deliveries.record(newDelivery(1, { dest: hub }));
  const after = field(await ask(scene, "show", hashOf(1)), "legs", 0);
  assert.equal(field(after, "delivery", "claim"), "unclaimed");
  assert.match(String(field(after, "next")), /^Nothing: this leg is over\. The target has our receipt\.$/);
});

Deno.test("operations: an unknown commitment, operation or chain is answered with what helps", async () => {
  const scene = openScene();
  assert.match(
    String(await ask(scene, "show", hashOf(5))),
    /^Nothing is known of 0x0{63}5: .*scan/,
  );
  assert.match(String(await ask(scene, "fly", {})), /no operation fly/);
  assert.match(
    String(await ask(scene, "list", { source: "evm_57", limit: 1 })),
    /^evm_57 is no chain of the configuration \(hub, .*\) and no state machine such as EVM-1\. Did you mean evm_56\?$/,
  );
  assert.deepEqual(scene.log.events("warn"), []);
});

Deno.test("operations: retry makes matching messages due and says how many waited for what", async () => {
  const scene = openScene();
  const { ledger, clock } = scene;
  const held = { state: "held", reason: "unprofitable", nextAttemptAtMs: neverMs } as const;
  ledger.messages.record(newMessage(1, held));
  ledger.messages.record(newMessage(2, { ...held, requestDest: ethereum }));
  ledger.messages.record(newMessage(3, { state: "rejected", reason: "module_filter" }));
  assert.deepEqual(await ask(scene, "retry", { dest: bsc }), {
    reasons: [{ reason: "unprofitable", count: 1 }],
  });
  const due = ledger.messages.listDue({ source: ethereum, target: hub, nowMs: clock.now(), limit: 10 });
  assert.deepEqual(due.map(({ commitment }) => commitment), [hashOf(1)]);
  assert.equal(scene.woken(), 1);
});

Deno.test("operations: hold and release keep what the operator named, once", async () => {
  const scene = openScene();
  const { ledger, clock } = scene;
  const route = `${ethereum}:${bsc}`;
  assert.deepEqual(await ask(scene, "hold", `evm_1 -> ${bsc}`), {
    subject: route,
    isNew: true,
    waiting: 0,
    held: [route],
  });
  assert.equal(field(await ask(scene, "hold", route), "isNew"), false);
  assert.match(String(await ask(scene, "hold", "EVM-1")), /neither a module .* nor a route/);
  ledger.messages.record(
    newMessage(1, { state: "held", reason: "held_by_operator", nextAttemptAtMs: neverMs }),
  );
  const next = field(await ask(scene, "show", hashOf(1)), "legs", 0, "next");
  assert.equal(next, "You hold its module or route: `release` lets it go.");
  ledger.suspensions.write({
    target: bsc,
    sender: new Uint8Array([1]),
    receiver: new Uint8Array([2]),
    failures: 3,
    isActive: true,
    nextTryAtMs: neverMs,
    lastTransaction: hashOf(9),
  });
  const nothing = { holds: [], pairs: [], gated: 0, left: [route] };
  assert.deepEqual(await ask(scene, "release", "0x0a"), nothing);
  assert.deepEqual(await ask(scene, "release", route), {
    holds: [route],
    pairs: [],
    gated: 0,
    left: [],
  });
  const due = ledger.messages.listDue({ source: ethereum, target: hub, nowMs: clock.now(), limit: 10 });
  assert.deepEqual(due.map(({ commitment }) => commitment), [hashOf(1)]);
  const pair = { target: bsc, from: "0x01", to: "0x02" };
  assert.deepEqual(await ask(scene, "release", "0x02"), {
    holds: [],
    pairs: [pair],
    gated: 0,
    left: [],
  });
  ledger.messages.record(newMessage(2, { state: "held", reason: "gated", nextAttemptAtMs: neverMs }));
  assert.deepEqual(await ask(scene, "release", undefined), { holds: [], pairs: [], gated: 1, left: [] });
  assert.equal(ledger.messages.find(hashOf(2), hub)?.nextAttemptAtMs, clock.now());
});

Deno.test("ledger: a message that changes all the time keeps its first and its last 50 changes", async () => {
  const { ledger, clock } = openScene();
  ledger.messages.record(newMessage(1));
  for (let n = 0; n < 200; n++) {
    await clock.advance(1_000);
    ledger.messages.transition(hashOf(1), hub, { to: "held", reason: n % 2 === 0 ? "race" : "not_final" });
  }
  const changes = ledger.messages.listChanges(hashOf(1), hub);
  assert.deepEqual([changes.length, changes[0]?.state, changes.at(-1)?.reason], [51, "seen", "not_final"]);
});

Deno.test("operations: profit adds up fees and gas by chain, route, day and module, and names what was wasted", async () => {
  const scene = openScene();
  const { ledger, clock } = scene;
  const usd = 10n ** 18n;
  const spend = (number: number, result: "delivered" | "lost_race", revenueUsd18: bigint): void => {
    const target = bsc;
    const items = [number * 10, number * 10 + 1].map((n) => ({ ...itemOf(n), target }));
    for (const [index, { commitment }] of items.entries()) {
      ledger.messages.record(
        newMessage(number * 10 + index, { source: hub, target, module: new Uint8Array([index + 1]) }),
      );
      ledger.messages.transition(commitment, target, { to: "held", reason: "race", offeredUsd18: 3n * usd });
    }
    const submission = newSubmission(number, { chain: bsc });
    const id = ledger.submissions.record({ submission, kind: "delivery", items, legSource: hub });
    if (result === "delivered") {
      ledger.submissions.settleItems(
        id,
        items.map(({ commitment }) => commitment),
        "handled",
      );
    }
    const gas = { gasUsed: 10n ** 6n, gasPriceWei: 10n ** 9n, dataCostWei: 1n };
    ledger.spending.note(id, { result, gas, price27: 2_000n * 10n ** 27n, revenueUsd18 });
  };
  spend(1, "delivered", 6n * usd);
  await clock.advance(86_400_000);
  spend(2, "lost_race", 0n);
  const chains = await ask(scene, "profit", { by: "chain" });
  assert.deepEqual(field(chains, "lines", "length"), 1);
  assert.deepEqual(
    ["group", "transactions", "earnedUsd", "spentUsd", "unpriced"].map((name) =>
      field(chains, "lines", 0, name)
    ),
    [bsc, 2, "6", "4", 0],
  );
  assert.deepEqual(field(chains, "lines", 0, "spent"), [{ chain: bsc, native: "0.002000000000000002" }]);
  assert.deepEqual(field(chains, "lines", 0, "wasted", 0, "reason"), "lost_race");
  const groups = async (by: string): Promise<unknown> => {
    const lines = field(await ask(scene, "profit", { by }), "lines");
    assert.ok(Array.isArray(lines));
    return lines.map((line) => [field(line, "group"), field(line, "earnedUsd"), field(line, "spentUsd")]);
  };
  assert.deepEqual(await groups("route"), [[`${hub} -> ${bsc}`, "6", "4"]]);
  assert.deepEqual(await groups("module"), [["0x01", "3", "2"], ["0x02", "3", "2"]]);
  const days = await groups("day");
  assert.ok(Array.isArray(days) && days.length === 2);
  const recent = await ask(scene, "profit", { by: "chain", since: clock.now() });
  assert.equal(field(recent, "total", "transactions"), 1);
  assert.equal(field(await ask(scene, "status", {}), "program"), "causeway");
});

Deno.test("operations: the table of profit fits 120 columns, with 32-byte modules and large sums for every reason", async () => {
  const scene = openScene();
  const { ledger } = scene;
  const huge = 987_654n * 10n ** 18n + 123_456_789n;
  const results = [
    "delivered",
    "already_known",
    "lost_race",
    "reverted",
    "not_executed",
    "cancelled",
  ] as const;
  for (const [number, result] of results.entries()) {
    const module = new Uint8Array(32).fill(0xa0 + number);
    const item = { ...itemOf(number), target: bsc };
    ledger.messages.record(newMessage(number, { source: hub, target: bsc, module }));
    const submission = newSubmission(number, { chain: bsc });
    const id = ledger.submissions.record({ submission, kind: "delivery", items: [item], legSource: hub });
    const gas = { gasUsed: 10n ** 6n, gasPriceWei: 10n ** 12n, dataCostWei: 1n };
    const price27 = 987_654_321n * 10n ** 21n;
    ledger.spending.note(id, { result, gas, price27, revenueUsd18: result === "delivered" ? huge : 0n });
  }
  for (const by of ["chain", "route", "day", "module"]) {
    const program = { name: "causeway", description: "", afterHelp: "", exampleFiles: "" };
    const parse = programParser<CommonArguments, OperationRun<OperationContext>>({
      ...program,
      commands: [profitCommand],
    });
    const parsed = parse(["--config=c", "profit", `--by=${by}`], "");
    assert.ok(parsed.kind === "run" && parsed.command.kind === "command");
    let text = "";
    await parsed.command.run({
      askRunning: () => assert.fail("profit only reads"),
      here: (_needs, work) => work(scene),
      print: (given) => void (text += given),
      printError: (given) => assert.fail(given),
      isJson: false,
      hasColour: false,
      clock: scene.clock,
      names: new ChainNames(),
      signal: new AbortController().signal,
    });
    const widths = text.split("\n").map(({ length }) => length);
    assert.ok(widths.length > 8 && Math.max(...widths) <= 120, text);
  }
});
