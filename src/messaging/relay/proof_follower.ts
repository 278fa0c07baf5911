/**
 * Consensus proofs of the hub that travel in front of its messages (driver P of docs/protocol/messaging.md section
 * 7.2): the hub accepted them, and an EVM host takes proofs and messages in one transaction. Rotations are never
 * skipped; who pays for them is none of this file's business.
 */
import type { Chain, CounterpartyView } from "../../core/chains/port.ts";
import type { AcceptedProof, ConsensusProofTarget, RelayerHub } from "../../core/chains/hub_accounts.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { newestProof, planRotations, type RotationStep } from "../../core/chains/rotation_plan.ts";
import { fittingProofs, MAX_PROOFS_AT_ONCE } from "../../core/chains/transaction_bytes.ts";

/** The hub as far as the consensus proofs go that it accepted. */
export type ProofSource = Pick<
  RelayerHub,
  "fetchFinalHeight" | "fetchAcceptedProofs" | "fetchProofBytes" | "fetchRotations"
>;

/** The hub as a source of consensus proofs, and the host that takes them. */
export interface Bundles {
  readonly hub: ProofSource;
  readonly receiver: Chain & ConsensusProofTarget;
}

/** What a poll of the hub showed. */
export interface ProofPollResult {
  /** Sets that the receiver must be handed before it takes the newest proof, ascending; empty: none. */
  readonly missingSets: readonly bigint[];
  /** Height of the hub that the newest proof brings; `undefined`: the receiver knows it already. */
  readonly height: bigint | undefined;
}

/** The first proofs that the receiver needs, as many as one transaction takes; at least one. */
export interface NextProofs {
  readonly proofs: readonly Uint8Array[];
  /** Proofs that must follow in later transactions. */
  readonly left: number;
  /** Height of the hub that the receiver knows after all of them. */
  readonly height: bigint;
}

/** Which proofs are wanted: all that bring the newest height, or the rotations alone. */
export interface WantedProofs {
  readonly what: "all" | "rotations";
  /** Bytes that one transaction may hold. */
  readonly maxBytes: number;
}

type Wanted = Pick<AcceptedProof, "height" | "newSetId">;

/** Blocks of the hub that are searched for accepted proofs at most. */
const SEARCHED_BLOCKS = 2_000n;

/** Time after which a handler or a node that could not do it is asked again, ms: both may have been upgraded. */
const ASK_AGAIN_MS = 3_600_000;

/** Time for which it is remembered which rotations a receiver lacks that nobody brings, ms. */
const PLAN_KEPT_MS = 60_000;

/** Proofs whose bytes are kept: those of one transaction. */
const MAX_KEPT = 4;

/** Bytes that the node does not have may be on their way; after this time the operator is told, ms. */
const MISSING_REPORT_AFTER_MS = 300_000;

/** What following proofs needs besides the chains. */
export interface FollowerDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Shortest time between two looks at the hub, ms. */
  readonly everyMs: number;
}

/** Follows the accepted proofs of the hub for one receiver. What it remembers can be read again. */
export class ProofFollower {
  readonly #bundles: Bundles;
  readonly #deps: FollowerDeps;
  #searchedTo = 0n;
  #searchAfterMs = 0;
  #proofs: readonly AcceptedProof[] = [];
  #canBundle: boolean | undefined;
  #askAgainAtMs = 0;
  /**
   * Rotations that the receiver lacked when that was read. None is known for good: later ones are among the accepted
   * proofs.
   */
  #missing:
    | { readonly steps: readonly RotationStep[]; readonly atHeight: bigint; readonly untilMs: number }
    | undefined;
  #missingSet: bigint | undefined;
  #hasReportedNode = false;
  #hasToldLarge = false;
  /** Since when the node lacks bytes that are wanted; `told` once that was said. */
  #missingBytes: { readonly sinceMs: number; readonly isReported: boolean } | undefined;
  /** Bytes that were loaded, newest last. */
  #loaded: readonly { readonly wanted: Wanted; readonly bytes: Uint8Array }[] = [];

  constructor(bundles: Bundles, deps: FollowerDeps) {
    this.#bundles = bundles;
    this.#deps = deps;
  }

  /**
   * Looks for what would bring the receiver further; `undefined` when it knows the newest proven height already, or
   * cannot take proofs this way (old handler, challenge period, hub node without its offchain store).
   */
  poll(view: CounterpartyView, signal: AbortSignal): Promise<ProofPollResult | undefined> {
    return this.#whileAble(view, async () => {
      await this.#search(view, signal);
      const newest = newestProof(this.#proofs, view.height);
      const kept = this.#missing;
      const isKnown = kept !== undefined && this.#deps.clock.now() < kept.untilMs &&
        (kept.steps.length === 0 || kept.atHeight === view.height);
      const steps = isKnown ? kept.steps : await this.#findMissing(view, newest, signal);
      if (steps === undefined) return undefined;
      const height = heightAfter(view, steps, newest);
      if (height === undefined && steps.length === 0) return undefined;
      return { missingSets: steps.map(({ newSetId }) => newSetId), height };
    }, signal);
  }

  /** Bytes of the first proofs that are wanted; `undefined`: nothing is needed, or the node has not what comes first. */
  load(view: CounterpartyView, wanted: WantedProofs, signal: AbortSignal): Promise<NextProofs | undefined> {
    return this.#whileAble(view, async () => {
      const newest = newestProof(this.#proofs, view.height);
      const steps = await this.#findMissing(view, newest, signal);
      if (steps === undefined) return undefined;
      const height = heightAfter(view, steps, newest) ?? view.height;
      const isRotation = newest !== undefined && steps.some((step) => step.height === newest.height);
      const last = wanted.what === "all" && newest !== undefined && !isRotation ? [newest] : [];
      const all: readonly Wanted[] = [...steps, ...last];
      const loaded = await this.#loadFirst(all, signal);
      const proofs = fittingProofs(loaded, { maxProofs: MAX_PROOFS_AT_ONCE, maxBytes: wanted.maxBytes });
      const [first] = proofs;
      if (first === undefined || this.#isTooLarge(first.bytes, wanted.maxBytes)) return undefined;
      return { proofs: proofs.map(({ bytes }) => bytes), left: all.length - proofs.length, height };
    }, signal);
  }

  /** Does `work` unless receiver or node cannot bundle; what they cannot do is found out again once in a while. */
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
    if (this.#hasReportedNode) return;
    this.#hasReportedNode = true;
    this.#deps.log.warn(
      "accepted_proofs_unavailable",
      { chain: this.#bundles.receiver.id.stateMachine },
    );
  }

  /** True for a proof that no transaction can carry, which is told once. */
  #isTooLarge({ length }: Uint8Array, maxBytes: number): boolean {
    if (length <= maxBytes) {
      this.#hasToldLarge = false;
      return false;
    }
    if (!this.#hasToldLarge) {
      this.#deps.log.error(
        "proof_too_large",
        { chain: this.#bundles.receiver.id.stateMachine, bytes: length, maxBytes },
      );
    }
    this.#hasToldLarge = true;
    return true;
  }

  /** Tells once in a while that nothing comes of proofs whose bytes the node never had. */
  #noteBytes(height: bigint, bytes: Uint8Array | undefined): void {
    if (bytes !== undefined) {
      this.#missingBytes = undefined;
      return;
    }
    const nowMs = this.#deps.clock.now();
    const { sinceMs, isReported } = this.#missingBytes ?? { sinceMs: nowMs, isReported: false };
    const isLong = nowMs - sinceMs >= MISSING_REPORT_AFTER_MS;
    this.#missingBytes = { sinceMs, isReported: isReported || isLong };
    if (!isLong || isReported) return;
    this.#deps.log.warn(
      "accepted_proof_missing",
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

  /** Rotations that the receiver lacks before it can take `newest`; `undefined`: none can be had. */
  async #findMissing(
    { height: atHeight }: CounterpartyView,
    newest: AcceptedProof | undefined,
    signal: AbortSignal,
  ): Promise<readonly RotationStep[] | undefined> {
    this.#missing = undefined;
    const [setId, rotations] = await Promise.all([
      this.#bundles.receiver.fetchAuthoritySetId(signal),
      this.#bundles.hub.fetchRotations(signal),
    ]);
    if (setId === undefined) return undefined;
    const plan = planRotations(rotations, { setId, newest });
    if (plan.kind === "gap") {
      this.#reportGap(plan.missing);
      return undefined;
    }
    const { steps } = plan;
    const untilMs = steps.length === 0 ? Infinity : this.#deps.clock.now() + PLAN_KEPT_MS;
    this.#missing = { steps, atHeight, untilMs };
    return steps;
  }

  /** Tells once about each set that cannot be reached any more. */
  #reportGap(missingSet: bigint): void {
    if (this.#missingSet === missingSet) return;
    this.#missingSet = missingSet;
    this.#deps.log.error(
      "rotation_missing",
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
      if (found.some(({ newSetId }) => newSetId !== undefined)) this.#missing = undefined;
    }
    this.#searchAfterMs = this.#deps.clock.now() + this.#deps.everyMs;
  }

  /** The first of the wanted proofs that this node has, without a hole, as many as may go together. */
  async #loadFirst(
    all: readonly Wanted[],
    signal: AbortSignal,
  ): Promise<readonly { readonly wanted: Wanted; readonly bytes: Uint8Array }[]> {
    const first = all.slice(0, MAX_PROOFS_AT_ONCE);
    const found = await Promise.all(first.map((wanted) => this.#loadOne(wanted, signal)));
    const loaded: { readonly wanted: Wanted; readonly bytes: Uint8Array }[] = [];
    for (const [index, wanted] of first.entries()) {
      const bytes = found[index];
      if (index === 0) this.#noteBytes(wanted.height, bytes);
      if (bytes === undefined) break;
      loaded.push({ wanted, bytes });
    }
    const others = this.#loaded.filter(({ wanted }) => !loaded.some((one) => isSame(one.wanted, wanted)));
    this.#loaded = [...others, ...loaded].slice(-MAX_KEPT);
    return loaded;
  }

  #loadOne(wanted: Wanted, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const known = this.#loaded.find((one) => isSame(one.wanted, wanted));
    if (known !== undefined) return Promise.resolve(known.bytes);
    return this.#bundles.hub.fetchProofBytes(wanted, signal);
  }
}

function isSame(one: Wanted, other: Wanted): boolean {
  return one.height === other.height && one.newSetId === other.newSetId;
}

/** Height that the receiver knows after the rotations and the newest proof; `undefined`: none that is new to it. */
function heightAfter(
  view: CounterpartyView,
  steps: readonly RotationStep[],
  newest: AcceptedProof | undefined,
): bigint | undefined {
  const height = newest?.height ?? steps.at(-1)?.height;
  return height === undefined || height <= view.height ? undefined : height;
}
