import assert from "node:assert/strict";
import { concatBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { requestMetadataCodec } from "../../../../src/core/ismp/host_state.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import {
  childTrieKey,
  childTrieKeys,
  relayerKeys,
  storagePrefix,
} from "../../../../src/core/ismp/storage_keys.ts";
import { compareHex, u128, u256, u64 } from "../../../../src/core/encoding/scale.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { hashOf, type Scripted, scriptHub } from "./scripted_hub.ts";

const { signal } = new AbortController();
const chain56 = parseStateMachine("EVM-56");
const address = fromHex("0x0102030405060708090a0b0c0d0e0f1011121314");

/** Name of an entry: its key, behind the block where one is named. */
function nameOf(key: unknown, at: unknown): string {
  return at === undefined ? String(key) : `${at} ${key}`;
}

/** A hub whose storage holds these entries, by {@link nameOf}, keys and values in hex. */
function holding(
  stored: ReadonlyMap<string, string>,
  child: ReadonlyMap<string, string> = new Map(),
): ReturnType<typeof scriptHub> {
  return scriptHub({
    state_getStorage: (key, at) => stored.get(nameOf(key, at)) ?? null,
    state_queryStorageAt: (keys, at) => {
      assert.ok(Array.isArray(keys));
      const changes = keys.map((key) => [key, stored.get(nameOf(key, at)) ?? null]);
      return [{ block: at ?? hashOf("best"), changes }];
    },
    state_getKeysPaged: (prefix, count, start) => {
      assert.ok(Number(count) <= 1000);
      const keys = [...stored.keys()].filter((key) => key.startsWith(String(prefix))).sort();
      return keys.filter((key) => start === undefined || key > String(start)).slice(0, Number(count));
    },
    childstate_getStorage: (_, key) => child.get(String(key)) ?? null,
    childstate_getStorageEntries: (_, keys, at) => {
      assert.ok(Array.isArray(keys));
      return keys.map((key) => child.get(nameOf(key, at)) ?? null);
    },
    chain_getFinalizedHead: () => hashOf("final"),
  });
}

async function once<T>(scripted: Scripted<unknown>, work: () => Promise<T>): Promise<T> {
  scripted.trips();
  const result = await scripted.run(work());
  assert.equal(scripted.trips(), 1);
  return result;
}

Deno.test("accounts: balances, minimums and nonces are read under their keys, each in one message", async () => {
  const hub = holding(
    new Map([
      [toHex(relayerKeys.fees(chain56, address)), toHex(u256.enc(5n * 10n ** 30n))],
      [toHex(relayerKeys.minimumWithdrawalAmount(chain56)), toHex(u256.enc(7n))],
      [toHex(relayerKeys.nonce(address, chain56)), toHex(u64.enc(4n))],
    ]),
  );
  const { chain } = hub;
  assert.equal(
    await once(hub, () => chain.accounts.fetchFeeBalance(chain56, address, signal)),
    5n * 10n ** 30n,
  );
  assert.equal(await once(hub, () => chain.accounts.fetchMinimumWithdrawal(chain56, signal)), 7n);
  assert.equal(await once(hub, () => chain.accounts.fetchRelayerNonce(address, chain56, signal)), 4n);
  const other = parseStateMachine("EVM-1");
  assert.equal(await once(hub, () => chain.accounts.fetchFeeBalance(other, address, signal)), 0n);
  assert.equal(
    await once(hub, () => chain.accounts.fetchMinimumWithdrawal(other, signal)),
    10_000_000_000_000_000_000n,
  );
  assert.equal(await once(hub, () => chain.accounts.fetchRelayerNonce(address, other, signal)), 0n);
});

Deno.test("accounts: a balance that is no U256 is malformed", async () => {
  const hub = holding(new Map([[toHex(relayerKeys.fees(chain56, address)), "0x0102"]]));
  await assert.rejects(
    hub.run(hub.chain.accounts.fetchFeeBalance(chain56, address, signal)),
    (error: unknown) => error instanceof RpcFault && error.code === "malformed",
  );
  await hub.chain.close();
});

Deno.test("accounts: a field that a newer runtime appended to a value is named, and the known ones are read", async () => {
  const key = toHex(relayerKeys.fees(chain56, address));
  const hub = holding(new Map([[key, `${toHex(u256.enc(7n))}0102`]]));
  assert.equal(await hub.run(hub.chain.accounts.fetchFeeBalance(chain56, address, signal)), 7n);
  assert.deepEqual(hub.log.linesOf("unknown_met").map(({ fields }) => fields.what), [
    "a field at the end of Relayer.Fees",
  ]);
  await hub.chain.close();
});

Deno.test("accounts: requests are claimed, unclaimed or unknown by the newest final block", async () => {
  const metadata = (claimed: boolean): string =>
    toHex(requestMetadataCodec.enc({
      offchain: { leafIndex: 1n, pos: 1n },
      fee: { payer: hashOf("payer"), fee: 0n },
      claimed,
    }));
  const [one, two, three] = [hashOf("one"), hashOf("two"), hashOf("three")];
  const hub = holding(
    new Map([[toHex(childTrieKey("ISMPv2")), hashOf("root")]]),
    new Map([
      [toHex(childTrieKeys.requestCommitment(one)), metadata(false)],
      [toHex(childTrieKeys.requestCommitment(three)), metadata(true)],
      [`${hashOf("final")} ${toHex(childTrieKeys.requestCommitment(one))}`, metadata(true)],
      [`${hashOf("final")} ${toHex(childTrieKeys.requestCommitment(two))}`, metadata(false)],
    ]),
  );
  const ask = (): Promise<unknown> => hub.chain.accounts.fetchClaimStatus([one, two, three], signal);
  assert.deepEqual(await hub.run(ask()), ["claimed", "unclaimed", "unknown"]);
  await hub.chain.close();
});

Deno.test("accounts: rewards of rotations and of requests show whether they are gone by the newest final block", async () => {
  const final = hashOf("final");
  const hub = holding(
    new Map([
      [nameOf(toHex(relayerKeys.outboundConsensusDeliveryReward(chain56)), final), toHex(u128.enc(9n))],
      // Entries of maps without values.
      [nameOf(toHex(relayerKeys.outboundConsensusRotationsClaimed(chain56, 3n)), final), "0x"],
      [nameOf(toHex(relayerKeys.outboundRequestsClaimed(hashOf("claimed"))), final), "0x"],
    ]),
  );
  const { chain } = hub;
  const reward = (setId: bigint): Promise<unknown> =>
    chain.rewards.fetchRotationReward(chain56, setId, signal);
  assert.deepEqual(await hub.run(reward(3n)), { amount: 9n, isClaimed: true });
  assert.deepEqual(await hub.run(reward(4n)), { amount: 9n, isClaimed: false });
  const none = await hub.run(
    chain.rewards.fetchRotationReward(parseStateMachine("EVM-1"), 3n, signal),
  );
  assert.deepEqual(none, { amount: 0n, isClaimed: false });
  assert.equal(await hub.run(chain.rewards.fetchIsRequestClaimed(hashOf("claimed"), signal)), true);
  assert.equal(await hub.run(chain.rewards.fetchIsRequestClaimed(hashOf("open"), signal)), false);
});

Deno.test("accounts: more modules than one page holds are all found, those without reward left out", async () => {
  const modules = Array.from({ length: 2_001 }, (_, index) => concatBytes(address, u64.enc(BigInt(index))));
  const entries = modules.map((module, index) =>
    [toHex(relayerKeys.outboundRequestDeliveryReward(module)), toHex(u128.enc(BigInt(index)))] as const
  );
  const other = `${toHex(storagePrefix("Relayer", "Fees"))}00`;
  // A key that is no module as this program knows them.
  const strange = `${toHex(storagePrefix("Relayer", "OutboundRequestDeliveryReward"))}${"00".repeat(16)}0501`;
  const hub = holding(new Map([...entries, [other, "0x00"], [strange, toHex(u128.enc(1n))]]));
  const found = await hub.run(hub.chain.rewards.fetchRewardedModules(signal));
  assert.equal(hub.trips(), 6);
  assert.equal(found.size, 2_000);
  assert.equal(found.get(toHex(modules[2_000] ?? address)), 2_000n);
  assert.equal(found.has(toHex(modules[0] ?? address)), false);
  assert.deepEqual(hub.log.events("warn"), ["unknown_met"]);
  assert.deepEqual([...found.keys()].sort(compareHexOf), modules.slice(1).map(toHex).sort(compareHexOf));
  await hub.chain.close();
});

function compareHexOf(a: string, b: string): number {
  return compareHex(`0x${a.slice(2)}`, `0x${b.slice(2)}`);
}

Deno.test("accounts: a page that is exactly full is followed by an empty one", async () => {
  const modules = Array.from({ length: 1_000 }, (_, index) => u64.enc(BigInt(index)));
  const hub = holding(
    new Map(modules.map((module) => [
      toHex(relayerKeys.outboundRequestDeliveryReward(module)),
      toHex(u128.enc(1n)),
    ])),
  );
  assert.equal((await hub.run(hub.chain.rewards.fetchRewardedModules(signal))).size, 1_000);
  assert.equal(hub.trips(), 3);
  const empty = holding(new Map());
  assert.equal((await once(empty, () => empty.chain.rewards.fetchRewardedModules(signal))).size, 0);
  await Promise.all([hub.chain.close(), empty.chain.close()]);
});
