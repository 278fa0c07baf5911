import assert from "node:assert/strict";
import { keyAccount } from "../../../../src/core/chains/evm/account.ts";
import { RemoteAccount } from "../../../../src/core/chains/evm/remote_account.ts";
import type { PriceFields, TransactionToSign } from "../../../../src/core/chains/evm/signed_transaction.ts";
import { RemoteSigner, Secret } from "../../../../src/core/config/redact.ts";
import { withdrawMessage } from "../../../../src/core/ismp/signed_messages.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import type { ObservedRequest } from "../../../../src/core/rpc/observed_endpoint.ts";
import { DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { DevnetWeb3Signer, type Misbehaviour } from "../../../../devnet/evm/web3signer.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { never } from "./chain_fixture.ts";

const local = keyAccount(new Secret(DEVNET_KEYS.relayer));
const SECRETS = /opensesame|operator|k3ypath/;

interface SceneOptions {
  readonly chainId?: number;
  readonly keys?: readonly (keyof typeof DEVNET_KEYS)[];
  readonly url?: string;
  /** Wraps the way to the signer. */
  readonly wrap?: (send: Fetch) => Fetch;
}

/** A remote account with a Web3Signer that is reached without a network. */
interface Scene {
  readonly account: RemoteAccount;
  readonly clock: FakeClock;
  readonly log: RecordedLog;
  readonly observed: readonly ObservedRequest[];
  readonly signer: DevnetWeb3Signer;
  readonly outcomes: () => readonly ObservedRequest["calls"][number][];
}

function scene({ chainId = 31337, keys = ["user", "relayer"], url, wrap }: SceneOptions = {}): Scene {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const observed: ObservedRequest[] = [];
  const signer = new DevnetWeb3Signer({ chainId, keys: keys.map((key) => DEVNET_KEYS[key]) });
  const send: Fetch = (to, init) => signer.handle(new Request(to, init));
  const account = new RemoteAccount({
    fetch: wrap?.(send) ?? send,
    clock,
    randomness: fixedRandomness(0),
    log,
    observer: {
      noteAsked: () => () => {},
      noteRequest: (request) => void observed.push(request),
    },
  }, {
    chain: evmStateMachine(31337),
    signer: new RemoteSigner(url ?? "http://operator:opensesame@localhost:9000", local.address),
  });
  return { account, clock, log, observed, signer, outcomes: () => observed.flatMap(({ calls }) => calls) };
}

const prices: readonly PriceFields[] = [
  { type: "eip1559", maxFeePerGas: 30n, maxPriorityFeePerGas: 0n },
  { type: "legacy", gasPrice: 30n },
];

const call = {
  chainId: 31337,
  nonce: 0,
  to: "0x627306090abab3a6e1400e9345bc60c78a8bef57",
  data: `0x${"ab".repeat(90_000)}`,
  gas: 2_000_000n,
  value: 0n,
} as const;
const transaction: TransactionToSign = {
  ...call,
  type: "eip1559",
  maxFeePerGas: 30n,
  maxPriorityFeePerGas: 2n,
};

const message = withdrawMessage({ nonce: 3n, destChain: evmStateMachine(56) });

/** The fault of a transaction that is not signed. Nothing secret may be in it or in the log. */
async function refusal({ account, clock, log }: Scene): Promise<RpcFault> {
  try {
    await clock.run(account.signTransaction(transaction, never));
  } catch (error) {
    assert.ok(error instanceof RpcFault);
    assert.doesNotMatch(`${error.message} ${JSON.stringify(log.lines)}`, SECRETS);
    return error;
  }
  assert.fail("it was signed");
}

for (const price of prices) {
  Deno.test(`remote account: a transaction is signed as by the key itself (${price.type})`, async () => {
    const { account, clock, outcomes, observed, log } = scene();
    for (
      const wanted of [{ ...call, ...price }, { ...call, ...price, data: "0x" as const, nonce: 9 }]
    ) {
      assert.deepEqual(
        await clock.run(account.signTransaction(wanted, never)),
        await local.signTransaction(wanted, never),
      );
    }
    assert.deepEqual(outcomes(), Array(2).fill({ method: "eth_signTransaction", outcome: "ok" }));
    const [{ chain, endpointHost, role } = {}] = observed;
    assert.deepEqual([chain, endpointHost, role], ["EVM-31337", "localhost:9000", "signer"]);
    assert.deepEqual(log.lines, []);
  });
}

Deno.test("remote account: a message for the hub is signed without a prefix, by the key of the address", async () => {
  const { account, clock, signer } = scene();
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(
      await clock.run(account.signMessage(message, never)),
      await local.signMessage(message, never),
    );
  }
  // The public key is looked up once.
  assert.deepEqual(signer.requests, ["/api/v1/eth1/publicKeys", "/api/v1/eth1/sign", "/api/v1/eth1/sign"]);
});

Deno.test("remote account: the URL may have a path, and its user and password are sent as a header only", async () => {
  const urls: string[] = [];
  const headers: (string | null)[] = [];
  const wrap = (send: Fetch): Fetch => (url, init) => {
    urls.push(url);
    headers.push(new Headers(init.headers).get("authorization"));
    return send(url.replace("/k3ypath", ""), init);
  };
  const { account, clock } = scene({ wrap, url: "http://operator:opensesame@localhost:9000/k3ypath/" });
  await clock.run(account.signMessage(message, never));
  await clock.run(account.signTransaction(transaction, never));
  assert.deepEqual(urls.map((url) => new URL(url).pathname.replace(/0x.*/, "KEY")), [
    "/k3ypath/api/v1/eth1/publicKeys",
    "/k3ypath/api/v1/eth1/sign/KEY",
    "/k3ypath/",
  ]);
  assert.ok(urls.every((url) => !/opensesame/.test(url)));
  assert.deepEqual(new Set(headers), new Set([`Basic ${btoa("operator:opensesame")}`]));
});

const lies: readonly (readonly [string, Misbehaviour, string, RegExp])[] = [
  ["another nonce", alter({ nonce: 1 }), "nonce", /nonce is 1 instead of 0; find out why/],
  ["another recipient", alter({ to: `0x${"99".repeat(20)}` }), "to", /to is 0x9999.* instead of 0x6273/],
  ["a value", alter({ value: 1n }), "value", /value is 1 instead of 0/],
  ["other data", alter({ data: "0x" }), "data", /data has other bytes/],
  ["more gas", alter({ gas: 2_000_001n }), "gas", /gas is 2000001 instead of 2000000/],
  [
    "another chain",
    alter({ chainId: 1 }),
    "chainId",
    /chainId is 1 instead of 31337; start a Web3Signer with --chain-id=31337/,
  ],
  ["another key", { kind: "other_key" }, "sender", /sender is 0x.* instead of 0x7099/],
  ["the larger s", { kind: "high_s" }, "s", /s is in the upper half/],
  ["garbage", { kind: "answers", result: "0xdeadbeef" }, "result", /result is no signed transaction/],
];

function alter(change: Record<string, unknown>): Misbehaviour {
  return { kind: "alters", change: (asked) => ({ ...asked, ...change }) };
}

for (const [name, misbehaviour, field, expected] of lies) {
  Deno.test(`remote account: an answer with ${name} is no signature, and an error that names host and field`, async () => {
    const now = scene();
    now.signer.misbehaviour = misbehaviour;
    const fault = await refusal(now);
    assert.deepEqual([fault.code, fault.reaction, fault.where], ["wrong_signature", "retry", {
      chain: "EVM-31337",
      endpointHost: "localhost:9000",
      method: "eth_signTransaction",
    }]);
    assert.match(fault.detail ?? "", expected);
    // It is not asked again: it would answer the same.
    assert.deepEqual(now.outcomes(), [{ method: "eth_signTransaction", outcome: "wrong_signature" }]);
    const [line, ...others] = now.log.lines;
    assert.deepEqual([line?.level, line?.event, line?.fields.field, line?.fields.endpoint, others], [
      "error",
      "signer_answer_wrong",
      field,
      "localhost:9000",
      [],
    ]);
  });
}

Deno.test("remote account: a signer that was started for another chain is told apart, and what to do", async () => {
  const fault = await refusal(scene({ chainId: 1 }));
  assert.match(
    fault.detail ?? "",
    /^chainId is 1 instead of 31337; start a Web3Signer with --chain-id=31337/,
  );
});

for (
  const misbehaviour of [{ kind: "other_key" }, { kind: "high_s" }, {
    kind: "answers",
    result: "0x00",
  }] as const
) {
  Deno.test(`remote account: a message signed wrongly is refused (${misbehaviour.kind})`, async () => {
    const { account, clock, signer, log } = scene();
    signer.misbehaviour = misbehaviour;
    await assert.rejects(clock.run(account.signMessage(message, never)), (fault) => {
      assert.ok(fault instanceof RpcFault);
      assert.deepEqual([fault.code, fault.where.method], ["wrong_signature", "eth1/sign"]);
      return true;
    });
    assert.deepEqual(log.events("error"), ["signer_answer_wrong"]);
  });
}

const failures: readonly (readonly [string, SceneOptions, Misbehaviour | undefined, number, RegExp])[] = [
  [
    "HTTP 500",
    {},
    { kind: "status", status: 500 },
    3,
    /^server_error: HTTP 500; check the log of Web3Signer/,
  ],
  [
    "HTTP 401",
    {},
    { kind: "status", status: 401 },
    1,
    /^unauthorized: HTTP 401; correct user name and password/,
  ],
  [
    "HTTP 404",
    {},
    { kind: "status", status: 404 },
    1,
    /^unauthorized: HTTP 404; start Web3Signer with the command eth1/,
  ],
  [
    "a host name that it does not allow",
    { url: "http://signer.example.org" },
    undefined,
    1,
    /HTTP 403; start Web3Signer with .*--http-host-allowlist/,
  ],
  ["no answer in time", {}, { kind: "hangs" }, 1, /^timeout: no answer within 5000 ms; check the log/],
  [
    "an internal error",
    {},
    { kind: "refuses", code: -32603, message: "Internal error" },
    3,
    /^server_error: Internal error;/,
  ],
  [
    "invalid parameters",
    {},
    { kind: "refuses", code: -32602, message: "Invalid params" },
    1,
    /^refused: Invalid params;/,
  ],
  ["no text", {}, { kind: "answers", result: { raw: "0x" } }, 3, /^malformed: an answer of another form;/],
  [
    "no key of the account",
    { keys: ["user"] },
    undefined,
    1,
    /^not_found: No unlocked account matches the Sender; load the key of 0x7099.* or correct `signer_address`/,
  ],
  [
    "no connection",
    {
      wrap: () => () =>
        Promise.reject(new TypeError("connection refused (http://operator:opensesame@localhost)")),
    },
    undefined,
    3,
    /^unreachable: connection refused; check that Web3Signer runs/,
  ],
];

for (const [name, options, misbehaviour, attempts, expected] of failures) {
  Deno.test(`remote account: without a signature (${name}) the fault says what to do, and is worth another attempt`, async () => {
    const now = scene(options);
    now.signer.misbehaviour = misbehaviour;
    const fault = await refusal(now);
    assert.deepEqual([fault.code, fault.reaction, fault.where.method], [
      "signer_unavailable",
      "retry",
      "eth_signTransaction",
    ]);
    assert.match(fault.detail ?? "", expected);
    assert.equal(now.observed.length, attempts);
    assert.deepEqual(now.log.lines.map(({ level, event }) => [level, event]), [[
      "warn",
      "signer_unavailable",
    ]]);
  });
}

Deno.test("remote account: a passing fault is tried again within the same request", async () => {
  let failuresLeft = 2;
  const { account, clock, log, outcomes } = scene({
    wrap: (send) => (url, init) =>
      failuresLeft-- > 0 ? Promise.reject(new TypeError("connection reset")) : send(url, init),
  });
  assert.deepEqual(
    await clock.run(account.signTransaction(transaction, never)),
    await local.signTransaction(transaction, never),
  );
  assert.deepEqual(outcomes().map(({ outcome }) => outcome), ["unreachable", "unreachable", "ok"]);
  assert.deepEqual(log.lines, []);
});

Deno.test("remote account: its recovery is told once", async () => {
  const { account, clock, log, signer } = scene();
  signer.misbehaviour = { kind: "status", status: 503 };
  await clock.run(account.signTransaction(transaction, never)).catch(() => undefined);
  signer.misbehaviour = undefined;
  for (let round = 0; round < 2; round++) await clock.run(account.signTransaction(transaction, never));
  assert.deepEqual(log.lines.map(({ event }) => event), ["signer_unavailable", "signer_recovered"]);
});

Deno.test("remote account: a key that is loaded later is found", async () => {
  const missing = scene({ keys: ["user"] });
  await assert.rejects(missing.clock.run(missing.account.signMessage(message, never)), /none of its 1 keys/);
  const late = scene({
    wrap: (send) => {
      let isLoaded = false;
      return async (url, init) => {
        if (isLoaded || !url.endsWith("publicKeys")) return await send(url, init);
        isLoaded = true;
        return Response.json([]);
      };
    },
  });
  await assert.rejects(late.clock.run(late.account.signMessage(message, never)), /none of its 0 keys/);
  assert.deepEqual(
    await late.clock.run(late.account.signMessage(message, never)),
    await local.signMessage(message, never),
  );
});

Deno.test("remote account: a stop ends the request, and is no fault of the signer", async () => {
  const { account, signer, observed, log } = scene();
  signer.misbehaviour = { kind: "hangs" };
  const stop = new AbortController();
  const signing = account.signTransaction(transaction, stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(signing, /stopped/);
  assert.deepEqual([observed, log.lines], [[], []]);
});
