/**
 * Limits of the hub for senders of a chain: its blocked senders, and the bytes that applications have bought. Source:
 * polytope-labs/hyperbridge: modules/pallets/bandwidth/src/lib.rs (`try_consume`, `is_purchase_message`).
 */
import { equalBytes, toHex } from "../../encoding/bytes.ts";
import type { StateMachine } from "../../ismp/state_machine.ts";
import { bandwidthKeys, otherKeys } from "../../ismp/storage_keys.ts";
import { list, u64 } from "../../encoding/scale.ts";
import type { SenderLimit, SenderLimits } from "../hub.ts";
import type { SubstrateNode } from "./node.ts";
import { hostAddressCodec, subscriptionCodec } from "../../ismp/bandwidth.ts";
import { Values } from "./storage_values.ts";

/** The pallet stores an application under at most that many bytes of its name. */
const MAX_APP_BYTES = 32;

/** Limits that the hub applies to senders. */
export class HubSenderLimits implements SenderLimits {
  readonly #node: SubstrateNode;

  constructor(node: SubstrateNode) {
    this.#node = node;
  }

  /** Fetches the current limit per sender; one round trip. */
  async fetchSenderLimits(
    source: StateMachine,
    senders: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<readonly SenderLimit[]> {
    if (senders.length === 0) return [];
    const runtime = await this.#node.runtimes.current(signal);
    const { specName } = runtime.version;
    // Test networks may be built without the pallet.
    const isMetered = runtime.hasStorage("Bandwidth.Allowance");
    const apps = senders.map((from) => from.slice(0, MAX_APP_BYTES));
    const manager = bandwidthKeys.bandwidthManager(source);
    const keys = [
      manager,
      otherKeys.timestampNow(),
      ...apps.flatMap((app) => [bandwidthKeys.allowlist(source, app), bandwidthKeys.allowance(source, app)]),
    ];
    const stored = isMetered ? await this.#node.client.readStorage(keys, undefined, signal) : undefined;
    const values = stored === undefined ? undefined : new Values(this.#node, stored);
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
}

/** `specName` of the main network's hub. */
const RUNTIME = "nexus";

/**
 * Senders whose POST requests it refuses, on any chain: contracts that were abandoned. The list is part of the runtime's
 * code, not of its storage. Source: polytope-labs/hyperbridge: parachain/runtimes/nexus/src/ismp.rs.
 */
const BLOCKED: ReadonlySet<string> = new Set([
  "0xfd413e3afe560182c4471f4d143a96d3e259b6de",
  "0x8b536105b6fae2ae9199f5146d3c57dfe53b614e",
  "0xce304770236f39f9911bfcc51afbdff3b8635718",
]);

/** True when a runtime with that name accepts no POST request from the sender. */
function isBlockedSender(specName: string, from: Uint8Array): boolean {
  return specName === RUNTIME && BLOCKED.has(toHex(from));
}
