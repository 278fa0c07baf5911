/**
 * Consensus proofs of the hub that are sent in front of its messages (driver P of docs/protocol/messaging.md section
 * 7.2): the hub accepted them, and an EVM host takes proofs and messages in one transaction. Rotations are never
 * skipped; who pays for them is decided elsewhere.
 */
import type { AcceptedProof, AcceptedProofs } from "../../../core/chains/hub.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { HubLightClient } from "../../../core/chains/hub_client.ts";
import type { ChainReads, CounterpartyView } from "../../../core/chains/reads.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import { newestProof, planRotations, type RotationStep } from "../../../core/chains/rotation_plan.ts";
import { fittingProofs, MAX_PROOFS_AT_ONCE } from "../../../core/chains/transaction_bytes.ts";

/** Hub as the source of the consensus proofs that it accepted. */
export interface ProofSource {
  readonly reads: Pick<ChainReads, "fetchFinalHeight">;
  readonly acceptedProofs: Pick<AcceptedProofs, "fetchAcceptedProofs" | "fetchProofBytes" | "fetchRotations">;
}

/** Hub as the source of consensus proofs, and the host that receives them. */
export interface Bundles {
  readonly hub: ProofSource;
  readonly receiver: Pick<Chain, "id"> & { readonly hubClient: HubLightClient };
}

/** Result of a poll of the hub. */
export interface ProofPollResult {
  /** Authority sets that the target must receive before it accepts the newest proof, ascending; empty: none. */
  readonly missingSets: readonly bigint[];
  /** Height of the hub that the newest proof shows; `undefined`: the target already knows it. */
  readonly height: bigint | undefined;
}

/** First proofs that the target needs, as many as fit into one transaction; at least one. */
export interface NextProofs {
  readonly proofs: readonly Uint8Array[];
  /** Number of proofs that must follow in later transactions. */
  readonly left: number;
  /** Height of the hub that the target knows after all of them. */
  readonly height: bigint;
}

/** Selection of proofs: all up to the newest height, or the rotations alone. */
export interface WantedProofs {
  readonly what: "all" | "rotations";
  /** Maximum size of one transaction, bytes. */
  readonly maxBytes: number;
}

type Wanted = Pick<AcceptedProof, "height" | "newSetId">;

/** Maximum number of the hub's blocks searched for accepted proofs. */
const SEARCHED_BLOCKS = 2_000n;

/** Time after which a missing capability of a handler or node is checked again, ms: both may have been upgraded. */
const ASK_AGAIN_MS = 3_600_000;

/** Cache time of the rotations that a target lacks, ms. */
const PLAN_KEPT_MS = 60_000;

/** Maximum number of proofs whose bytes are cached: those of one transaction. */
const MAX_KEPT = 4;

/** Time after which missing proof bytes are reported, ms: until then the node may still receive them. */
const MISSING_REPORT_AFTER_MS = 300_000;

/** Dependencies of following proofs, besides the chains. */
export interface FollowerDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Minimum interval between polls of the hub, ms. */
  readonly everyMs: number;
}

/** Follows the accepted proofs of the hub for one target. Its state can be read again. */
export class ProofFollower {
  readonly #bundles: Bundles;
  readonly #deps: FollowerDeps;
  #searchedTo = 0n;
  #searchAfterMs = 0;
  #proofs: readonly AcceptedProof[] = [];
  #canBundle: boolean | undefined;
  #askAgainAtMs = 0;
  /**
   * Rotations that the target lacked when last read. "None" stays valid: later rotations are among the accepted proofs.
   */
  #missing:
    | { readonly steps: readonly RotationStep[]; readonly atHeight: bigint; readonly untilMs: number }
    | undefined;
  #missingSet: bigint | undefined;
  #hasReportedNode = false;
  #hasReportedLarge = false;
  /** Time since which the node lacks wanted bytes, and whether that was reported. */
  #missingBytes: { readonly sinceMs: number; readonly isReported: boolean } | undefined;
  /** Loaded bytes, newest last. */
  #loaded: readonly { readonly wanted: Wanted; readonly bytes: Uint8Array }[] = [];

  constructor(bundles: Bundles, deps: FollowerDeps) {
    this.#bundles = bundles;
    this.#deps = deps;
  }

  /**
   * Polls the hub for proofs that would advance the target; `undefined` when it already knows the newest proven height,
   * or cannot receive proofs this way (old handler, challenge period, hub node without its offchain store).
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

  /**
   * Loads the bytes of the first wanted proofs; `undefined`: none is needed, or the node does not have the first one.
   */
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

  /** Runs `work` unless target or node cannot bundle; missing capabilities are checked again periodically. */
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
      this.#reportNode();
      return undefined;
    }
  }

  #noteUnable(): void {
    this.#canBundle = false;
    this.#askAgainAtMs = this.#deps.clock.now() + ASK_AGAIN_MS;
  }

  #reportNode(): void {
    if (this.#hasReportedNode) return;
    this.#hasReportedNode = true;
    this.#deps.log.warn(
      "accepted_proofs_unavailable",
      { chain: this.#bundles.receiver.id.stateMachine },
    );
  }

  /** True for a proof that is too large for any transaction, which is logged once. */
  #isTooLarge({ length }: Uint8Array, maxBytes: number): boolean {
    if (length <= maxBytes) {
      this.#hasReportedLarge = false;
      return false;
    }
    if (!this.#hasReportedLarge) {
      this.#deps.log.error(
        "proof_too_large",
        { chain: this.#bundles.receiver.id.stateMachine, bytes: length, maxBytes },
      );
    }
    this.#hasReportedLarge = true;
    return true;
  }

  /** Periodically reports that proofs cannot be sent because the node lacks their bytes. */
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
        receiver.hubClient.fetchHasBatchCall(signal),
        receiver.hubClient.fetchAuthoritySetId(signal),
      ]);
      if (hasBatchCall && setId !== undefined) this.#canBundle = true;
      else this.#noteUnable();
    }
    return this.#canBundle === true;
  }

  /** Finds the rotations that the target lacks before it can accept `newest`; `undefined`: they are not available. */
  async #findMissing(
    { height: atHeight }: CounterpartyView,
    newest: AcceptedProof | undefined,
    signal: AbortSignal,
  ): Promise<readonly RotationStep[] | undefined> {
    this.#missing = undefined;
    const [setId, rotations] = await Promise.all([
      this.#bundles.receiver.hubClient.fetchAuthoritySetId(signal),
      this.#bundles.hub.acceptedProofs.fetchRotations(signal),
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

  /** Reports once each set that can no longer be reached. */
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

  /** Reads the proofs that the hub accepted in blocks not searched yet, unless that was just done. */
  async #search(view: CounterpartyView, signal: AbortSignal): Promise<void> {
    if (this.#deps.clock.now() >= this.#searchAfterMs) await this.#searchNow(view, signal);
    this.#proofs = this.#proofs.filter(({ height }) => height > view.height);
  }

  async #searchNow(view: CounterpartyView, signal: AbortSignal): Promise<void> {
    const { hub } = this.#bundles;
    const head = await hub.reads.fetchFinalHeight(signal);
    const floor = head > SEARCHED_BLOCKS ? head - SEARCHED_BLOCKS : 0n;
    // A proof about a height is accepted in a later block.
    const from = [this.#searchedTo, view.height, floor].reduce((a, b) => a > b ? a : b) + 1n;
    if (from <= head) {
      const found = await hub.acceptedProofs.fetchAcceptedProofs(from, head, signal);
      this.#proofs = [...this.#proofs, ...found];
      this.#searchedTo = head;
      if (found.some(({ newSetId }) => newSetId !== undefined)) this.#missing = undefined;
    }
    this.#searchAfterMs = this.#deps.clock.now() + this.#deps.everyMs;
  }

  /** Loads the first wanted proofs without a gap, as many as fit together. */
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
    return this.#bundles.hub.acceptedProofs.fetchProofBytes(wanted, signal);
  }
}

function isSame(one: Wanted, other: Wanted): boolean {
  return one.height === other.height && one.newSetId === other.newSetId;
}

/** Computes the height that the target knows after the rotations and the newest proof; `undefined`: no new one. */
function heightAfter(
  view: CounterpartyView,
  steps: readonly RotationStep[],
  newest: AcceptedProof | undefined,
): bigint | undefined {
  const height = newest?.height ?? steps.at(-1)?.height;
  return height === undefined || height <= view.height ? undefined : height;
}
