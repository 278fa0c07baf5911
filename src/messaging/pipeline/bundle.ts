/**
 * Consensus proofs of the hub that travel in front of its messages (driver P of the protocol notes 04, section 7.2):
 * the hub accepted them, and an EVM host takes proof and messages in one transaction. Rotations are never skipped.
 */
import type { CounterpartyView } from "../../core/chains/chain.ts";
import type { AcceptedProof } from "../../core/chains/hub_accounts.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import type { Log } from "../../core/telemetry/log.ts";
import {
  MOST_ROTATIONS_AT_ONCE,
  newestProof,
  planRotations,
  type RotationPlan,
} from "../decisions/bundles.ts";
import type { Bundles } from "./leg.ts";

/** What the receiver should get next. */
export type NextProofs =
  /** Rotations, in order: sent whether there are messages or not, since without them the client would stop. */
  | { readonly kind: "rotations"; readonly proofs: readonly Uint8Array[] }
  /** A proof that travels in front of messages, which can then be proved at `height` of the hub. */
  | { readonly kind: "prelude"; readonly proof: Uint8Array; readonly height: bigint };

/** Blocks of the hub that are searched for accepted proofs at most. */
const SEARCHED_BLOCKS = 2_000n;

/** Follows the accepted proofs of the hub for one receiver. What it remembers can be read anew. */
export class ProofFollower {
  readonly #bundles: Bundles;
  readonly #log: Log;
  #searchedTo = 0n;
  #proofs: readonly AcceptedProof[] = [];
  #canBundle: boolean | undefined;
  /** True once the receiver knew every rotation of the hub; later ones are among the accepted proofs. */
  #isCaughtUp = false;
  #missingSet: bigint | undefined;
  /** Bytes of the newest proof, which stays the newest for many rounds while no message needs it. */
  #newest: Extract<NextProofs, { kind: "prelude" }> | undefined;

  constructor(bundles: Bundles, log: Log) {
    this.#bundles = bundles;
    this.#log = log;
  }

  /**
   * What brings the receiver further; `undefined` when it knows the newest proven height already, or cannot take
   * proofs this way (old handler, challenge period, hub node without its offchain store).
   */
  async next(view: CounterpartyView, signal: AbortSignal): Promise<NextProofs | undefined> {
    if (view.challengePeriodSec !== 0n || view.isFrozen || !await this.#mayBundle(signal)) return undefined;
    try {
      return await this.#choose(view, signal);
    } catch (error) {
      if (!(error instanceof RpcFault) || error.code !== "missing_method") throw error;
      this.#canBundle = false;
      this.#log.warn(
        "The hub node does not offer accepted proofs (unsafe RPC): messages wait for others' updates",
        {
          chain: this.#bundles.receiver.id.stateMachine,
        },
      );
      return undefined;
    }
  }

  async #mayBundle(signal: AbortSignal): Promise<boolean> {
    if (this.#canBundle === undefined) {
      const { receiver } = this.#bundles;
      const [hasBatchCall, setId] = await Promise.all([
        receiver.fetchHasBatchCall(signal),
        receiver.fetchAuthoritySetId(signal),
      ]);
      this.#canBundle = hasBatchCall && setId !== undefined;
    }
    return this.#canBundle;
  }

  async #choose(view: CounterpartyView, signal: AbortSignal): Promise<NextProofs | undefined> {
    await this.#search(view, signal);
    const newest = newestProof(this.#proofs, view.height);
    if (newest === undefined && this.#isCaughtUp) return undefined;
    const setId = await this.#bundles.receiver.fetchAuthoritySetId(signal);
    if (setId === undefined) return undefined;
    const rotations = await this.#bundles.hub.fetchRotations(signal);
    const plan = planRotations(rotations, { setId, newest });
    if (plan.kind === "gap") {
      this.#tellGap(plan.missing);
      return undefined;
    }
    if (plan.steps.length > 0) return await this.#loadRotations(plan.steps, signal);
    this.#isCaughtUp = true;
    if (newest === undefined) return undefined;
    if (this.#newest?.height === newest.height) return this.#newest;
    const proof = await this.#bundles.hub.fetchProofBytes(newest, signal);
    if (proof === undefined) return undefined;
    return this.#newest = { kind: "prelude", proof, height: newest.height };
  }

  /** Tells once about each set that cannot be reached any more. */
  #tellGap(missingSet: bigint): void {
    if (this.#missingSet === missingSet) return;
    this.#missingSet = missingSet;
    this.#log.error("The hub no longer keeps a rotation that this chain needs; its client must be reset", {
      chain: this.#bundles.receiver.id.stateMachine,
      missingSet,
    });
  }

  /** Reads which proofs the hub accepted in blocks not searched yet. */
  async #search(view: CounterpartyView, signal: AbortSignal): Promise<void> {
    const { hub } = this.#bundles;
    const head = await hub.fetchFinalHeight(signal);
    const floor = head > SEARCHED_BLOCKS ? head - SEARCHED_BLOCKS : 0n;
    // A proof about a height is accepted in a later block.
    const from = [this.#searchedTo, view.height, floor].reduce((a, b) => a > b ? a : b) + 1n;
    if (from <= head) {
      const found = await hub.fetchAcceptedProofs(from, head, signal);
      this.#proofs = [...this.#proofs, ...found];
      this.#searchedTo = head;
    }
    this.#proofs = this.#proofs.filter(({ height }) => height > view.height);
  }

  /** The next rotations that this node has, without a hole. */
  async #loadRotations(
    steps: Extract<RotationPlan, { kind: "rotations" }>["steps"],
    signal: AbortSignal,
  ): Promise<NextProofs | undefined> {
    const wanted = steps.slice(0, MOST_ROTATIONS_AT_ONCE);
    const loaded = await Promise.all(wanted.map((step) => this.#bundles.hub.fetchProofBytes(step, signal)));
    const proofs: Uint8Array[] = [];
    for (const bytes of loaded) {
      if (bytes === undefined) break;
      proofs.push(bytes);
    }
    return proofs.length === 0 ? undefined : { kind: "rotations", proofs };
  }
}
