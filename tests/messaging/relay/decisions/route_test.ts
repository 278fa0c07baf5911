import assert from "node:assert/strict";
import { fromHex, type Hex } from "../../../../src/core/encoding/bytes.ts";
import type { PostRequest } from "../../../../src/core/ismp/message.ts";
import { getMessage, getResponseMessage, postMessage } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import {
  isTimedOut,
  type Route,
  route,
  type RouteInput,
} from "../../../../src/messaging/relay/decisions/route.ts";

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

const cases: readonly [string, Parameters<typeof route>[0], RouteInput, Route][] = [
  ["a user request to a chain", postMessage(request()), facts(), { kind: "deliver" }],
  ["a request of another leg", postMessage(request({ dest: one })), facts(), { kind: "ignore" }],
  [
    "a request whose source is not configured",
    postMessage(request({ source: three })),
    facts(),
    { kind: "hold", reason: "no_fee_source" },
  ],
  [
    "a timed out request whose source is not configured",
    postMessage(request({ source: three, timeoutTimestampSec: 5n })),
    facts(),
    { kind: "timedOut" },
  ],
  [
    "a hub-originated request without a filter",
    postMessage(request({ source: hub })),
    facts(),
    { kind: "reject", reason: "hub_originated" },
  ],
  [
    "a hub-originated request that the filter lists",
    postMessage(request({ source: hub })),
    facts({ moduleFilter: only(sender) }),
    { kind: "deliver" },
  ],
  [
    "a request that the filter does not list",
    postMessage(request()),
    facts({ moduleFilter: only("0x01") }),
    { kind: "reject", reason: "module_filter" },
  ],
  [
    "a listed request of 8 bytes",
    postMessage(request({ from: fromHex("0x0102030405060708") })),
    facts({ moduleFilter: only("0x0102030405060708") }),
    { kind: "deliver" },
  ],
  ["a timeout that is reached exactly", postMessage(request({ timeoutTimestampSec: 1_000n })), facts(), {
    kind: "timedOut",
  }],
  ["a timeout that passed by a second", postMessage(request({ timeoutTimestampSec: 999n })), facts(), {
    kind: "timedOut",
  }],
  ["a timeout that is too close", postMessage(request({ timeoutTimestampSec: 1_059n })), facts(), {
    kind: "hold",
    reason: "too_close_to_timeout",
  }],
  ["a timeout that leaves a minute", postMessage(request({ timeoutTimestampSec: 1_060n })), facts(), {
    kind: "deliver",
  }],
  [
    "a hub-originated request that the hub rewards",
    postMessage(request({ source: hub })),
    facts({ listedModules: only(sender) }),
    { kind: "deliver" },
  ],
  [
    "a payment of ours that the filter does not list",
    postMessage(request({ source: hub })),
    facts({ moduleFilter: only("0x01"), isOwnPayment: () => true }),
    { kind: "deliver" },
  ],
  [
    "a hub-originated request before the hub's list was read",
    postMessage(request({ source: hub })),
    facts({ listedModules: undefined }),
    { kind: "hold", reason: "waiting_for_update" },
  ],
  [
    "a get request whose chain is configured, on its way to the hub",
    getMessage({ ...get, source: one, dest: two }),
    facts({ source: one, target: hub }),
    { kind: "deliver" },
  ],
  [
    "a get request to an unconfigured chain",
    getMessage({ ...get, source: one, dest: three }),
    facts({ source: one, target: hub }),
    { kind: "hold", reason: "unconfigured_chain" },
  ],
  [
    "a timed out get request",
    getMessage({ ...get, source: one, dest: two, timeoutTimestampSec: 5n }),
    facts({ source: one, target: hub }),
    { kind: "timedOut" },
  ],
  [
    "a response to a chain that takes none",
    getResponseMessage({ get: { ...get, source: two }, values: [] }),
    facts({ takesResponses: false }),
    { kind: "reject", reason: "bad_destination" },
  ],
  ["a get request on the way out", getMessage(get), facts(), { kind: "ignore" }],
  [
    "a request on its way to the hub, for any destination",
    postMessage(request({ dest: three })),
    facts({ source: one, target: hub }),
    { kind: "deliver" },
  ],
  [
    "a request to the hub itself",
    postMessage(request({ dest: hub })),
    facts({ source: one, target: hub }),
    { kind: "deliver" },
  ],
  [
    "a request read on a chain that is not its source",
    postMessage(request({ source: two })),
    facts({ source: one, target: hub }),
    { kind: "reject", reason: "wrong_source" },
  ],
  [
    "a filtered request on its way to the hub",
    postMessage(request()),
    facts({ source: one, target: hub, moduleFilter: only("0x01") }),
    { kind: "reject", reason: "module_filter" },
  ],
  [
    "a response read on its way to the hub",
    getResponseMessage({ get, values: [] }),
    facts({ source: one, target: hub }),
    { kind: "ignore" },
  ],
];

for (const [name, message, given, expected] of cases) {
  Deno.test(`route: ${name} gives ${JSON.stringify(expected)} (F11) (F21)`, () => {
    assert.deepEqual(route(message, given), expected);
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
