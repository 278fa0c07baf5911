/**
 * Consensus proofs of the hub that are sent in front of its messages (driver P of docs/protocol/messaging.md section
 * 7.2): the hub accepted them, and an EVM host takes proofs and messages in one transaction. Rotations are never
 * skipped; who pays for them is decided elsewhere.
 */
import type { AcceptedProofIndex, AcceptedProofs } from "../chains/hub.ts";
import type { HubLightClient } from "../chains/hub_client.ts";
import type { Chain } from "../chains/port.ts";
import type { CounterpartyView } from "../chains/reads.ts";
import { onFault } from "../rpc/call.ts";
import type { Clock } from "../runtime/clock.ts";
import type { EventCode, Log, LogFields } from "../telemetry/log.ts";
import type { RotationStep } from "./proof_loader.ts";
import { newerHeights, planRotations, ProofLoader } from "./proof_loader.ts";
import { fittingProofs, MAX_PROOFS_AT_ONCE } from "../chains/transaction_bytes.ts";

/** Hub as the source of the consensus proofs that it accepted. */
export interface ProofSource {
  readonly acceptedProofs: AcceptedProofs;
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
  /** All that the target lacks; `undefined`: too many to simulate, or not to be had. */
  readonly all: readonly Uint8Array[] | undefined;
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

/** Time after which a missing capability of a handler or node is checked again, ms: both may have been upgraded. */
const ASK_AGAIN_MS = 3_600_000;

/** Cache time of the authority set of a target that lacks rotations, ms. */
const SET_KEPT_MS = 60_000;

/** Time after which missing proof bytes are reported, ms: until then the node may still receive them. */
const MISSING_REPORT_AFTER_MS = 300_000;

/** Maximum number of proofs that go ahead of messages, in several transactions, and are simulated with them before. */
const MAX_PROOFS_AHEAD = 8;

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
  readonly #loader: ProofLoader;
  /** Proofs that the hub listed when it was last polled. */
  #index: AcceptedProofIndex = { rotations: new Map(), messaging: [] };
  #searchAfterMs = 0;
  /** Whether target and node can bundle, and until when that counts. */
  #bundling: { readonly isPossible: boolean; readonly untilMs: number } | undefined;
  /** Authority set of the target when it was last read: it only moves on. */
  #set: { readonly id: bigint; readonly atHeight: bigint; readonly untilMs: number } | undefined;
  /** Time since which the node lacks wanted bytes. */
  #missingSinceMs: number | undefined;
  /** What was logged, by event: each once until it is about something else. */
  readonly #told = new Map<EventCode, string>();

  constructor(bundles: Bundles, deps: FollowerDeps) {
    this.#bundles = bundles;
    this.#deps = deps;
    this.#loader = new ProofLoader(bundles.hub.acceptedProofs, deps);
  }

  /**
   * Polls the hub for proofs that would advance the target; `undefined` when it already knows the newest proven height,
   * or cannot receive proofs this way (old handler, challenge period, hub node without its offchain store).
   */
  poll(view: CounterpartyView, signal: AbortSignal): Promise<ProofPollResult | undefined> {
    return this.#whileAble(view, async () => {
      if (this.#deps.clock.now() >= this.#searchAfterMs) {
        this.#index = await this.#bundles.hub.acceptedProofs.fetchAcceptedIndex(signal);
        this.#searchAfterMs = this.#deps.clock.now() + this.#deps.everyMs;
      }
      const steps = this.#findMissing(await this.#fetchSet(view, signal));
      if (steps === undefined) return undefined;
      const newest = [
        ...newerHeights(this.#index, view.height).slice(0, 1),
        ...steps.map(({ height }) => height),
      ];
      const height = newest.reduce((a, b) => a > b ? a : b, view.height);
      if (height === view.height && steps.length === 0) return undefined;
      return {
        missingSets: steps.map(({ newSetId }) => newSetId),
        height: height === view.height ? undefined : height,
      };
    }, signal);
  }

  /**
   * Loads the bytes of the first wanted proofs; `undefined`: none is needed, or the node does not have the first one.
   */
  load(view: CounterpartyView, wanted: WantedProofs, signal: AbortSignal): Promise<NextProofs | undefined> {
    return this.#whileAble(view, async () => {
      const steps = this.#findMissing(await this.#readSet(view, signal));
      if (steps === undefined) return undefined;
      const max = wanted.what === "all" ? MAX_PROOFS_AHEAD : MAX_PROOFS_AT_ONCE;
      const rotations = await this.#loader.loadRotations(steps.slice(0, max), signal);
      const known = [view.height, ...steps.map(({ height }) => height)].reduce((a, b) => a > b ? a : b);
      const newer = wanted.what === "all" ? newerHeights(this.#index, known) : [];
      const isNext = rotations.length === steps.length && steps.length < max;
      const newest = isNext ? await this.#loader.loadFirst(newer, signal) : undefined;
      const loaded = newest === undefined ? rotations : [...rotations, newest];
      const [wantedFirst] = [...steps, ...newer.map((height) => ({ height, newSetId: undefined }))];
      const isUsable = loaded.length > 0 || wantedFirst === undefined || this.#loader.isSkipped(wantedFirst);
      this.#noteBytes(wantedFirst?.height, isUsable);
      const proofs = fittingProofs(loaded, { maxProofs: MAX_PROOFS_AT_ONCE, maxBytes: wanted.maxBytes });
      const [first] = proofs;
      if (first === undefined || this.#isTooLarge(first.bytes, wanted.maxBytes)) return undefined;
      // A newest proof that cannot be had is not waited for.
      const height = newest?.height ?? (isNext ? known : newer[0] ?? known);
      const left = steps.length + (height > known ? 1 : 0) - proofs.length;
      const all = isNext ? loaded.map(({ bytes }) => bytes) : undefined;
      return { proofs: proofs.map(({ bytes }) => bytes), all, left, height };
    }, signal);
  }

  /** Runs `work` unless target or node cannot bundle; missing capabilities are checked again periodically. */
  async #whileAble<T>(
    view: CounterpartyView,
    work: () => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    if (view.challengePeriodSec !== 0n || view.isFrozen || !await this.#mayBundle(signal)) return undefined;
    return await work().catch(onFault(() => {
      this.#noteBundling(false);
      this.#tell("warn", "proofs_unavailable.not_offered", {});
      return undefined;
    }, "missing_method"));
  }

  #noteBundling(isPossible: boolean): void {
    this.#bundling = { isPossible, untilMs: isPossible ? Infinity : this.#deps.clock.now() + ASK_AGAIN_MS };
  }

  /** Logs what keeps proofs from being sent to the target, once. */
  #tell(level: "warn" | "error", event: EventCode, fields: LogFields, about = ""): void {
    if (this.#told.get(event) === about) return;
    this.#told.set(event, about);
    this.#deps.log[level](event, { chain: this.#bundles.receiver.id.stateMachine, ...fields });
  }

  /** True for a proof that is too large for any transaction, which is logged. */
  #isTooLarge({ length: bytes }: Uint8Array, maxBytes: number): boolean {
    if (bytes <= maxBytes) this.#told.delete("proofs_failed.too_large");
    else this.#tell("error", "proofs_failed.too_large", { bytes, maxBytes });
    return bytes > maxBytes;
  }

  /** Reports that proofs cannot be sent because the node lacks their bytes for long. */
  #noteBytes(height: bigint | undefined, areThere: boolean): void {
    const nowMs = this.#deps.clock.now();
    this.#missingSinceMs = areThere ? undefined : this.#missingSinceMs ?? nowMs;
    if (this.#missingSinceMs === undefined) this.#told.delete("proofs_unavailable.not_indexed");
    else if (nowMs - this.#missingSinceMs >= MISSING_REPORT_AFTER_MS) {
      this.#tell("warn", "proofs_unavailable.not_indexed", { height });
    }
  }

  async #mayBundle(signal: AbortSignal): Promise<boolean> {
    if (this.#bundling === undefined || this.#deps.clock.now() >= this.#bundling.untilMs) {
      const { hubClient } = this.#bundles.receiver;
      const [hasBatchCall, { setId, stateBytes }] = await Promise.all([
        hubClient.fetchHasBatchCall(signal),
        hubClient.fetchAuthoritySet(signal),
      ]);
      if (setId === undefined) this.#tell("warn", "host_unusable.unknown_layout", { bytes: stateBytes });
      this.#noteBundling(hasBatchCall && setId !== undefined);
    }
    return this.#bundling?.isPossible === true;
  }

  /** Returns the target's authority set; it is read again when rotations follow, and some time has passed. */
  async #fetchSet(view: CounterpartyView, signal: AbortSignal): Promise<bigint | undefined> {
    const known = this.#set;
    if (known !== undefined) {
      const isNewest = [...this.#index.rotations.keys()].every((set) => set <= known.id);
      const isFresh = known.atHeight === view.height && this.#deps.clock.now() < known.untilMs;
      if (isNewest || isFresh) return known.id;
    }
    return await this.#readSet(view, signal);
  }

  /** Reads the target's authority set; `undefined`: its client has another layout by now. */
  async #readSet({ height: atHeight }: CounterpartyView, signal: AbortSignal): Promise<bigint | undefined> {
    const { setId } = await this.#bundles.receiver.hubClient.fetchAuthoritySet(signal);
    if (setId === undefined) this.#bundling = undefined;
    else this.#set = { id: setId, atHeight, untilMs: this.#deps.clock.now() + SET_KEPT_MS };
    return setId;
  }

  /** Finds the rotations that the target lacks before it can accept newer proofs; `undefined`: one is not available. */
  #findMissing(setId: bigint | undefined): readonly RotationStep[] | undefined {
    if (setId === undefined) return undefined;
    const plan = planRotations(this.#index, setId);
    if (plan.kind === "rotations") return plan.steps;
    const { missing: missingSet } = plan;
    this.#tell("error", "proofs_unavailable.rotation", { missingSet }, `${missingSet}`);
    return undefined;
  }
}
