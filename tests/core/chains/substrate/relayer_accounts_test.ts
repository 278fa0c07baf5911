import assert from "node:assert/strict";
import { concatBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { relayerKeys, storagePrefix } from "../../../../src/core/ismp/storage_keys.ts";
import { compareHex, u128, u256, u64 } from "../../../../src/core/encoding/scale.ts";
import { hashOf, scriptHub } from "./scripted_hub.ts";

const { signal } = new AbortController();
const chain56 = parseStateMachine("EVM-56");
const address = fromHex("0x0102030405060708090a0b0c0d0e0f1011121314");

/** Name of an entry: its key, behind the block where one is named. */
function nameOf(key: unknown, at: unknown): string {
  return at === undefined ? String(key) : `${at} ${key}`;
}

/** A hub whose storage holds these entries, by {@link nameOf}, keys and values in hex. */
function holding(stored: ReadonlyMap<string, string>): ReturnType<typeof scriptHub> {
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
    chain_getFinalizedHead: () => hashOf("final"),
  });
}

Deno.test("accounts: a field that a newer runtime appended to a value is named, and the known ones are read", async () => {
  const key = toHex(relayerKeys.fees(chain56, address));
  const hub = holding(new Map([[key, `${toHex(u256.enc(7n))}0102`]]));
  assert.equal(await hub.run(hub.chain.accounts.fetchFeeBalance(chain56, address, signal)), 7n);
  assert.deepEqual(hub.log.linesOf("unknown_met").map(({ fields }) => fields.what), [
    "a field at the end of Relayer.Fees",
  ]);
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
  assert.equal((await empty.run(empty.chain.rewards.fetchRewardedModules(signal))).size, 0);
  assert.equal(empty.trips(), 1);
  await Promise.all([hub.chain.close(), empty.chain.close()]);
});
