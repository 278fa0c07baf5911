import assert from "node:assert/strict";
import { parseTransaction } from "viem";
import { keyAccount } from "../../../../src/core/chains/evm/account.ts";
import { RemoteAccount } from "../../../../src/core/chains/evm/remote_account.ts";
import { checkSigner } from "../../../../src/core/chains/evm/chain_checks.ts";
import { CHECK_TIMEOUT_MS, type CheckRow } from "../../../../src/core/checks/check_row.ts";
import { RemoteSigner, Secret } from "../../../../src/core/config/redact.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import { DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { DevnetWeb3Signer, type Misbehaviour } from "../../../../devnet/evm/web3signer.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { never } from "./chain_fixture.ts";

const chain = evmStateMachine(31337);
const local = keyAccount(new Secret(DEVNET_KEYS.relayer));

interface Asked {
  readonly misbehaviour?: Misbehaviour;
  readonly chainId?: number;
  readonly keys?: readonly (keyof typeof DEVNET_KEYS)[];
  readonly signsMessages?: boolean;
  readonly wrap?: (send: Fetch) => Fetch;
}

interface Checked {
  readonly row: CheckRow;
  readonly signer: DevnetWeb3Signer;
  readonly tookMs: number;
}

/** Checks a remote account. */
async function check(
  { misbehaviour, chainId = 31337, keys = ["relayer"], signsMessages = true, wrap }: Asked = {},
): Promise<Checked> {
  const clock = new FakeClock();
  const signer = new DevnetWeb3Signer({ chainId, keys: keys.map((key) => DEVNET_KEYS[key]) });
  signer.misbehaviour = misbehaviour;
  const send: Fetch = (url, init) => signer.handle(new Request(url, init));
  const account = new RemoteAccount({
    fetch: wrap?.(send) ?? send,
    clock,
    randomness: fixedRandomness(0),
    log: new RecordedLog(),
  }, { chain, signer: new RemoteSigner("http://localhost:9000", local.address) });
  const startMs = clock.now();
  const row = await clock.run(checkSigner({ chain, chainId: 31337, account, signsMessages }, never));
  return { row, signer, tookMs: clock.now() - startMs };
}

Deno.test("check of the signer: a key in this process signs without being asked", async () => {
  const row = await checkSigner({ chain, chainId: 31337, account: local, signsMessages: true }, never);
  assert.deepEqual(row, { chain, check: "signer", result: "ok", found: `${local.address} signs` });
});

Deno.test("check of the signer: a remote one signs transactions of the chain and messages", async () => {
  const { row, signer } = await check();
  assert.deepEqual([row.result, row.found, row.advice], [
    "ok",
    `${local.address} signs at localhost:9000 for chain 31337, and messages for the hub`,
    undefined,
  ]);
  assert.deepEqual(signer.requests, [
    "eth_accounts",
    "eth_signTransaction",
    "/api/v1/eth1/publicKeys",
    "/api/v1/eth1/sign",
  ]);
});

Deno.test("check of the signer: messages are left out where none are signed", async () => {
  const { row, signer } = await check({ signsMessages: false });
  assert.deepEqual([row.result, row.found], [
    "ok",
    `${local.address} signs at localhost:9000 for chain 31337`,
  ]);
  assert.deepEqual(signer.requests, ["eth_accounts", "eth_signTransaction"]);
});

Deno.test("check of the signer: what it has signed can never be mined, and moves nothing", async () => {
  const signed: string[] = [];
  await check({
    wrap: (send) => async (url, init) => {
      const response = await send(url, init);
      const { result } = await response.clone().json().catch(() => ({}));
      if (typeof result === "string") signed.push(result);
      return response;
    },
  });
  const [raw = "", ...others] = signed;
  const { nonce, to, value = 0n, data, gasPrice = 0n } = parseTransaction(raw as `0x${string}`);
  assert.deepEqual([nonce, to, value, data, gasPrice, others], [
    Number.MAX_SAFE_INTEGER,
    local.address,
    0n,
    undefined,
    0n,
    [],
  ]);
});

const rows: readonly (readonly [string, Asked, CheckRow["result"], RegExp, RegExp])[] = [
  [
    "was started for another chain",
    { chainId: 1 },
    "failed",
    /^0x7099.* at localhost:9000: eth_signTransaction: chainId is 1 instead of 31337$/,
    /--chain-id=31337/,
  ],
  [
    "holds other keys",
    { keys: ["user", "relayer2"] },
    "failed",
    /^the signer localhost:9000 holds 2 accounts, and 0x7099.* is none of them$/,
    /correct `signer_address`$/,
  ],
  [
    "signs with another key",
    { misbehaviour: { kind: "other_key" } },
    "failed",
    /eth_signTransaction: sender is 0x.* instead of 0x7099/,
    /find out why/,
  ],
  [
    "does not answer",
    { wrap: () => () => Promise.reject(new TypeError("connection refused")) },
    "failed",
    /^0x7099.* at localhost:9000: eth_accounts: unreachable: connection refused$/,
    /check that Web3Signer runs/,
  ],
  [
    "answers too late",
    { misbehaviour: { kind: "hangs" } },
    "failed",
    /eth_signTransaction: timeout: no answer within 5000 ms$/,
    /check the log of Web3Signer/,
  ],
  [
    "signs no messages",
    {
      wrap: (send) => (url, init) =>
        url.includes("/api/") ? Promise.resolve(new Response(null, { status: 404 })) : send(url, init),
    },
    "warning",
    /for chain 31337, but no messages for the hub \(unauthorized: HTTP 404\): fees stay on the hub, rewards unclaimed$/,
    /eth_sign adds a prefix/,
  ],
];

for (const [what, asked, result, found, advice] of rows) {
  Deno.test(`check of the signer: one that ${what} is a row with what to do, in time`, async () => {
    const { row, tookMs } = await check(asked);
    assert.deepEqual([row.chain, row.check, row.result], [chain, "signer", result]);
    assert.match(row.found, found);
    assert.match(row.advice ?? "", advice);
    assert.ok(tookMs < CHECK_TIMEOUT_MS, `${tookMs} ms`);
  });
}

Deno.test("check of the signer: a defect is none of its results", async () => {
  const account = {
    ...local,
    remote: { host: "a", fetchAddresses: () => Promise.reject(new TypeError("defect")) },
  };
  await assert.rejects(
    checkSigner({ chain, chainId: 31337, account, signsMessages: false }, never),
    /defect/,
  );
});
