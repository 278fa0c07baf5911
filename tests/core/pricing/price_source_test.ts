import assert from "node:assert/strict";
import { Secret } from "../../../src/core/config/redact.ts";
import { parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { NativePrice, Quotation } from "../../../src/core/evm/native_price.ts";
import { ONE_DOLLAR_27, quotePrice } from "../../../src/core/evm/native_price.ts";
import { etherscanQuote } from "../../../src/core/pricing/etherscan.ts";
import { oneDollar, type PriceQuote } from "../../../src/core/pricing/price_quote.ts";
import { createPriceSource, listPriceQuotes, routerQuote } from "../../../src/core/pricing/price_source.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import type { Fetch } from "../../../src/core/rpc/http_exchange.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const signal = new AbortController().signal;
const KEY = "SECRETKEYSECRETKEYSECRETKEYSECRETK";
const dollars = (whole: bigint): bigint => whole * ONE_DOLLAR_27;

/** A source that answers as told, one after the other; the last answer repeats. */
function scripted(origin: PriceQuote["origin"], ...answers: Quotation[]): PriceQuote & { asked: number } {
  const quote = {
    origin,
    asked: 0,
    ask: (): Promise<Quotation> => {
      const answer = answers[Math.min(quote.asked, answers.length - 1)];
      quote.asked++;
      return answer === undefined ? Promise.reject(new Error("nothing scripted")) : Promise.resolve(answer);
    },
  };
  return quote;
}

const throttled: Quotation = { kind: "failed", code: "throttled" };

function price27Of(price: NativePrice): bigint | undefined {
  return price.kind === "known" ? price.price27 : undefined;
}

/** A source of prices that asks this quote, and a question to it. */
function sourceOf(quote: PriceQuote, last?: Parameters<typeof createPriceSource>[1]["last"]): {
  readonly clock: FakeClock;
  fetch(): Promise<NativePrice>;
} {
  const clock = new FakeClock();
  const source = createPriceSource({ clock }, { quotes: [quote], ...last && { last } });
  return { clock, fetch: () => source.fetchPrice(signal) };
}

Deno.test("price source: an answer serves for a minute, then the sources are asked again", async () => {
  const quote = scripted("etherscan", quotePrice(dollars(3_000n)), quotePrice(dollars(3_100n)));
  const { clock, fetch } = sourceOf(quote);
  assert.equal(price27Of(await fetch()), dollars(3_000n));
  clock.jump(59_999);
  assert.equal(price27Of(await fetch()), dollars(3_000n));
  assert.equal(quote.asked, 1);
  clock.jump(1);
  assert.equal(price27Of(await fetch()), dollars(3_100n));
});

Deno.test("price source: a clock that was set back asks again", async () => {
  const quote = scripted("router", quotePrice(dollars(2n)));
  const { clock, fetch } = sourceOf(quote);
  await fetch();
  clock.jump(-3_600_000);
  await fetch();
  assert.equal(quote.asked, 2);
});

Deno.test("price source: after a failure the last good value serves up to six hours, then it is unknown (F22)", async () => {
  const quote = scripted("router", quotePrice(dollars(600n)), throttled);
  const { clock, fetch } = sourceOf(quote);
  await fetch();
  clock.jump(6 * 3_600_000);
  const remembered = await fetch();
  assert.equal(remembered.kind === "known" && remembered.isRemembered, true);
  assert.equal(price27Of(remembered), dollars(600n));
  clock.jump(10_001);
  const unknown = await fetch();
  assert.deepEqual(unknown, { kind: "unknown", failures: [{ origin: "router", code: "throttled" }] });
  assert.equal(quote.asked, 3);
});

Deno.test("price source: sources that failed are left alone for ten seconds", async () => {
  const quote = scripted("router", throttled);
  const { clock, fetch } = sourceOf(quote);
  await fetch();
  clock.jump(9_999);
  await fetch();
  assert.equal(quote.asked, 1);
  clock.jump(1);
  await fetch();
  assert.equal(quote.asked, 2);
});

Deno.test("price source: the second source is asked when the first is silent for ten seconds", async () => {
  const clock = new FakeClock();
  const silent: PriceQuote = { origin: "etherscan", ask: () => new Promise(() => {}) };
  const source = createPriceSource({ clock }, {
    quotes: [silent, scripted("router", quotePrice(dollars(5n)))],
  });
  const startMs = clock.now();
  const price = await clock.run(source.fetchPrice(signal));
  assert.equal(clock.now() - startMs, 10_000);
  assert.equal(price.kind === "known" && price.origin, "router");
  assert.deepEqual(price.failures, [{ origin: "etherscan", code: "timeout" }]);
});

Deno.test("price source: a price of an earlier run is remembered", async () => {
  const clock = new FakeClock();
  const last = { price27: dollars(7n), origin: "router", readAtMs: clock.now() - 3_600_000 } as const;
  const source = createPriceSource({ clock }, { quotes: [scripted("router", throttled)], last });
  assert.equal(price27Of(await source.fetchPrice(signal)), dollars(7n));
});

Deno.test("price source: an abort ends the question with the signal's reason", async () => {
  const abort = new AbortController();
  const silent: PriceQuote = { origin: "router", ask: () => new Promise(() => {}) };
  const source = createPriceSource({ clock: new FakeClock() }, { quotes: [silent] });
  const price = source.fetchPrice(abort.signal);
  abort.abort(new Error("shutdown"));
  await assert.rejects(price, /shutdown/);
});

const priceBody = JSON.stringify({ status: "1", message: "OK", result: { ethusd: "3000" } });

function ask(fetch: Fetch): Promise<Quotation> {
  return etherscanQuote(fetch, { question: { kind: "ether" }, apiKey: new Secret(KEY) }).ask(signal);
}

Deno.test("etherscan quote: asks with the key, does not follow redirects, reads the price", async () => {
  const seen: { url: string; redirect: string | undefined }[] = [];
  const quotation = await ask((url, init) => {
    seen.push({ url, redirect: init.redirect });
    return Promise.resolve(new Response(priceBody));
  });
  assert.deepEqual(quotation, { kind: "price", price27: dollars(3_000n) });
  assert.equal(seen.length, 1);
  assert.ok(seen[0]?.url.endsWith(`apikey=${KEY}`));
  assert.equal(seen[0]?.redirect, "manual");
});

for (
  const [status, code] of [[429, "throttled"], [403, "bad_key"], [301, "refused"], [500, "refused"]] as const
) {
  Deno.test(`etherscan quote: HTTP ${status} is ${code} even with a price in the body`, async () => {
    assert.deepEqual(await ask(() => Promise.resolve(new Response(priceBody, { status }))), {
      kind: "failed",
      code,
    });
  });
}

Deno.test("etherscan quote: the key is in no failure, whatever the runtime or the server say", async () => {
  const answers: Fetch[] = [
    (url) => Promise.reject(new TypeError(`error sending request for url (${url})`)),
    (url) => Promise.resolve(new Response(`cannot serve ${url}`)),
    (url) => Promise.resolve(new Response(JSON.stringify({ status: "0", result: `Invalid API Key ${url}` }))),
    (url) => Promise.resolve(new Response(url, { status: 500 })),
  ];
  for (const fetch of answers) {
    const quotation = await ask(fetch);
    assert.equal(quotation.kind, "failed");
    assert.ok(!JSON.stringify(quotation).includes(KEY.slice(0, 8)));
    assert.ok(!Deno.inspect(quotation).includes(KEY.slice(0, 8)));
  }
});

Deno.test("etherscan quote: an endless answer is not read to its end", async () => {
  let chunks = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      chunks++;
      controller.enqueue(new Uint8Array(16_384));
    },
  });
  assert.deepEqual(await ask(() => Promise.resolve(new Response(endless))), {
    kind: "failed",
    code: "malformed",
  });
  assert.ok(chunks < 10);
});

const router = (answer: () => Promise<bigint | undefined>): PriceQuote =>
  routerQuote({ fetchRouterPrice: answer });

Deno.test("router quote: the router's price, none without a pool, and none that would make gas free", async () => {
  assert.deepEqual(await router(() => Promise.resolve(dollars(600n))).ask(signal), {
    kind: "price",
    price27: dollars(600n),
  });
  assert.deepEqual(await router(() => Promise.resolve(undefined)).ask(signal), {
    kind: "failed",
    code: "no_pool",
  });
  assert.deepEqual(await router(() => Promise.resolve(0n)).ask(signal), {
    kind: "failed",
    code: "not_positive",
  });
});

Deno.test("router quote: a node that does not answer is no defect (F22)", async () => {
  const where = { chain: "EVM-1", endpointHost: "rpc.example", method: "eth_call" };
  const quote = router(() => Promise.reject(new RpcFault("timeout", where)));
  assert.deepEqual(await quote.ask(signal), { kind: "failed", code: "unreachable" });
});

Deno.test("router quote: a defect is not taken for a missing price", async () => {
  await assert.rejects(router(() => Promise.reject(new Error("defect"))).ask(signal), /defect/);
});

const mainHub = parseStateMachine("POLKADOT-3367");
const testHub = parseStateMachine("KUSAMA-4009");
for (
  const [chain, hub, hasKey, origins] of [
    ["EVM-1", mainHub, true, ["etherscan", "router"]],
    ["EVM-1", mainHub, false, ["router"]],
    ["EVM-100", mainHub, true, ["fixed"]],
    ["EVM-10200", testHub, true, ["fixed"]],
    ["EVM-97", testHub, true, ["etherscan", "fixed"]],
    ["EVM-97", testHub, false, ["fixed"]],
    ["EVM-1329", mainHub, true, ["router"]],
  ] as const
) {
  Deno.test(`price quotes: ${chain} under ${hub} ${hasKey ? "with" : "without"} a key asks ${origins}`, () => {
    const stateMachine = parseStateMachine(chain);
    const quotes = listPriceQuotes({
      config: { stateMachine, etherscanApiKey: hasKey ? new Secret(KEY) : undefined },
      router: { fetchRouterPrice: () => Promise.resolve(undefined) },
      hub,
      fetch: () => Promise.reject(new Error("nothing is asked here")),
    });
    assert.deepEqual(quotes.map(({ origin }) => origin), origins);
  });
}

Deno.test("price quotes: the fixed price is one dollar", async () => {
  assert.deepEqual(await oneDollar.ask(signal), { kind: "price", price27: ONE_DOLLAR_27 });
});
