/** The loop of one leg: look what the sink can verify, read what is new, deliver what is due, wait. */
import type { CounterpartyView } from "../../core/chains/chain.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import { nextDelayMs, transientBackoff } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import {
  type ChallengeRule,
  isMatured,
  newestMatured,
  rememberHeights,
  type StoredHeight,
} from "../decisions/readiness.ts";
import { ScanWidth } from "../decisions/scan_range.ts";
import { answerGets } from "./answer_gets.ts";
import { type NextProofs, ProofFollower } from "./bundle.ts";
import { deliverDue, type DeliveryFacts, hasRoomInFlight } from "./deliver.ts";
import { type Leg, legName, type PipelineDeps, type PipelineSettings } from "./leg.ts";
import { scanLeg, startCursor } from "./scan.ts";
import { isRotationUnderWay, sendConsensus } from "./send.ts";

/** Pause after rotations were refused, ms: each try costs a simulation and a line in the log. */
const ROTATION_PAUSE_MS = 60_000;

/** Makes the worker of a leg. */
export function legWorker(deps: PipelineDeps, settings: PipelineSettings, leg: Leg): Worker {
  const loop = new LegLoop(deps, settings, leg);
  return { name: legName(leg), run: (signal) => loop.run(signal) };
}

/** What a leg remembers between rounds; everything in it can be read anew. */
class LegLoop {
  readonly #deps: PipelineDeps;
  readonly #settings: PipelineSettings;
  readonly #leg: Leg;
  readonly #notices: WaitNotices;
  readonly #proofs: ProofFollower | undefined;
  readonly #scanWidth = new ScanWidth();
  #stored: readonly StoredHeight[] = [];
  /** Height of the last round against which the sink took proofs. */
  #provedBefore: bigint | undefined;
  /** Height of the newest proof that was sent together with messages. */
  #bundledHeight: bigint | undefined;
  /** Rotations that were refused are left alone until then. */
  #rotateAfterMs = 0;
  #hasStarted = false;
  #failures = 0;

  constructor(deps: PipelineDeps, settings: PipelineSettings, leg: Leg) {
    this.#deps = deps;
    this.#settings = settings;
    this.#leg = leg;
    this.#notices = new WaitNotices(deps);
    this.#proofs = leg.bundles === undefined ? undefined : new ProofFollower(leg.bundles, deps.log);
  }

  /** Runs rounds until aborted. A node that does not answer is expected: it is told once and asked again. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        pauseMs = await this.#round(signal);
        if (this.#failures > 0) this.#tellRecovery();
        this.#failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFault) || error.reaction === "stop") throw error;
        pauseMs = this.#pauseAfter(error);
      }
      await this.#leg.wake.wait(pauseMs, signal);
    }
  }

  /** One round; returns how long to wait before the next. */
  async #round(signal: AbortSignal): Promise<number> {
    const leg = this.#leg;
    const view = await leg.sink.fetchView(leg.source.id, signal);
    const next = await this.#proofs?.next(view, signal);
    if (next?.kind === "rotations") await this.#rotate(next.proofs, signal);
    const bundle = next?.kind === "prelude" ? next : undefined;
    // A sink that knows no height yet may get its first one together with messages.
    const firstHeight = view.height > 0n ? view.height : bundle?.height;
    if (firstHeight === undefined) return this.#waitForUpdate("the sink to learn a height of the source");
    if (!this.#hasStarted) {
      await startCursor(this.#deps, leg, { ...view, height: firstHeight }, signal);
      this.#deps.ledger.messages.wake(leg.source.id.stateMachine, leg.sink.id.stateMachine, "no_fee_source");
      this.#hasStarted = true;
    }
    const observed = bundle === undefined ? view : { ...view, height: bundle.height };
    await scanLeg(this.#deps, this.#settings, leg, observed, signal, this.#scanWidth);
    if (view.isFrozen) return this.#waitForUpdate("the host to accept messages again (it is frozen)");
    const proofHeight = await this.#proofHeight(view, signal);
    if (proofHeight === undefined) return this.#waitForUpdate("the challenge period to end");
    this.#notices.done("update");
    const facts: DeliveryFacts = { view, proofHeight, prelude: [], isPreludeSentAnyway: false };
    const hasMore = await this.#deliver(facts, bundle, signal);
    const answered = await answerGets(this.#deps, this.#settings, leg, facts, signal);
    return hasMore || answered.hasMore ? 0 : this.#jittered(leg.pollIntervalMs);
  }

  /**
   * Delivers what the sink can verify by itself, then what needs the proof in front: the older messages neither pay
   * for it nor wait for it.
   */
  async #deliver(
    facts: DeliveryFacts,
    bundle: Extract<NextProofs, { kind: "prelude" }> | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (facts.proofHeight !== this.#provedBefore) this.#wakeUncovered();
    this.#provedBefore = facts.proofHeight;
    const plain = await deliverDue(this.#deps, this.#settings, this.#leg, facts, signal);
    if (plain.hasMore || bundle === undefined) return plain.hasMore;
    // A second transaction with the same proof, or an older one, would be paid for and do nothing.
    if (this.#isBundleUnderWay(facts.view)) return false;
    // Together with what is due now they may pay for the proof.
    if (this.#isAnyDue()) this.#wakeUncovered();
    const bundled = { ...facts, proofHeight: bundle.height, prelude: [bundle.proof] };
    const { sent } = await deliverDue(this.#deps, this.#settings, this.#leg, bundled, signal);
    if (sent > 0) this.#bundledHeight = bundle.height;
    return false;
  }

  /** True while a proof that travels with messages of ours has not arrived: the sink will know its height soon. */
  #isBundleUnderWay(view: CounterpartyView): boolean {
    if (this.#bundledHeight === undefined || view.height >= this.#bundledHeight) return false;
    return this.#deps.ledger.submissions.listUnresolved(this.#leg.sink.id.stateMachine)
      .some(({ kind, state }) => kind === "delivery" && state !== "included");
  }

  /** Messages that did not pay for a proof are looked at again, whatever their schedule says. */
  #wakeUncovered(): void {
    if (this.#proofs === undefined) return;
    const { source, sink } = this.#leg;
    this.#deps.ledger.messages.wake(source.id.stateMachine, sink.id.stateMachine, "prelude_uncovered");
  }

  #isAnyDue(): boolean {
    const dueAtMs = this.#deps.ledger.messages.nextDueAt(
      this.#leg.source.id.stateMachine,
      this.#leg.sink.id.stateMachine,
    );
    return dueAtMs !== undefined && dueAtMs <= this.#deps.clock.now();
  }

  /** Sends rotations alone, one transaction at a time: the next ones follow when the host knows the authorities. */
  async #rotate(proofs: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    if (this.#deps.clock.now() < this.#rotateAfterMs || isRotationUnderWay(this.#deps, this.#leg)) return;
    if (!hasRoomInFlight(this.#deps, this.#leg)) return;
    const isSent = await sendConsensus(this.#deps, this.#leg, proofs, signal);
    if (!isSent) this.#rotateAfterMs = this.#deps.clock.now() + ROTATION_PAUSE_MS;
  }

  #waitForUpdate(what: string): number {
    this.#notices.waiting("update", { what, fields: { leg: legName(this.#leg) } });
    return this.#jittered(this.#leg.pollIntervalMs);
  }

  /** Newest height of the source against which the sink takes proofs now. */
  async #proofHeight(view: CounterpartyView, signal: AbortSignal): Promise<bigint | undefined> {
    const rule: ChallengeRule = {
      nowSec: view.nowSec,
      challengePeriodSec: view.challengePeriodSec,
      comparison: this.#leg.sink.family === "evm" ? "reached" : "strict",
    };
    if (isMatured(view.nowSec, rule)) return view.height;
    if (!this.#stored.some(({ height }) => height === view.height)) {
      const at = { id: this.#leg.source.id, height: view.height };
      const updatedAtSec = await this.#leg.sink.fetchUpdateTime(at, signal);
      if (updatedAtSec !== undefined) this.#stored = [...this.#stored, { height: view.height, updatedAtSec }];
    }
    this.#stored = rememberHeights(this.#stored, view.height, rule);
    return newestMatured(this.#stored, rule);
  }

  #pauseAfter(fault: RpcFault): number {
    this.#failures++;
    const fields = { leg: legName(this.#leg), error: fault };
    if (this.#failures === 3) this.#deps.log.warn("Leg waits for an endpoint", fields);
    else this.#deps.log.debug("Leg is interrupted", fields);
    const delayMs = nextDelayMs(transientBackoff, this.#failures, this.#deps.random.fraction());
    return Math.max(
      Math.min(delayMs, this.#leg.pollIntervalMs * 2 ** this.#failures),
      fault.retryAfterMs ?? 0,
    );
  }

  #tellRecovery(): void {
    if (this.#failures >= 3) this.#deps.log.info("Leg goes on", { leg: legName(this.#leg) });
  }

  /** Within 10 % of the interval, so that relayers that started together drift apart. */
  #jittered(ms: number): number {
    return Math.round(ms * (0.9 + 0.2 * this.#deps.random.fraction()));
  }
}
