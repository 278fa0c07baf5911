import assert from "node:assert/strict";
import { Secret } from "../../src/core/config/redact.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import type { NativePrice } from "../../src/core/evm/native_price.ts";
import type { Fetch } from "../../src/core/rpc/http_exchange.ts";
import { createNativePriceSource } from "../../src/messaging/legs.ts";
import { Fixture, memoryLedger, Relayer } from "./relay/fixture.ts";

const MAIN_HUB = parseStateMachine("POLKADOT-3367");
const ONE_DOLLAR = 10n ** 27n;

interface Case {
  readonly fixture: Fixture;
  readonly relayer: Relayer;
  readonly asked: string[];
  readonly fetchPrice: () => Promise<NativePrice>;
  readonly advance: (ms: number) => Promise<void>;
}

/** The price source of a chain whose explorer answers `body` (with a key), and whose router says 1,900 dollars. */
function prepare(
  facts: { chain?: string; hub?: string; key?: string; body?: () => Response; before?: Case },
): Case {
  const fixture = facts.before?.fixture ?? new Fixture();
  const relayer = new Relayer(fixture, facts.before?.relayer.ledger ?? memoryLedger(fixture));
  relayer.one.routerPrice27 = 1_900n * ONE_DOLLAR;
  const asked: string[] = [];
  const fetch: Fetch = (input) => {
    asked.push(String(input));
    return Promise.resolve(facts.body?.() ?? new Response("{}", { status: 500 }));
  };
  const source = createNativePriceSource({ ...relayer.deps, fetch }, {
    config: {
      stateMachine: parseStateMachine(facts.chain ?? "EVM-1"),
      etherscanApiKey: facts.key === undefined ? undefined : new Secret(facts.key),
    },
    router: relayer.one,
    hub: facts.hub === undefined ? MAIN_HUB : parseStateMachine(facts.hub),
  });
  return {
    fixture,
    relayer,
    asked,
    fetchPrice: () => source.fetchPrice(relayer.signal),
    advance: (ms) => fixture.clock.advance(ms),
  };
}

const etherscan = (): Response => Response.json({ status: "1", message: "OK", result: { ethusd: "2000.5" } });

const seen = (price: NativePrice): unknown[] =>
  price.kind === "known" ? [price.price27, price.origin] : [price.kind];

Deno.test("prices: with a key the explorer is asked, and the router is left alone", async () => {
  const { relayer, asked, fetchPrice } = prepare({ key: "KEY", body: etherscan });
  assert.deepEqual(seen(await fetchPrice()), [20_005n * ONE_DOLLAR / 10n, "etherscan"]);
  assert.equal(asked.length, 1);
  assert.deepEqual(relayer.one.calls, []);
});

Deno.test("prices: without a key the router is asked, and nothing leaves for the explorer", async () => {
  const { asked, fetchPrice } = prepare({ body: etherscan });
  assert.deepEqual(seen(await fetchPrice()), [1_900n * ONE_DOLLAR, "router"]);
  assert.deepEqual(asked, []);
});

Deno.test("prices: when the explorer fails, also politely with status 200, the router answers", async () => {
  for (const body of [undefined, () => Response.json({ status: "0", result: "Invalid API Key" })]) {
    const { fetchPrice } = prepare({ key: "KEY", ...(body === undefined ? {} : { body }) });
    assert.deepEqual(seen(await fetchPrice()), [1_900n * ONE_DOLLAR, "router"]);
  }
});

Deno.test("prices: without an answer the price is unknown, never 0", async () => {
  const { relayer, fetchPrice } = prepare({ key: "KEY" });
  relayer.one.routerPrice27 = undefined;
  assert.deepEqual(seen(await fetchPrice()), ["unknown"]);
});

Deno.test("prices: a restart remembers the last good price; its six hours count from when it was read", async () => {
  const before = prepare({});
  assert.deepEqual(seen(await before.fetchPrice()), [1_900n * ONE_DOLLAR, "router"]);
  const readAtMs = before.fixture.clock.now();
  await before.advance(4 * 3_600_000);
  const after = prepare({ before });
  after.relayer.one.faults.add("fetchRouterPrice", { kind: "throw", code: "unreachable" }, { times: 9 });
  const price = await after.fetchPrice();
  assert.ok(price.kind === "known" && price.isRemembered);
  assert.deepEqual([price.price27, price.readAtMs], [1_900n * ONE_DOLLAR, readAtMs]);
  await after.advance(2 * 3_600_000 + 1);
  assert.deepEqual(seen(await after.fetchPrice()), ["unknown"]);
});

Deno.test("prices: tokens of Gnosis and of hosts of a test hub are one dollar, without a question", async () => {
  for (const facts of [{ chain: "EVM-100", key: "KEY" }, { hub: "KUSAMA-4009" }]) {
    const { relayer, asked, fetchPrice } = prepare(facts);
    assert.deepEqual(seen(await fetchPrice()), [ONE_DOLLAR, "fixed"]);
    assert.deepEqual([asked, relayer.one.calls], [[], []]);
  }
});
