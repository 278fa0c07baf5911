import assert from "node:assert/strict";
import { fromHex, type Hex } from "../../../../src/core/encoding/bytes.ts";
import type { Message, PostRequest } from "../../../../src/core/ismp/message.ts";
import { getMessage, getResponseMessage, postMessage } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { isTimedOut, route, type RouteInput } from "../../../../src/messaging/relay/decisions/route.ts";

const hub = parseStateMachine("KUSAMA-4009");
const one = parseStateMachine("EVM-1");
const two = parseStateMachine("EVM-2");
const three = parseStateMachine("EVM-3");
const sender = "0x00000000000000000000000000000000000000aa";

function request(changes: Partial<PostRequest> = {}): PostRequest {
  return {
    source: one,
    dest: two,
    nonce: 1n,
    from: fromHex(sender),
    to: fromHex("0x00000000000000000000000000000000000000bb"),
    timeoutTimestampSec: 0n,
    body: new Uint8Array([1]),
    ...changes,
  };
}

function facts(changes: Partial<RouteInput> = {}): RouteInput {
  return {
    hub,
    source: hub,
    target: two,
    moduleFilter: undefined,
    configured: new Set([hub, one, two]),
    listedModules: new Set(),
    takesResponses: true,
    targetNowSec: 1_000n,
    ...changes,
  };
}

const only = (...modules: Hex[]): ReadonlySet<Hex> => new Set(modules);
const get = { ...request(), keys: [], height: 5n, context: new Uint8Array() };

const post = (changes: Partial<PostRequest> = {}): Message => postMessage(request(changes));
/** On its way to the hub. */
const inward = { source: one, target: hub };

/** A message, what becomes of it (kind and reason), and what differs from the usual facts. */
const cases: readonly [string, Message, string, Partial<RouteInput>?][] = [
  ["a user request to a chain", post(), "deliver"],
  ["a request of another leg", post({ dest: one }), "ignore"],
  ["a request whose source is not configured", post({ source: three }), "hold no_fee_source"],
  [
    "a timed out request whose source is not configured",
    post({ source: three, timeoutTimestampSec: 5n }),
    "timedOut",
  ],
  ["a hub-originated request without a filter", post({ source: hub }), "reject hub_originated"],
  ["a hub-originated request that the filter lists", post({ source: hub }), "deliver", {
    moduleFilter: only(sender),
  }],
  ["a request that the filter does not list", post(), "reject module_filter", { moduleFilter: only("0x01") }],
  ["a listed request of 8 bytes", post({ from: fromHex("0x0102030405060708") }), "deliver", {
    moduleFilter: only("0x0102030405060708"),
  }],
  ["a timeout that is reached exactly", post({ timeoutTimestampSec: 1_000n }), "timedOut"],
  ["a timeout that passed by a second", post({ timeoutTimestampSec: 999n }), "timedOut"],
  ["a timeout that is too close", post({ timeoutTimestampSec: 1_059n }), "hold too_close_to_timeout"],
  ["a timeout that leaves a minute", post({ timeoutTimestampSec: 1_060n }), "deliver"],
  ["a hub-originated request that the hub rewards", post({ source: hub }), "deliver", {
    listedModules: only(sender),
  }],
  ["a payment of ours that the filter does not list", post({ source: hub }), "deliver", {
    moduleFilter: only("0x01"),
    isOwnPayment: () => true,
  }],
  [
    "a hub-originated request before the hub's list was read",
    post({ source: hub }),
    "hold waiting_for_update",
    { listedModules: undefined },
  ],
  [
    "a get request whose chain is configured, on its way to the hub",
    getMessage({ ...get, source: one, dest: two }),
    "deliver",
    inward,
  ],
  [
    "a get request to an unconfigured chain",
    getMessage({ ...get, source: one, dest: three }),
    "hold unconfigured_chain",
    inward,
  ],
  [
    "a timed out get request",
    getMessage({ ...get, source: one, dest: two, timeoutTimestampSec: 5n }),
    "timedOut",
    inward,
  ],
  [
    "a response to a chain that takes none",
    getResponseMessage({ get: { ...get, source: two }, values: [] }),
    "reject bad_destination",
    { takesResponses: false },
  ],
  ["a get request on the way out", getMessage(get), "ignore"],
  ["a request on its way to the hub, for any destination", post({ dest: three }), "deliver", inward],
  ["a request to the hub itself", post({ dest: hub }), "deliver", inward],
  ["a request read on a chain that is not its source", post({ source: two }), "reject wrong_source", inward],
  ["a filtered request on its way to the hub", post(), "reject module_filter", {
    ...inward,
    moduleFilter: only("0x01"),
  }],
  ["a response read on its way to the hub", getResponseMessage({ get, values: [] }), "ignore", inward],
];

for (const [name, message, expected, changes] of cases) {
  Deno.test(`route: ${name} gives ${expected} (F11) (F21)`, () => {
    assert.equal(Object.values(route(message, facts(changes))).join(" "), expected);
  });
}

Deno.test("route: a get response is routed by the chain that asked, whatever its timeout (F21)", () => {
  const response = { get: { ...get, source: two, dest: one, timeoutTimestampSec: 5n }, values: [] };
  assert.deepEqual(route(getResponseMessage(response), facts()), { kind: "deliver" });
});

Deno.test("isTimedOut: zero never times out, equality does (F21)", () => {
  assert.equal(isTimedOut(0n, 2n ** 63n), false);
  assert.equal(isTimedOut(10n, 9n), false);
  assert.equal(isTimedOut(10n, 10n), true);
});
