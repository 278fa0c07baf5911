import assert from "node:assert/strict";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import {
  bandwidthKeys,
  hostAddressCodec,
  otherKeys,
  subscriptionCodec,
} from "../../../../src/core/ismp/storage_keys.ts";
import { list, u64 } from "../../../../src/core/encoding/scale.ts";
import { hashOf, scriptHub } from "./scripted_hub.ts";

const { signal } = new AbortController();
const chain1 = parseStateMachine("EVM-1");
const names = {
  listed: fromHex(`0x${"01".repeat(20)}`),
  rich: fromHex(`0x${"02".repeat(20)}`),
  lapsed: fromHex(`0x${"03".repeat(20)}`),
  stranger: fromHex(`0x${"04".repeat(20)}`),
  seller: fromHex(`0x${"05".repeat(20)}`),
  /** Filed under its first 32 bytes. */
  long: fromHex(`0x${"06".repeat(40)}`),
  retired: fromHex("0xfd413e3afe560182c4471f4d143a96d3e259b6de"),
};
const free = { kind: "free" } as const;
const metered = (remainingBytes: bigint) => ({ kind: "metered", remainingBytes }) as const;

Deno.test("sender limits: allow list, subscriptions, seller and blocked senders are read in one message", async () => {
  const subscription = (remainingBytes: bigint, expiresAtSec: bigint) =>
    ({ tier: "TierOne", remainingBytes, expiresAtSec, purchasedAtSec: 0n }) as const;
  const bought = (...subscriptions: readonly ReturnType<typeof subscription>[]): string =>
    toHex(list(subscriptionCodec).enc([...subscriptions]));
  const stored = new Map<string, string>([
    [toHex(otherKeys.timestampNow()), toHex(u64.enc(1_000_000n))],
    [toHex(bandwidthKeys.bandwidthManager(chain1)), toHex(hostAddressCodec.enc(names.seller))],
    [toHex(bandwidthKeys.allowlist(chain1, names.listed)), "0x"],
    [
      toHex(bandwidthKeys.allowance(chain1, names.rich)),
      // Governance may add tiers: index 5 is none of today's.
      bought(subscription(70n, 1_001n), subscription(5n, 2_000n)).replace(/01(05000000)/, "05$1"),
    ],
    // The pallet sweeps what expires in the second that it reads.
    [toHex(bandwidthKeys.allowance(chain1, names.lapsed)), bought(subscription(70n, 1_000n))],
    [toHex(bandwidthKeys.allowance(chain1, names.long.slice(0, 32))), bought(subscription(9n, 2_000n))],
  ]);
  const hub = scriptHub({
    state_queryStorageAt: (keys) => {
      assert.ok(Array.isArray(keys));
      return [{ block: hashOf("best"), changes: keys.map((key) => [key, stored.get(key) ?? null]) }];
    },
  });
  // The runtime is read once, with the first question of all.
  await hub.run(hub.chain.senderLimits.fetchSenderLimits(chain1, [names.listed], signal));
  hub.trips();
  assert.deepEqual(
    await hub.run(hub.chain.senderLimits.fetchSenderLimits(chain1, Object.values(names), signal)),
    [
      free,
      metered(75n),
      metered(0n),
      metered(0n),
      free,
      metered(9n),
      { kind: "blocked" },
    ],
  );
  assert.equal(hub.trips(), 1);
  await hub.chain.close();
});
