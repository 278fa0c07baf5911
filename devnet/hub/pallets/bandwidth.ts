/**
 * Pallet Bandwidth: the gate that charges every incoming request to its sender's subscriptions.
 * Source: polytope-labs/hyperbridge: modules/pallets/bandwidth/src/{lib,impls}.rs.
 */
import { type GetRequest, type PostRequest } from "../../../src/core/ismp/message.ts";
import { type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { _void as unit } from "scale-ts";
import { bytes, list, u128 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { type Overlay, PalletStorage } from "../storage.ts";
import { IsmpError } from "./ismp_error.ts";
import { type BandwidthTier, subscriptionCodec } from "../../../src/core/ismp/storage_keys.ts";
import type { CodecType } from "scale-ts";

/** Longest application id that storage keeps. */
const maxAppBytes = 32;

/** A credit of bandwidth by an admin. */
export interface BandwidthCredit {
  readonly source: StateMachine;
  readonly app: Uint8Array;
  readonly tier: BandwidthTier;
  readonly bytes: bigint;
  readonly durationSec: bigint;
}

const byApp = [stateMachineCodec, bytes] as const;

/** The pallet. */
export class BandwidthPallet extends PalletStorage {
  readonly #allowance = this.item("Allowance", byApp, list(subscriptionCodec));
  readonly #allowlist = this.item("Allowlist", byApp, unit);

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "Bandwidth");
  }

  /** Puts an application on the list of those that are not charged, or takes it off. */
  setAllowlist(overlay: Overlay, source: StateMachine, app: Uint8Array, on: boolean): void {
    const key = app.slice(0, maxAppBytes);
    if (on) this.#allowlist.put(overlay, undefined, source, key);
    else this.#allowlist.remove(overlay, source, key);
  }

  /** Adds a subscription, as `force_credit` does. */
  credit(execution: Execution, credit: BandwidthCredit): void {
    const app = credit.app.slice(0, maxAppBytes);
    const added = {
      tier: credit.tier,
      remainingBytes: credit.bytes,
      expiresAtSec: execution.nowSec + credit.durationSec,
      purchasedAtSec: execution.nowSec,
    };
    const live = this.#live(execution, credit.source, app);
    this.#allowance.put(execution.overlay, [...live, added], credit.source, app);
  }

  /**
   * Charges a size, oldest subscription first: of the ABI-encoded request, or of the answer to it. Applications on the
   * allow list are free. @throws {IsmpError} module_dispatch_error when the sender has too little.
   */
  charge(
    execution: Execution,
    { source, from }: Pick<PostRequest | GetRequest, "source" | "from">,
    size: number,
  ): void {
    const { overlay } = execution;
    const app = from.slice(0, maxAppBytes);
    if (this.#allowlist.has(overlay, source, app)) return;
    let owed = BigInt(size);
    const rest: CodecType<typeof subscriptionCodec>[] = [];
    for (const subscription of this.#live(execution, source, app)) {
      const taken = owed < subscription.remainingBytes ? owed : subscription.remainingBytes;
      owed -= taken;
      const remainingBytes = subscription.remainingBytes - taken;
      if (remainingBytes > 0n) rest.push({ ...subscription, remainingBytes });
    }
    if (owed > 0n) throw new IsmpError("module_dispatch_error", "bandwidth gate");
    this.#allowance.put(overlay, rest, source, app);
    execution.emit("Bandwidth", "BandwidthConsumed", {
      source: stateMachineCodec.enc(source),
      app: bytes.enc(app),
      bytes: u128.enc(BigInt(size)),
      remaining: u128.enc(rest.reduce((sum, { remainingBytes }) => sum + remainingBytes, 0n)),
    });
  }

  #live(execution: Execution, source: StateMachine, app: Uint8Array): CodecType<typeof subscriptionCodec>[] {
    const all = this.#allowance.get(execution.overlay, source, app) ?? [];
    return all.filter(({ expiresAtSec }) => expiresAtSec > execution.nowSec);
  }
}
