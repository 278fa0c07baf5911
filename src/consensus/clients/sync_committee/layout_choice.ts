/**
 * Detection of the update layout that the hub's runtime reads. Metadata does not reveal it, so an update is dry run:
 * once, and again when the hub refuses the layout that it accepted before. Source: docs/protocol/evm-consensus.md
 * section 5.11.
 */
import type { TargetUpdates } from "../../../core/chains/consensus_target.ts";
import { type StateUpdate, stateUpdateCodecs, type UpdateLayout } from "./spec/update.ts";
import type { ConsensusStateId } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { Log } from "../../../core/telemetry/log.ts";

/** Returns the other one of the two layouts. */
const other: Readonly<Record<UpdateLayout, UpdateLayout>> = {
  current: "glamsterdam",
  glamsterdam: "current",
};

/** Encodes updates in the hub's layout. */
export class LayoutChoice {
  readonly #deps: {
    readonly hub: { readonly updates: Pick<TargetUpdates, "dryRunUpdates"> };
    readonly log: Log;
  };
  readonly #id: ConsensusStateId;
  readonly #isFixed: boolean;
  #layout: UpdateLayout;
  /** Finalized epoch of the trusted state for which an update was last encoded. */
  #lastEpoch: bigint | undefined;
  #isConfirmed = false;

  constructor(
    deps: { readonly hub: { readonly updates: Pick<TargetUpdates, "dryRunUpdates"> }; readonly log: Log },
    id: ConsensusStateId,
    layout: UpdateLayout | undefined,
  ) {
    this.#deps = deps;
    this.#id = id;
    this.#isFixed = layout !== undefined;
    this.#layout = layout ?? "current";
  }

  /**
   * Encodes an update that our verifier accepts. @param trustedEpoch of the hub's state: the same one twice means that
   * the hub did not accept the previous update.
   */
  async encode(update: StateUpdate, trustedEpoch: bigint, signal: AbortSignal): Promise<Uint8Array> {
    const isRepeated = this.#lastEpoch === trustedEpoch;
    this.#lastEpoch = trustedEpoch;
    const bytes = stateUpdateCodecs[this.#layout].enc(update);
    if (this.#isFixed || (this.#isConfirmed && !isRepeated)) return bytes;
    if (await this.#takes(bytes, signal)) return bytes;
    const layout = other[this.#layout];
    const otherBytes = stateUpdateCodecs[layout].enc(update);
    if (!await this.#takes(otherBytes, signal)) return bytes;
    this.#deps.log.info("update_layout_changed", { layout });
    this.#layout = layout;
    return otherBytes;
  }

  /** Dry runs an update; an unavailable hub counts as accepting it for now. */
  async #takes(bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    try {
      const refusal = await this.#deps.hub.updates.dryRunUpdates({ id: this.#id, proofs: [bytes] }, signal);
      if (refusal === undefined) this.#isConfirmed = true;
      return refusal === undefined;
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      this.#deps.log.debug("dry_run_failed", { error: fault });
      return true;
    }
  }
}
