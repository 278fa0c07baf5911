/**
 * Consensus proofs of the hub that travel in front of its messages (driver P of the protocol notes 04, section 7.2):
 * the hub accepted them, and an EVM host takes proof and messages in one transaction. Rotations are never skipped.
 */
import type { Chain, CounterpartyView } from "../chains/chain.ts";
import type { AcceptedProof, ProofReceiver, RelayerHub } from "../chains/hub_accounts.ts";
import { RpcFault } from "../rpc/fault.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { MOST_ROTATIONS_AT_ONCE, newestProof, planRotations, type RotationPlan } from "./rotation_plan.ts";

/** The hub as far as the consensus proofs go that it accepted. */
export type ProofSource = Pick<
  RelayerHub,
  "fetchFinalHeight" | "fetchAcceptedProofs" | "fetchProofBytes" | "fetchRotations"
>;

/** The hub as a source of consensus proofs, and the host that takes them. */
export interface Bundles {
  readonly hub: ProofSource;
  readonly receiver: Chain & ProofReceiver;
}

/** What the receiver should get next. */
export type NextProofs =
  /** Rotations, in order: sent whether there are messages or not, since without them the client would stop. */
  | { readonly kind: "rotations"; readonly proofs: readonly Uint8Array[] }
  /** A proof that travels in front of messages, which can then be proved at `height` of the hub. */
  | { readonly kind: "prelude"; readonly proof: Uint8Array; readonly height: bigint };

/** What a look at the hub showed: rotations at once, or a height that a proof could carry messages to. */
export type Sighting =
  | Extract<NextProofs, { kind: "rotations" }>
  | { readonly kind: "provable"; readonly height: bigint };

/** Blocks of the hub that are searched for accepted proofs at most. */
const SEARCHED_BLOCKS = 2_000n;

/** Time after which a handler or a node that could not do it is asked again, ms: both may have been upgraded. */
const ASK_AGAIN_MS = 3_600_000;

/** Bytes that the node does not have may be on their way; after this time the operator is told, ms. */
const LACKING_TOLD_AFTER_MS = 300_000;

/** What following proofs needs beside the chains. */
export interface FollowerDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Shortest time between two looks at the hub, ms. */
  readonly everyMs: number;
}

/** Follows the accepted proofs of the hub for one receiver. What it remembers can be read anew. */
export class ProofFollower {
  readonly #bundles: Bundles;
  readonly #deps: FollowerDeps;
  #searchedTo = 0n;
  #searchAfterMs = 0;
  #proofs: readonly AcceptedProof[] = [];
  #canBundle: boolean | undefined;
  #askAgainAtMs = 0;
  /** True once the receiver knew every rotation of the hub; later ones are among the accepted proofs. */
  #isCaughtUp = false;
  #missingSet: bigint | undefined;
  #hasToldNode = false;
  /** Since when the node lacks bytes that are wanted; `told` once that was said. */
  #lacking: { readonly sinceMs: number; readonly isTold: boolean } | undefined;
  /** Bytes of the newest proof, which stays the newest until another one is accepted. */
  #newest: Extract<NextProofs, { kind: "prelude" }> | undefined;

  constructor(bundles: Bundles, deps: FollowerDeps) {
    this.#bundles = bundles;
    this.#deps = deps;
  }

  /**
   * Looks for what would bring the receiver further; `undefined` when it knows the newest proven height already, or
   * cannot take proofs this way (old handler, challenge period, hub node without its offchain store).
   */
  look(view: CounterpartyView, signal: AbortSignal): Promise<Sighting | undefined> {
    return this.#whileAble(view, async () => {
      await this.#search(view, signal);
      const newest = newestProof(this.#proofs, view.height);
      if (!this.#isCaughtUp) {
        const rotations = await this.#catchUp(newest, signal);
        if (rotations !== undefined) return rotations;
        if (!this.#isCaughtUp) return undefined;
      }
      return newest && { kind: "provable", height: newest.height };
    }, signal);
  }

  /** The bytes of the newest proof for messages that need it, or the rotations that must go before. */
  load(view: CounterpartyView, signal: AbortSignal): Promise<NextProofs | undefined> {
    return this.#whileAble(view, async () => {
      const newest = newestProof(this.#proofs, view.height);
      if (newest === undefined) return undefined;
      const known = this.#newest?.height === newest.height ? this.#newest : undefined;
      const [rotations, proof] = await Promise.all([
        this.#catchUp(newest, signal),
        known?.proof ?? this.#bundles.hub.fetchProofBytes(newest, signal),
      ]);
      if (rotations !== undefined || !this.#isCaughtUp) return rotations;
      this.#noteBytes(newest.height, proof);
      if (proof === undefined) return undefined;
      return this.#newest = { kind: "prelude", proof, height: newest.height };
    }, signal);
  }

  /** Does `work` unless receiver or node cannot bundle; what they cannot do is found out anew once in a while. */
  async #whileAble<T>(
    view: CounterpartyView,
    work: () => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    if (view.challengePeriodSec !== 0n || view.isFrozen || !await this.#mayBundle(signal)) return undefined;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RpcFault) || error.code !== "missing_method") throw error;
      this.#noteUnable();
      this.#tellNode();
      return undefined;
    }
  }

  #noteUnable(): void {
    this.#canBundle = false;
    this.#askAgainAtMs = this.#deps.clock.now() + ASK_AGAIN_MS;
  }

  #tellNode(): void {
    if (this.#hasToldNode) return;
    this.#hasToldNode = true;
    this.#deps.log.warn(
      "The hub node does not offer accepted proofs (start it with --rpc-methods=unsafe and " +
        "--enable-offchain-indexing=true): messages wait for others' updates",
      { chain: this.#bundles.receiver.id.stateMachine },
    );
  }

  /** Tells once in a while that nothing comes of proofs whose bytes the node never had. */
  #noteBytes(height: bigint, bytes: Uint8Array | undefined): void {
    if (bytes !== undefined) {
      this.#lacking = undefined;
      return;
    }
    const nowMs = this.#deps.clock.now();
    const { sinceMs, isTold } = this.#lacking ?? { sinceMs: nowMs, isTold: false };
    const isLong = nowMs - sinceMs >= LACKING_TOLD_AFTER_MS;
    this.#lacking = { sinceMs, isTold: isTold || isLong };
    if (!isLong || isTold) return;
    this.#deps.log.warn(
      "The hub node lacks the bytes of an accepted proof (was it started with --enable-offchain-indexing=true?): " +
        "messages wait for others' updates",
      { chain: this.#bundles.receiver.id.stateMachine, height },
    );
  }

  async #mayBundle(signal: AbortSignal): Promise<boolean> {
    if (this.#canBundle === false && this.#deps.clock.now() >= this.#askAgainAtMs) {
      this.#canBundle = undefined;
    }
    if (this.#canBundle === undefined) {
      const { receiver } = this.#bundles;
      const [hasBatchCall, setId] = await Promise.all([
        receiver.fetchHasBatchCall(signal),
        receiver.fetchAuthoritySetId(signal),
      ]);
      if (hasBatchCall && setId !== undefined) this.#canBundle = true;
      else this.#noteUnable();
    }
    return this.#canBundle === true;
  }

  /** The rotations that the receiver lacks before it can take `newest`; `undefined`: none, or none can be had. */
  async #catchUp(
    newest: AcceptedProof | undefined,
    signal: AbortSignal,
  ): Promise<Extract<NextProofs, { kind: "rotations" }> | undefined> {
    this.#isCaughtUp = false;
    const [setId, rotations] = await Promise.all([
      this.#bundles.receiver.fetchAuthoritySetId(signal),
      this.#bundles.hub.fetchRotations(signal),
    ]);
    if (setId === undefined) return undefined;
    const plan = planRotations(rotations, { setId, newest });
    if (plan.kind === "gap") {
      this.#tellGap(plan.missing);
      return undefined;
    }
    if (plan.steps.length > 0) return await this.#loadRotations(plan.steps, signal);
    this.#isCaughtUp = true;
    return undefined;
  }

  /** Tells once about each set that cannot be reached any more. */
  #tellGap(missingSet: bigint): void {
    if (this.#missingSet === missingSet) return;
    this.#missingSet = missingSet;
    this.#deps.log.error(
      "The hub no longer keeps a rotation that this chain needs: a consensus relayer with [hub.prover] can prove it, " +
        "otherwise the chain's client must be reset",
      {
        chain: this.#bundles.receiver.id.stateMachine,
        missingSet,
      },
    );
  }

  /** Reads which proofs the hub accepted in blocks not searched yet, unless that was done a moment ago. */
  async #search(view: CounterpartyView, signal: AbortSignal): Promise<void> {
    if (this.#deps.clock.now() >= this.#searchAfterMs) await this.#searchNow(view, signal);
    this.#proofs = this.#proofs.filter(({ height }) => height > view.height);
  }

  async #searchNow(view: CounterpartyView, signal: AbortSignal): Promise<void> {
    const { hub } = this.#bundles;
    const head = await hub.fetchFinalHeight(signal);
    const floor = head > SEARCHED_BLOCKS ? head - SEARCHED_BLOCKS : 0n;
    // A proof about a height is accepted in a later block.
    const from = [this.#searchedTo, view.height, floor].reduce((a, b) => a > b ? a : b) + 1n;
    if (from <= head) {
      const found = await hub.fetchAcceptedProofs(from, head, signal);
      this.#proofs = [...this.#proofs, ...found];
      this.#searchedTo = head;
      if (found.some(({ newSetId }) => newSetId !== undefined)) this.#isCaughtUp = false;
    }
    this.#searchAfterMs = this.#deps.clock.now() + this.#deps.everyMs;
  }

  /** The next rotations that this node has, without a hole. */
  async #loadRotations(
    steps: Extract<RotationPlan, { kind: "rotations" }>["steps"],
    signal: AbortSignal,
  ): Promise<Extract<NextProofs, { kind: "rotations" }> | undefined> {
    const wanted = steps.slice(0, MOST_ROTATIONS_AT_ONCE);
    const loaded = await Promise.all(wanted.map((step) => this.#bundles.hub.fetchProofBytes(step, signal)));
    const proofs: Uint8Array[] = [];
    for (const bytes of loaded) {
      if (bytes === undefined) break;
      proofs.push(bytes);
    }
    const [first] = wanted;
    if (first !== undefined) this.#noteBytes(first.height, proofs[0]);
    return proofs.length === 0 ? undefined : { kind: "rotations", proofs };
  }
}
