/** Accounts whose key a Web3Signer holds: what it signs, what is refused of it, and what the operator is told. */
import assert from "node:assert/strict";
import { keyAccount, readOnlyAccount } from "../../../../src/core/chains/evm/account.ts";
import { checkSigner } from "../../../../src/core/chains/evm/chain_checks.ts";
import { RemoteAccount } from "../../../../src/core/chains/evm/remote_account.ts";
import { CHECK_TIMEOUT_MS } from "../../../../src/core/checks/check_row.ts";
import { RemoteSigner, Secret } from "../../../../src/core/config/redact.ts";
import { signedMessage } from "../../../../src/core/ismp/signed_messages.ts";
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

const chain = evmStateMachine(31337);
const local = keyAccount(new Secret(DEVNET_KEYS.relayer));
const SECRETS = /opensesame|operator|k3ypath/;
const message = signedMessage(new Uint8Array(90_000).fill(0xab));

interface SceneOptions {
  readonly keys?: readonly (keyof typeof DEVNET_KEYS)[];
  readonly url?: string;
  /** Wraps the way to the signer. */
  readonly wrap?: (send: Fetch) => Fetch;
}

/** A remote account with a Web3Signer that is reached without a network. */
class Scene {
  readonly clock = new FakeClock();
  readonly log = new RecordedLog();
  readonly observed: ObservedRequest[] = [];
  readonly signer: DevnetWeb3Signer;
  readonly account: RemoteAccount;

  constructor({ keys = ["user", "relayer"], url, wrap }: SceneOptions = {}) {
    this.signer = new DevnetWeb3Signer({ keys: keys.map((key) => DEVNET_KEYS[key]) });
    const send: Fetch = (to, init) => this.signer.handle(new Request(to, init));
    this.account = new RemoteAccount({
      fetch: wrap?.(send) ?? send,
      clock: this.clock,
      randomness: fixedRandomness(0),
      log: this.log,
      observer: {
        noteRequest: (request) => void this.observed.push(request),
      },
    }, {
      chain,
      signer: new RemoteSigner(url ?? "http://operator:opensesame@localhost:9000", local.address),
    });
  }

  sign(): Promise<Uint8Array> {
    return this.clock.run(this.account.sign(message, never));
  }

  outcomes(): readonly (readonly [string, string])[] {
    return this.observed.flatMap(({ calls }) =>
      calls.map(({ method, outcome }) => [method, outcome ?? ""] as const)
    );
  }

  /** The fault of what is not signed. Nothing secret may be in it or in the log. */
  async refusal(): Promise<RpcFault> {
    try {
      await this.sign();
    } catch (error) {
      assert.ok(error instanceof RpcFault);
      assert.doesNotMatch(`${error.message} ${JSON.stringify(this.log.lines)}`, SECRETS);
      return error;
    }
    assert.fail("it was signed");
  }
}

Deno.test("remote account: bytes are signed as by the key itself, without a prefix, by the key of the address", async () => {
  const now = new Scene();
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await now.sign(), await local.sign(message, never));
  }
  // The public key is looked up once.
  const [keys, sign] = ["/api/v1/eth1/publicKeys", "/api/v1/eth1/sign"];
  assert.deepEqual(now.signer.requests, [keys, sign, sign]);
  assert.deepEqual(now.outcomes(), Array(2).fill(["eth1/sign", "ok"]));
  const [{ chain: of, endpointHost, role } = {}] = now.observed;
  assert.deepEqual([of, endpointHost, role, now.log.lines], [chain, "localhost:9000", "signer", []]);
});

Deno.test("remote account: its key is found among 20,000 others", async () => {
  const others = Array.from({ length: 20_000 }, (_, index) => `0x${index.toString(16).padStart(128, "0")}`);
  const now = new Scene({
    wrap: (send) => async (url, init) => {
      const answer = await send(url, init);
      return url.endsWith("publicKeys") ? Response.json([...others, ...await answer.json()]) : answer;
    },
  });
  // No time passes: such an answer is read in several turns.
  assert.deepEqual(await now.account.sign(message, never), await local.sign(message, never));
});

Deno.test("remote account: the URL may have a path, and its user and password are sent as a header only", async () => {
  const urls: string[] = [];
  const headers: (string | null)[] = [];
  const wrap = (send: Fetch): Fetch => (url, init) => {
    urls.push(url);
    headers.push(new Headers(init.headers).get("authorization"));
    return send(url.replace("/k3ypath", ""), init);
  };
  await new Scene({ wrap, url: "http://operator:opensesame@localhost:9000/k3ypath/" }).sign();
  assert.deepEqual(urls.map((url) => new URL(url).pathname.replace(/0x.*/, "KEY")), [
    "/k3ypath/api/v1/eth1/publicKeys",
    "/k3ypath/api/v1/eth1/sign/KEY",
  ]);
  assert.ok(urls.every((url) => !/opensesame/.test(url)));
  assert.deepEqual(new Set(headers), new Set([`Basic ${btoa("operator:opensesame")}`]));
});

const answers = (result: string): Misbehaviour => ({ kind: "answers", result });
const prefixed = await local.sign(signedMessage(new TextEncoder().encode("with a prefix")), never);

const lies: readonly (readonly [string, Misbehaviour, RegExp])[] = [
  [
    "a signature of another key",
    { kind: "other_key" },
    /the signature is of 0x.* instead of 0x7099.*; find out/,
  ],
  ["a signature of something else", answers(`0x${prefixed.toHex()}`), /the signature is of 0x/],
  ["the larger s", { kind: "high_s" }, /the signature has the larger s/],
  ["zeros", answers(`0x${"00".repeat(65)}`), /none of this curve/],
  ["another v", answers(`0x${prefixed.with(64, 29).toHex()}`), /none of this curve/],
  ["too few bytes", answers("0x00"), /not 65 bytes in hex/],
  ["a text", answers("OK"), /not 65 bytes in hex/],
];

for (const [name, misbehaviour, expected] of lies) {
  Deno.test(`remote account: an answer with ${name} is no signature, and an error that names the host`, async () => {
    const now = new Scene();
    now.signer.misbehaviour = misbehaviour;
    const fault = await now.refusal();
    const where = { chain, endpointHost: "localhost:9000", method: "eth1/sign" };
    assert.deepEqual([fault.code, fault.reaction, fault.where], ["wrong_signature", "retry", where]);
    assert.match(fault.detail ?? "", expected);
    // It is not asked again: it would answer the same.
    assert.deepEqual(now.outcomes(), [["eth1/sign", "wrong_signature"]]);
    assert.deepEqual(now.log.lines.map(({ level, event, fields }) => [level, event, fields.endpoint]), [
      ["error", "signer_answer_wrong", "localhost:9000"],
    ]);
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
  ["HTTP 401", {}, { kind: "status", status: 401 }, 1, /HTTP 401; correct user name and password/],
  ["HTTP 404", {}, { kind: "status", status: 404 }, 1, /HTTP 404; start Web3Signer with the command eth1/],
  [
    "a host name that it does not allow",
    { url: "http://signer.example.org" },
    undefined,
    1,
    /HTTP 403; .*allowlist/,
  ],
  ["no answer in time", {}, { kind: "hangs" }, 1, /^timeout: no answer within 5000 ms; check the log/],
  [
    "no list of keys",
    { wrap: () => () => Promise.resolve(new Response("{}")) },
    undefined,
    3,
    /^malformed: /,
  ],
  [
    "no key of the account",
    { keys: ["user"] },
    undefined,
    1,
    /^not_found: none of its 1 keys.*; load the key of 0x7099/,
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
    const now = new Scene(options);
    now.signer.misbehaviour = misbehaviour;
    const fault = await now.refusal();
    assert.deepEqual([fault.code, fault.reaction], ["signer_unavailable", "retry"]);
    assert.match(fault.detail ?? "", expected);
    assert.equal(now.observed.length, attempts);
    const told = now.log.lines.map(({ level, event }) => [level, event]);
    assert.deepEqual(told, [["warn", "signer_unavailable"]]);
    // The check tells the same, in time.
    const startMs = now.clock.now();
    const row = await now.clock.run(checkSigner(chain, now.account, never));
    assert.deepEqual([row.chain, row.check, row.result], [chain, "signer", "failed"]);
    assert.match(`${row.found.replace(/^.*: eth1\/[a-zK]+: /, "")}; ${row.advice}`, expected);
    assert.ok(now.clock.now() - startMs < CHECK_TIMEOUT_MS);
  });
}

Deno.test("remote account: a passing fault is tried again within the same request", async () => {
  let failuresLeft = 2;
  const now = new Scene({
    wrap: (send) => (url, init) =>
      failuresLeft-- > 0 ? Promise.reject(new TypeError("connection reset")) : send(url, init),
  });
  assert.deepEqual(await now.sign(), await local.sign(message, never));
  assert.deepEqual(now.outcomes().map(([, outcome]) => outcome), ["unreachable", "unreachable", "ok"]);
  assert.deepEqual(now.log.lines, []);
});

Deno.test("remote account: its recovery is told once, and a key that is loaded later is found", async () => {
  let isLoaded = false;
  const now = new Scene({
    wrap: (send) => (url, init) =>
      isLoaded || !url.endsWith("publicKeys") ? send(url, init) : Promise.resolve(Response.json([])),
  });
  assert.match((await now.refusal()).detail ?? "", /none of its 0 keys/);
  isLoaded = true;
  for (let round = 0; round < 2; round++) await now.sign();
  assert.deepEqual(now.log.lines.map(({ event }) => event), ["signer_unavailable", "signer_recovered"]);
});

Deno.test("remote account: a stop ends the request, and is no fault of the signer", async () => {
  const { account, signer, observed, log } = new Scene();
  signer.misbehaviour = { kind: "hangs" };
  const stop = new AbortController();
  const signing = account.sign(message, stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(signing, /stopped/);
  assert.deepEqual([observed, log.lines], [[], []]);
});

Deno.test("check of the signer: who signs is named; a key in this process is not asked, a defect is no result", async () => {
  const foundOf = async (account: Parameters<typeof checkSigner>[1]): Promise<string> =>
    (await checkSigner(chain, account, never)).found;
  assert.equal(await foundOf(readOnlyAccount), "no signer: nothing is sent to this chain");
  assert.equal(await foundOf(local), `${local.address} signs`);
  assert.equal(await foundOf(new Scene().account), `${local.address} signs`);
  const sign = (): Promise<never> => Promise.reject(new TypeError("defect"));
  await assert.rejects(checkSigner(chain, { ...local, remoteHost: "a", sign }, never), /defect/);
});
