// How a devnet host behaves towards relayers and its surroundings.
import assert from "node:assert/strict";
import {
  concatHex,
  encodeFunctionData,
  encodeFunctionResult,
  getAbiItem,
  type Hex,
  keccak256,
  numberToHex,
  parseEventLogs,
  stringToHex,
  toFunctionSelector,
} from "viem";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { postRequestsCall } from "../../src/core/evm/handler_calls.ts";
import { commitmentOfPost } from "../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { HANDLER_ABI, HOST_ABI } from "./abi.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { startAnvil } from "./anvil.ts";
import { type CallOutcome, callRaw } from "./call.ts";
import { compileContracts } from "./compile.ts";
import { deployIsmpHost, DevnetTransactionFault, type IsmpHost } from "./deploy.ts";
import {
  advanceHub,
  countReceived,
  deliveredIn,
  deliverProof,
  findDeliverer,
  freezeHost,
  proveHub,
  readHubConsensus,
  readHubHeight,
  sendPost,
  setChallengePeriod,
  vetoHub,
} from "./host_admin.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { authoritySetOf, signHubProof } from "./hub_proof.ts";

const { relayer, oracle, user } = DEVNET_ACCOUNTS;
const HUB = { stateMachine: "KUSAMA-4009", paraId: 4009n };
const ROOT = keccak256("0x01");

async function startHost(): Promise<{ host: IsmpHost } & AsyncDisposable> {
  const node = await startAnvil({ chainId: 31338 });
  const host = await deployIsmpHost({ rpcUrl: node.rpcUrl, chainId: node.chainId, hub: HUB });
  return { host, [Symbol.asyncDispose]: () => node.stop() };
}

/** The outcome of a call that is refused with an error without arguments. */
function reverted(error: string): CallOutcome {
  return { kind: "reverted", data: toFunctionSelector(error) };
}

/** A hub whose mountain range has one leaf, this post: its root is the commitment, and the proof is empty. */
async function provePost(
  host: IsmpHost,
  height: bigint,
  body: Hex,
): Promise<{ commitment: Hex; calldata: Hex }> {
  const request = {
    source: parseStateMachine("EVM-97"),
    dest: parseStateMachine(host.stateMachine),
    nonce: height,
    from: fromHex(user.address),
    to: fromHex(host.addresses.ping),
    timeoutTimestampSec: 0n,
    body: fromHex(body),
  };
  const commitment = commitmentOfPost(request);
  await advanceHub(host, { height, timestampSec: 1n, mmrRoot: commitment, childTrieRoot: ROOT });
  const at = {
    host: toAddress(host.addresses.host),
    hub: parseStateMachine(HUB.stateMachine),
    hubHeight: height,
  };
  const proof = { leafCount: 1n, leafIndicesAndPos: [{ leafIndex: 0n, pos: 0n }], items: [] };
  return { commitment, calldata: postRequestsCall(at, [request], proof) };
}

Deno.test("devnet host: a callback that runs out of gas is swallowed, and the estimate invites it", async () => {
  await using chain = await startHost();
  const { host } = chain;
  const burn = concatHex([stringToHex("burn"), numberToHex(1_200_000, { size: 4 })]);
  const { commitment, calldata } = await provePost(host, 10n, burn);
  const call = { to: host.addresses.handler, data: calldata };

  const estimate = await host.reader.estimateGas({ account: relayer.address, ...call });
  assert.ok(estimate < 1_200_000n, `the estimate ${estimate} is below what the callback needs`);
  const first = await host.transact(relayer, { ...call, gas: estimate * 105n / 100n });
  assert.equal(first.status, "success");
  assert.deepEqual(deliveredIn(host, first), []);
  assert.equal(await findDeliverer(host, commitment), undefined);

  const second = await host.transact(relayer, { ...call, gas: 2_000_000n });
  assert.deepEqual(deliveredIn(host, second), [commitment]);
  assert.equal(await findDeliverer(host, commitment), relayer.address);
  assert.ok(second.gasUsed > 1_200_000n);
  assert.equal(await countReceived(host), 1n);

  const third = await callRaw(host, relayer.address, host.addresses.handler, calldata);
  assert.deepEqual(third, reverted("DuplicateMessage()"));
});

Deno.test("devnet host: a reverting callback leaves a successful transaction without log or receipt", async () => {
  await using chain = await startHost();
  const { host } = chain;
  const { commitment, calldata } = await provePost(host, 10n, stringToHex("fail"));
  const receipt = await host.transact(relayer, {
    to: host.addresses.handler,
    data: calldata,
    gas: 1_000_000n,
  });
  assert.equal(receipt.status, "success");
  assert.equal(receipt.logs.length, 0);
  assert.equal(await findDeliverer(host, commitment), undefined);
});

Deno.test("devnet host: the interface ids of the live contracts are answered", async () => {
  await using chain = await startHost();
  const { host } = chain;
  const { handler, consensusClient, hostManager, ping } = host.addresses;
  const claims: readonly [Hex, Hex, boolean][] = [
    [handler, "0x1cf34b27", true],
    [handler, "0x744d77d5", true],
    [handler, "0x687b1a5c", true],
    [handler, "0xffffffff", false],
    [consensusClient, "0xf7e83aee", true],
    [hostManager, "0x644cec84", true],
    [ping, "0x644cec84", true],
  ];
  const item = { abi: HANDLER_ABI, functionName: "supportsInterface" } as const;
  for (const [address, id, isSupported] of claims) {
    const outcome = await callRaw(host, user.address, address, encodeFunctionData({ ...item, args: [id] }));
    assert.deepEqual(outcome, {
      kind: "returned",
      data: encodeFunctionResult({ ...item, result: isSupported }),
    }, id);
  }
});

Deno.test("devnet host: the hub advances, and a stale proof changes nothing", async () => {
  await using chain = await startHost();
  const { host } = chain;
  const stale = await proveHub(host, { height: 5n, timestampSec: 1n, mmrRoot: ROOT, childTrieRoot: ROOT });
  const receipt = await advanceHub(host, {
    height: 7n,
    timestampSec: 2n,
    mmrRoot: ROOT,
    childTrieRoot: ROOT,
  });
  const updates = parseEventLogs({ abi: HOST_ABI, logs: receipt.logs, eventName: "StateMachineUpdated" });
  assert.deepEqual(updates.map((each) => each.args), [{ stateMachineId: "KUSAMA-4009", height: 7n }]);
  assert.equal((await deliverProof(host, stale)).logs.length, 0);
  assert.equal((await readHubConsensus(host)).latestHeight, 1n);
});

Deno.test("devnet host: authority sets rotate one by one, each opening an epoch, and none can be skipped", async () => {
  await using chain = await startHost();
  const { host } = chain;
  const commitments = [{ paraId: 4009n, height: 9n, timestampSec: 1n, mmrRoot: ROOT, childTrieRoot: ROOT }];
  const skipping = await signHubProof({
    validatorSetId: 3n,
    blockNumber: 50n,
    nextAuthoritySet: authoritySetOf(oracle.address, 4n),
    commitments,
  }, oracle);
  const forged = await signHubProof({
    validatorSetId: 2n,
    blockNumber: 50n,
    nextAuthoritySet: authoritySetOf(user.address, 3n),
    commitments,
  }, user);
  const submit = (proof: Hex): Promise<unknown> =>
    callRaw(
      host,
      relayer.address,
      host.addresses.handler,
      encodeFunctionData({
        abi: HANDLER_ABI,
        functionName: "handleConsensus",
        args: [host.addresses.host, proof],
      }),
    );
  assert.deepEqual(await submit(skipping), reverted("UnknownAuthoritySet()"));
  assert.deepEqual(await submit(forged), reverted("InvalidAuthoritiesProof()"));
  assert.deepEqual(await submit("0x"), reverted("EmptyProof()"));

  const receipt = await advanceHub(host, {
    height: 8n,
    timestampSec: 1n,
    mmrRoot: ROOT,
    childTrieRoot: ROOT,
    rotates: true,
  });
  const epochs = parseEventLogs({ abi: HOST_ABI, logs: receipt.logs, eventName: "NewEpoch" });
  assert.deepEqual(epochs.map((each) => each.args), [{ authoritySetId: 2n, relayer: oracle.address }]);
  const state = await readHubConsensus(host);
  assert.deepEqual([state.current.id, state.next.id], [2n, 3n]);
  assert.deepEqual(await submit(skipping), { kind: "returned", data: "0x" });
});

Deno.test("devnet host: freezing, a challenge period and a veto take effect", async () => {
  await using chain = await startHost();
  const { host } = chain;
  const { calldata } = await provePost(host, 10n, "0x");
  const tryNow = (): Promise<unknown> => callRaw(host, relayer.address, host.addresses.handler, calldata);
  assert.deepEqual(await tryNow(), { kind: "returned", data: "0x" });

  await freezeHost(host, "incoming");
  assert.deepEqual(await tryNow(), reverted("HostFrozen()"));
  await sendPost(host, { dest: "EVM-97", to: user.address, body: "0x" });
  await freezeHost(host, "outgoing");
  await assert.rejects(
    sendPost(host, { dest: "EVM-97", to: user.address, body: "0x" }),
    /FrozenHost|0x61dfed09/,
  );
  await freezeHost(host, "none");

  await setChallengePeriod(host, 1000n);
  assert.deepEqual(await tryNow(), reverted("ChallengePeriodNotElapsed()"));
  await host.node.increaseTime({ seconds: 1000 });
  await host.node.mine({ blocks: 1 });
  assert.deepEqual(await tryNow(), { kind: "returned", data: "0x" });

  await vetoHub(host, 10n);
  assert.deepEqual(await tryNow(), reverted("StateCommitmentNotFound()"));
  const read = { address: host.addresses.host, abi: HOST_ABI } as const;
  assert.equal(await readHubHeight(host), 1n);
  assert.equal(
    await host.reader.readContract({ ...read, functionName: "vetoes", args: [4009n, 10n] }),
    oracle.address,
  );
});

Deno.test("devnet host: a reverted transaction of the devnet itself is an error with its hash", async () => {
  await using chain = await startHost();
  const data = encodeFunctionData({
    abi: [getAbiItem({ abi: HOST_ABI, name: "setFrozenState" })],
    args: [3],
  });
  await assert.rejects(
    chain.host.transact(user, { to: chain.host.addresses.host, data, gas: 100_000n }),
    (error) => error instanceof DevnetTransactionFault && error.hash.length === 66,
  );
});

Deno.test("devnet node: it answers on its own port, stops for good, and takes another port where one is taken", async () => {
  const node = await startAnvil({ chainId: 4242, slotsInAnEpoch: 1 });
  const ask = (method: string, params: readonly unknown[] = []): Promise<unknown> =>
    resultHttp(node.rpcUrl, method, params);
  assert.equal(await ask("eth_chainId"), "0x1092");
  await ask("anvil_mine", ["0x5"]);
  const { number } = Object(await ask("eth_getBlockByNumber", ["finalized", false]));
  assert.equal(number, "0x3", "with one slot per epoch, final is two blocks behind the head");
  await using other = await startAnvil({ chainId: 1, port: node.port });
  assert.notEqual(other.port, node.port);
  node.pause();
  await node.stop();
  await node.stop();
  await assert.rejects(ask("eth_chainId"));
});

Deno.test("devnet contracts: every contract fits the 24,576 bytes of EIP-170", async () => {
  for (const [name, artifact] of Object.entries(await compileContracts())) {
    assert.ok(artifact.deployedBytecode.length / 2 - 1 <= 24_576, name);
  }
});
