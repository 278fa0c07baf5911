/**
 * Limits of the hub for senders of a chain: its blocked senders, and the bytes that applications have bought. Source:
 * polytope-labs/hyperbridge: modules/pallets/bandwidth/src/lib.rs (`try_consume`, `is_purchase_message`).
 */
import { equalBytes, toHex } from "../../encoding/bytes.ts";
import { isBlockedSender } from "../../ismp/blocked_senders.ts";
import type { StateMachine } from "../../ismp/state_machine.ts";
import { bandwidthKeys, otherKeys } from "../../ismp/storage_keys.ts";
import { list, u64 } from "../../encoding/scale.ts";
import type { SenderLimit } from "../hub_accounts.ts";
import type { SubstrateNode } from "./node.ts";
import { Values } from "./views.ts";
import { hostAddressCodec, subscriptionCodec } from "../../ismp/bandwidth.ts";

/** The pallet stores an application under at most that many bytes of its name. */
const MAX_APP_BYTES = 32;

/** Fetches the current limit per sender; one round trip. */
export async function fetchSenderLimits(
  node: SubstrateNode,
  source: StateMachine,
  senders: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<readonly SenderLimit[]> {
  if (senders.length === 0) return [];
  const runtime = await node.runtimes.current(signal);
  const { specName } = runtime.version;
  // Test networks may be built without the pallet.
  const isMetered = runtime.hasStorage("Bandwidth", "Allowance");
  const apps = senders.map((from) => from.slice(0, MAX_APP_BYTES));
  const manager = bandwidthKeys.bandwidthManager(source);
  const keys = [
    manager,
    otherKeys.timestampNow(),
    ...apps.flatMap((app) => [bandwidthKeys.allowlist(source, app), bandwidthKeys.allowance(source, app)]),
  ];
  const stored = isMetered ? await node.client.readStorage(keys, undefined, signal) : undefined;
  const values = stored === undefined ? undefined : new Values(node, stored);
  const nowSec = (values?.read(otherKeys.timestampNow(), u64, "Timestamp.Now") ?? 0n) / 1000n;
  const seller = values?.read(manager, hostAddressCodec, "Bandwidth.BandwidthManager");
  return senders.map((from, index): SenderLimit => {
    if (isBlockedSender(specName, from)) return { kind: "blocked" };
    const app = apps[index] ?? from;
    const isFree = values === undefined || (seller !== undefined && equalBytes(seller, from)) ||
      stored?.get(toHex(bandwidthKeys.allowlist(source, app))) !== undefined;
    if (isFree) return { kind: "free" };
    const key = bandwidthKeys.allowance(source, app);
    const bought = values.read(key, list(subscriptionCodec), "Bandwidth.Allowance") ?? [];
    const live = bought.filter(({ expiresAtSec }) => expiresAtSec > nowSec);
    return { kind: "metered", remainingBytes: live.reduce((sum, each) => sum + each.remainingBytes, 0n) };
  });
}
