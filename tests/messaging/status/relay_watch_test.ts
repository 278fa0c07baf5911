/** What the status server of a relayer answers, on a ledger in memory. */
import assert from "node:assert/strict";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { RelayWatch } from "../../../src/messaging/status/relay_watch.ts";
import { openLog } from "../../../src/core/telemetry/open_log.ts";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import { createLedger } from "../../../src/messaging/ledger/ledger.ts";
import { openDatabase } from "../../../src/messaging/ledger/open.ts";
import { readStatus } from "../../../src/messaging/status/relay_status.ts";
import { formatProgramStatus } from "../../../src/core/checks/program_view.ts";
import { relayView } from "../../../src/messaging/status/status_view.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { type Ledger, LedgerFault, openMemoryLedger, withDirectory } from "../../support/ledger.ts";
import { ethereum, hashOf, hub, newMessage } from "../../support/ledger_rows.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { readerOf, readReasons, type ReadStatus } from "../../support/status_reader.ts";
import { withMethods } from "../../support/with_methods.ts";
import { connectionsOf } from "./watched_chains.ts";

const START_MS = Date.UTC(2026, 0, 2);
const MINUTE_MS = 60_000;

/** A relayer that is watched and served. */
interface Scene {
  readonly watch: RelayWatch;
  readonly ledger: Ledger;
  readonly clock: FakeClock;
  readonly get: ReadStatus;
}

async function withServer(work: (scene: Scene) => Promise<void>, opens = true): Promise<void> {
  const clock = new FakeClock(START_MS);
  const watch = new RelayWatch(clock);
  const ledger = openMemoryLedger({ clock });
  if (opens) watch.open(ledger, watch.observe(connectionsOf(clock)));
  try {
    await work({ watch, ledger, clock, get: readerOf(watch.sources()) });
  } finally {
    ledger.close();
  }
}

Deno.test("watch: before the chains are checked the program is healthy and not ready", () =>
  withServer(async ({ get }) => {
    assert.equal(await (await get("/healthz")).text(), "ok\n");
    assert.deepEqual(await readReasons(get), [503, ["starting"]]);
    const page = await get("/");
    assert.match(await page.text(), /starting/);
    assert.match(await (await get("/metrics")).text(), /^causeway_ready 0$/m);
    assert.deepEqual((await (await get("/status.json")).json()).reasons[0].code, "starting");
  }, false));

Deno.test("watch: a message that is due for too long makes the program not ready, one that waits does not", () =>
  withServer(async ({ get, ledger, clock }) => {
    assert.deepEqual(await readReasons(get), [200, []]);
    ledger.messages.record(newMessage(1, { state: "held", reason: "unprofitable" }));
    await clock.advance(20 * MINUTE_MS);
    assert.deepEqual(await readReasons(get), [200, []]);
    ledger.messages.record(newMessage(2));
    await clock.advance(16 * MINUTE_MS);
    assert.deepEqual(await readReasons(get), [200, []]);
    await clock.advance(5 * MINUTE_MS);
    const answer = await get("/readyz");
    assert.equal(answer.status, 503);
    const { reasons } = await answer.json();
    assert.deepEqual(reasons, [{
      code: "message_too_old",
      stops: true,
      chain: hub,
      leg: `${ethereum} -> ${hub}`,
      since: new Date(START_MS + 36 * MINUTE_MS).toISOString(),
      explanation:
        "The oldest message that is due was seen 21 min ago (seen), and nothing was delivered for 15 min.",
      help: "Read the last warnings about this leg.",
    }]);
    ledger.messages.transition(hashOf(2), hub, { to: "delivered", reason: "handled_by_us" });
    await clock.advance(5_000);
    assert.deepEqual(await readReasons(get), [200, []]);
  }));

Deno.test("watch: a light client that learns nothing for two hours is a reason while messages wait for it", () =>
  withServer(async ({ get, ledger, clock }) => {
    ledger.messages.record(newMessage(1, { state: "held", reason: "waiting_for_update" }));
    await clock.advance(119 * MINUTE_MS);
    assert.deepEqual(await readReasons(get), [200, []]);
    await clock.advance(2 * MINUTE_MS);
    assert.deepEqual(await readReasons(get), [503, ["light_client_stalled"]]);
  }));

Deno.test("watch: a chain without an endpoint that answers, and an empty wallet, are reasons", () =>
  withServer(async ({ get, watch, ledger, clock }) => {
    const request = {
      chain: ethereum,
      endpointHost: "a.example",
      calls: [{ method: "eth_call", outcome: "timeout" as const }],
      tookMs: 10,
    };
    watch.endpoints.noteRequest(request);
    ledger.messages.record(
      newMessage(1, { target: ethereum, source: hub, state: "held", reason: "unfunded" }),
    );
    assert.deepEqual(await readReasons(get), [503, ["no_endpoint", "wallet_empty"]]);
    watch.endpoints.noteRequest({ ...request, calls: [{ method: "eth_call", outcome: "reverted" }] });
    await clock.advance(5_000);
    assert.deepEqual(await readReasons(get), [503, ["wallet_empty"]]);
  }));

Deno.test("watch: a database that cannot be read is a reason, and a metric", () =>
  withServer(async ({ get, watch, clock }) => {
    const broken = openMemoryLedger({ clock });
    const fault = new LedgerFault("io", { path: "relayer.db", text: "the disk is gone" });
    const fail = (): never => {
      throw fault;
    };
    const statistics = { ...broken.statistics, countOpen: fail };
    watch.open({ ...broken, statistics }, watch.observe(connectionsOf(clock)));
    assert.deepEqual(await readReasons(get), [503, ["database_fault"]]);
    const page = await get("/");
    assert.equal(page.status, 200);
    assert.match(await page.text(), /the disk is gone/);
    assert.match(await (await get("/status.json")).text(), /the disk is gone/);
    const text = await (await get("/metrics")).text();
    assert.match(text, /^causeway_database_up 0$/m);
    assert.match(text, /^causeway_ready 0$/m);
    broken.close();
  }));

Deno.test("watch: a database that cannot be written is a reason until a write works, and the second time in five minutes, too", () =>
  withDirectory(async (directory) => {
    const clock = new FakeClock(START_MS);
    const lines: string[] = [];
    const log = openLog({ format: "human", level: "info", write: (line) => lines.push(line), clock });
    const watch = new RelayWatch(clock);
    const db = openDatabase(`${directory}/relayer.db`, { clock });
    const ledger = watch.open(createLedger(db), watch.observe(connectionsOf(clock)));
    const stop = new AbortController();
    const probing = watch.workers(log).find(({ name }) => name === "database")?.run(stop.signal);
    const limitPages = (pages: number): void => {
      db.rows("PRAGMA incremental_vacuum");
      db.row(`PRAGMA max_page_count = ${pages}`);
    };
    const big = (): void =>
      ledger.transaction(() =>
        void ledger.messages.record(newMessage(1, { encoded: new Uint8Array(200_000) }))
      );
    for (const _ of ["first", "second"]) {
      lines.splice(0);
      limitPages(1);
      for (let time = 0; time < 3; time++) {
        assert.throws(big, LedgerFault);
        assert.equal(watch.reasons()[0]?.code, "database_fault", "told at once");
        log.error("worker_restarting", { worker: "a leg", againInMs: 1_000, error: ledger.fault() });
        await clock.advance(6_000);
      }
      const [reason, ...more] = watch.reasons();
      assert.deepEqual([reason?.code, more], ["database_fault", []]);
      assert.match(reason?.explanation ?? "", /relayer\.db: no space left on the device\. Nothing is sent/);
      assert.equal(reason?.help, "Free some space.");
      for (
        const shown of [
          watch.sources().page(),
          formatProgramStatus(readStatus({ ledger, config: CONFIG, clock }), relayView),
        ]
      ) {
        assert.match(shown, /no space left on the device/);
      }
      assert.match(await watch.sources().metrics(), /^causeway_database_up 0$/m);
      limitPages(1_000_000);
      await clock.advance(6_000);
      assert.deepEqual(watch.reasons(), []);
      assert.match(await watch.sources().metrics(), /^causeway_database_up 1$/m);
      await clock.advance(20_000);
      log.info("program_stopped");
      const told = lines.map((line) => /ERROR .*\[(\w+)\]|can be written again/.exec(line)).map((found) =>
        found?.[1] ?? found?.[0]
      );
      assert.deepEqual(told, ["database_fault", "worker_restarting", "can be written again", undefined]);
    }
    stop.abort();
    await probing?.catch(() => {});
    ledger.close();
  }));

/** A configuration whose chains are those of the watched ledger. */
const CONFIG = { hub: { stateMachine: hub }, chains: [] } as unknown as MessagingConfig;

/** Messages that are held, and what is said of them after two minutes: code, and whether it stops the program. */
const HELD = [
  ["client_expired", [["client_expired", true]]],
  ["held_by_operator", [["held_by_operator", false]]],
  ["price_unknown", [["price_unknown", false]]],
  ["poison", [["poison", false]]],
  ["suspended", [["suspended", false]]],
  ["unfunded", [["wallet_empty", true]]],
  ["unprofitable", []],
  ["challenge_period", []],
] as const;

Deno.test("watch: held messages are told with what helps where somebody can end it, or stand with their leg", async () => {
  for (const [held, expected] of HELD) {
    await withServer(async ({ get, watch, ledger, clock }) => {
      ledger.messages.record(newMessage(1, { source: hub, target: ethereum, state: "held", reason: held }));
      watch.reasons();
      await clock.advance(2 * MINUTE_MS);
      const { reasons } = await (await get("/readyz")).json();
      assert.deepEqual(reasons.map((each: Record<string, unknown>) => [each.code, each.stops]), expected);
      const text = formatProgramStatus(
        { ...JSON.parse(await (await get("/status.json")).text()) },
        relayView,
      );
      assert.doesNotMatch(text, /Nothing is in the way/);
      if (expected.length === 0) assert.match(text, /What messages wait for stands beside their legs/);
    });
  }
});

Deno.test("watch: a chain that is closed by the loss limit, one that is frozen, and one that stands still are told", () =>
  withServer(async ({ watch, ledger, clock }) => {
    const untilMs = START_MS + 30 * MINUTE_MS;
    ledger.notes.write("loss_stop", ethereum, { untilMs, lastReportedMs: START_MS });
    const connections = connectionsOf(clock);
    const reads = withMethods(connections.hub.reads, {
      fetchView: async (...args) => ({ ...await connections.hub.reads.fetchView(...args), isFrozen: true }),
    });
    const observed = watch.observe({ ...connections, hub: { ...connections.hub, reads } });
    const { signal } = new AbortController();
    await observed.hub.reads.fetchView(observed.chains[0]?.chain.id ?? assert.fail(), signal);
    const name = { chain: ethereum, endpointHost: "a.example", calls: [], tookMs: 10 };
    const told = (): readonly unknown[] =>
      watch.reasons().map(({ code, leg, nextMs, isWarning }) => [code, leg, nextMs, isWarning ?? false]);
    for (let minute = 0; minute <= 11; minute++) {
      watch.endpoints.noteRequest({ ...name, head: 7n });
      told();
      await clock.advance(MINUTE_MS);
    }
    assert.deepEqual(told(), [
      ["no_height_known", `${ethereum} -> ${hub}`, undefined, false],
      ["host_frozen", `${ethereum} -> ${hub}`, undefined, false],
      ["loss_limit_reached", undefined, untilMs, false],
      ["chain_stopped", undefined, undefined, true],
    ]);
    // The hub makes blocks by itself: without them nothing is delivered.
    const ofHub = { ...name, chain: hub, head: 9n };
    for (const sec of [10, 60, 40]) {
      watch.endpoints.noteRequest(ofHub);
      told();
      await clock.advance(sec * 1_000);
    }
    assert.ok(told().some((each) => JSON.stringify(each) === '["chain_stopped",null,null,false]'));
    watch.endpoints.noteRequest({ ...ofHub, head: 10n });
    watch.endpoints.noteRequest({ ...name, head: 8n });
    await clock.advance(20 * MINUTE_MS);
    assert.deepEqual(told().map((each) => (each as string[])[0]), ["no_height_known", "host_frozen"]);
    // Another configuration may have other endpoints.
    watch.close();
    assert.deepEqual(watch.endpoints.list(), []);
  }));

Deno.test("watch: reads of a chain are shown and exposed as they come, and nothing is asked for them", () =>
  withServer(async ({ get, watch, clock }) => {
    const connections = watch.observe(connectionsOf(clock));
    const [entry] = connections.chains;
    assert.ok(entry !== undefined);
    const { signal } = new AbortController();
    await connections.hub.reads.fetchView(entry.chain.id, signal);
    const readAtMs = clock.now();
    const request = { chain: ethereum, endpointHost: "a.example", calls: [], tookMs: 10 };
    watch.endpoints.noteRequest({ ...request, head: 1_234_567n, final: 1_234_500n });
    await clock.advance(4 * MINUTE_MS);
    const { chains } = await (await get("/status.json")).json();
    const known = chains.find(({ chain }: { chain: string }) => chain === ethereum);
    assert.deepEqual(known.head, { height: 1_234_567, readAtMs });
    assert.deepEqual(known.final, { height: 1_234_500, readAtMs });
    assert.match(await (await get("/")).text(), /1234567 <span class="faint">4 min ago/);
    const text = await (await get("/metrics")).text();
    assert.match(text, /^causeway_chain_head_height\{chain="EVM-1"\} 1234567$/m);
    assert.match(text, /^causeway_chain_final_height\{chain="EVM-1"\} 1234500$/m);
    assert.match(text, /^causeway_light_client_height\{chain="POLKADOT-3367",counterparty="EVM-1"\} \d+$/m);
  }));

Deno.test("watch: counters count what ended since the start, however often they are scraped", () =>
  withServer(async ({ get, ledger, clock }) => {
    ledger.messages.record(newMessage(1));
    await clock.advance(1_000);
    ledger.messages.transition(hashOf(1), hub, { to: "delivered", reason: "handled_by_us" });
    const expected =
      /^causeway_messages_ended_total\{source="EVM-1",target="POLKADOT-3367",status="delivered"\} 1$/m;
    for (let scrape = 0; scrape < 5; scrape++) {
      await clock.advance(100);
      await (await get("/metrics")).text();
    }
    await clock.advance(5_000);
    assert.match(await (await get("/metrics")).text(), expected);
  }));

Deno.test("watch: a scrape and a look at the page every 100 ms read the database once in five seconds", () =>
  withServer(async ({ get, watch, ledger, clock }) => {
    let reads = 0;
    const countOpen = (): ReturnType<Ledger["statistics"]["countOpen"]> => {
      reads++;
      return ledger.statistics.countOpen();
    };
    watch.open({ ...ledger, statistics: { ...ledger.statistics, countOpen } }, connectionsOf(clock));
    for (let scrape = 0; scrape < 100; scrape++) {
      for (const path of ["/metrics", "/", "/readyz", "/status.json"]) await (await get(path)).text();
      await clock.advance(100);
    }
    assert.equal(reads, 2);
  }));

Deno.test("watch: a failed check is a reason unless it is about one endpoint, and the page shows what is not in order", () =>
  withServer(async ({ watch, ledger, clock }) => {
    const { checks: board } = watch;
    assert.match(watch.sources().page(), /no checks made yet/);
    const row = {
      chain: ethereum,
      check: "host",
      result: "failed",
      found: "Wrong <b>",
      advice: "Correct it",
    } as const;
    board.update([row, { ...row, check: "logs", endpoint: "a.example" }, {
      ...row,
      check: "price",
      result: "ok",
    }, { ...row, check: "client_expiring", result: "warning" }], START_MS);
    await clock.advance(5_000);
    const found = {
      chain: ethereum,
      leg: undefined,
      sinceMs: START_MS,
      explanation: "Wrong <b>.",
      help: "Correct it.",
    };
    assert.deepEqual(watch.reasons(), [
      { ...found, code: "check_host", isWarning: false },
      { ...found, code: "check_client_expiring", isWarning: true },
    ]);
    const page = watch.sources().page();
    assert.match(page, /EVM-1, a\.example<.*Wrong &lt;b&gt;/);
    assert.doesNotMatch(page, /price/);
    // The check and the messages name one cause.
    board.update([{ ...row, check: "balance", found: "it has 0" }], START_MS);
    const explain = async (): Promise<readonly unknown[]> => {
      await clock.advance(5_000);
      return watch.reasons().map(({ code, explanation }) => [code, explanation]);
    };
    assert.deepEqual(await explain(), [["wallet_empty", "It has 0."]]);
    ledger.messages.record(
      newMessage(1, { target: ethereum, source: hub, state: "held", reason: "unfunded" }),
    );
    const held = "Our account cannot pay for gas (balance unknown); a message waits for it.";
    assert.deepEqual(await explain(), [["wallet_empty", held]]);
  }));

Deno.test("watch: a paused leg shows why beside its messages, and its warning fades when it resumes", () =>
  withServer(async ({ get, watch, clock }) => {
    const fields = { leg: `${ethereum} -> ${hub}` };
    const warning = { atMs: clock.now(), level: "warn", event: "leg_paused", text: "Leg paused" } as const;
    watch.noteWarning(warning, fields);
    watch.noteEvent("leg_paused", fields, String);
    const paused = await (await get("/")).text();
    assert.match(paused, /<td class="text" data-name="waits for"><span><div><span class="bad">leg_paused</);
    assert.match(paused, /<span class="warn">warn<\/span>/);
    await clock.advance(10_000);
    watch.noteEvent("leg_resumed", fields, String);
    await clock.advance(10_000);
    const resumed = await (await get("/")).text();
    assert.doesNotMatch(resumed, /"bad">leg_paused/);
    assert.match(resumed, /<span class="faint">warn<\/span> <span class="faint">over 10 s ago</);
  }));

Deno.test("watch: messages are served page by page, by state and by the names of their chains", () =>
  withServer(async ({ get, ledger, watch }) => {
    for (let number = 1; number <= 5; number++) ledger.messages.record(newMessage(number));
    ledger.messages.record(newMessage(6, { state: "held", reason: "poison" }));
    const read = async (query: string): Promise<readonly [readonly string[], number | undefined]> => {
      const { messages, next } = await (await get(`/messages.json?${query}`)).json();
      return [messages.map(({ commitment }: { readonly commitment: string }) => commitment), next];
    };
    const [first, next] = await read("limit=4");
    assert.deepEqual(first, [6, 5, 4, 3].map(hashOf));
    assert.deepEqual(await read(`limit=4&before=${next}`), [[2, 1].map(hashOf), undefined]);
    assert.deepEqual(await read("state=held&source=EVM-1&dest=EVM-56"), await read("state=held"));
    assert.deepEqual(await read("state=held"), [[hashOf(6)], undefined]);
    assert.deepEqual(await read("source=EVM-3"), [[], undefined]);
    for (const wrong of ["state=gone_away", "limit=0", "limit=1001", "before=x", "secret=1"]) {
      const answer = await get(`/messages.json?${wrong}`);
      assert.deepEqual([answer.status, (await answer.text()).includes(wrong.split("=")[0] ?? "")], [
        400,
        true,
      ]);
    }
    watch.close();
    assert.match(await (await get("/messages.json")).text(), /No database is open/);
  }));

Deno.test("watch: balances are read by a worker, and a node that fails is no fault of it", () =>
  withServer(async ({ watch, ledger, clock }) => {
    const log = new RecordedLog();
    const connections = watch.observe(connectionsOf(clock, {
      fetchBalance: () => {
        const where = { chain: ethereum, endpointHost: "a.example", method: "eth_getBalance" };
        return Promise.reject(new RpcFault("timeout", where));
      },
    }));
    watch.open(ledger, connections);
    const stop = new AbortController();
    const balances = watch.workers(log).find(({ name }) => name === "balances");
    const running = balances?.run(stop.signal).catch(() => {});
    await clock.advance(0);
    assert.deepEqual(log.events("debug"), ["read_failed.balance"]);
    stop.abort();
    await running;
  }));

Deno.test("watch: balances are read at the start of every session and every five minutes, empty ones every minute", () =>
  withServer(async ({ watch, ledger, clock }) => {
    let balance = 1n;
    const reads: number[] = [];
    const fetchBalance = (): Promise<bigint> => {
      reads.push(clock.now() - START_MS);
      return Promise.resolve(balance);
    };
    const session = async (minutes: number): Promise<void> => {
      watch.open(ledger, watch.observe(connectionsOf(clock, { fetchBalance })));
      const stop = new AbortController();
      const worker = watch.workers(new RecordedLog()).find(({ name }) => name === "balances");
      const running = worker?.run(stop.signal).catch(() => {});
      for (let minute = 0; minute < minutes; minute++) await clock.advance(MINUTE_MS);
      stop.abort();
      await running;
    };
    await session(6);
    balance = 0n;
    await session(2);
    assert.deepEqual(reads.map((atMs) => atMs / MINUTE_MS), [0, 5, 6, 7, 8]);
  }));

Deno.test("watch: a light client that was old at the start has its age, by the word of the chain that holds it", () =>
  withServer(async ({ watch, ledger, clock }) => {
    const connections = connectionsOf(clock);
    const storedSec = BigInt(START_MS / 1_000 - 7 * 3_600);
    const asked: bigint[] = [];
    let height = 90n;
    const reads = withMethods(connections.hub.reads, {
      fetchView: () => Promise.resolve({ height, nowSec: 0n, challengePeriodSec: 0n, isFrozen: false }),
      fetchUpdateTime: (at: { readonly height: bigint }) => {
        asked.push(at.height);
        return Promise.resolve(storedSec);
      },
    });
    const observed = watch.observe({ ...connections, hub: { ...connections.hub, reads } });
    watch.open(ledger, observed);
    const stop = new AbortController();
    const see = async (): Promise<unknown> => {
      await observed.hub.reads.fetchView(observed.chains[0]?.chain.id ?? assert.fail(), stop.signal);
      await clock.advance(MINUTE_MS);
      return watch.status().lightClients.map(({ roseAtMs }) => (clock.now() - roseAtMs) / MINUTE_MS);
    };
    const worker = watch.workers(new RecordedLog()).find(({ name }) => name === "balances");
    const running = worker?.run(stop.signal).catch(() => {});
    assert.deepEqual(await see(), [7 * 60 + 1]);
    // Named although no message waits for it.
    const named = (): readonly unknown[] =>
      watch.reasons().map(({ code, leg, isWarning }) => [code, leg, isWarning]);
    assert.deepEqual(named(), [["light_client_stalled", `${ethereum} -> ${hub}`, true]]);
    assert.deepEqual(await see(), [7 * 60 + 2]);
    height++; // seen to rise: nothing is asked
    assert.deepEqual(await see(), [1]);
    assert.deepEqual(named(), []);
    assert.deepEqual(asked, [90n]);
    stop.abort();
    await running;
  }));
