/** Loop of one leg: poll what the target can verify, scan new blocks, deliver due messages, wait. */
import type { CounterpartyView } from "../../core/chains/reads.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import { endpointBackoff, nextDelayMs } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { WaitEvent } from "../../core/telemetry/log.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { type Leg, legName, type LegRun, type Obstacle } from "./leg.ts";
import { MaturedHeights } from "../../core/chains/matured_heights.ts";
import { ScanWidth } from "./decisions/heights.ts";
import { MAX_IN_FLIGHT } from "./limits/competitors.ts";
import { answerGets } from "./deliver/answer_gets.ts";
import { deliverDue, type DeliveryInput } from "./deliver/deliver.ts";
import { expire } from "./receipts.ts";
import { holdBlocked, releaseBlocked } from "./obstacles.ts";
import { ProofDelivery, wakeUnpaid } from "./deliver/consensus_proofs.ts";
import { scanLeg, startCursor } from "./scan.ts";

/** Minimum pause between rounds, as a share of the poll interval, unless the leg is woken. */
const MIN_SHARE = 0.9;

/** Log event of the wait for each obstacle. */
const obstacleWaits: Readonly<Record<Obstacle["reason"], WaitEvent>> = {
  target_unprovable: "long_wait.state_proofs",
  source_not_accepted: "long_wait.acceptance",
  runtime_unsupported: "long_wait.runtime_support",
};

/** Result of a part of a round: continue at once, idle, or what is waited for. */
type Step = "more" | "idle" | WaitEvent;

/**
 * Creates rounds in which a leg without a worker delivers the payments of our own fees, and nothing else. Each reads
 * nothing from the source, and may throw an `RpcFault`.
 */
export function createPaymentRounds(leg: Leg): (signal: AbortSignal) => Promise<void> {
  const loop = new LegLoop({ ...leg, isForPayments: true, rewards: undefined });
  return (signal) => loop.runOnce(signal);
}

/** Creates the worker of a leg. */
export function legWorker(leg: Leg): Worker {
  const loop = new LegLoop(leg);
  return { name: legName(leg), run: (signal) => loop.run(signal) };
}

/** Loop of one leg with its state between rounds; all of it can be read again. */
class LegLoop {
  readonly #leg: Leg;
  readonly #notices: WaitNotices;
  readonly #proofs: ProofDelivery | undefined;
  readonly #scanWidth = new ScanWidth();
  readonly #heights: MaturedHeights;
  /** Height of the last round against which the target took proofs. */
  #provedBefore: bigint | undefined;
  #hasStarted = false;
  #isFrozen = false;
  /** True when the last check found an obstacle. */
  #isBlocked: boolean | undefined;
  #failures = 0;

  constructor(leg: Leg) {
    this.#leg = leg;
    this.#notices = new WaitNotices(leg);
    this.#heights = new MaturedHeights(leg.target);
    const everyMs = Math.round(leg.pollIntervalMs * MIN_SHARE);
    this.#proofs = leg.bundles === undefined ? undefined : new ProofDelivery(leg, leg.bundles, everyMs);
  }

  /** Runs rounds until aborted. A node that does not answer is expected: it is logged once and polled again. */
  async run(signal: AbortSignal): Promise<void> {
    const leg: LegRun = { ...this.#leg, signal };
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        pauseMs = await this.#round(leg);
        if (this.#failures >= 3) leg.log.info("leg_resumed", { leg: legName(leg) });
        this.#failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFault)) throw error;
        pauseMs = this.#pauseAfter(error);
      }
      await leg.wake.wait(pauseMs, signal);
    }
  }

  /** Runs one round. */
  async runOnce(signal: AbortSignal): Promise<void> {
    await this.#round({ ...this.#leg, signal });
  }

  /**
   * Runs one round; returns the pause before the next, ms. Messages that the target can already verify go first; the
   * hub is queried for accepted proofs only when none of those is left.
   */
  async #round(leg: LegRun): Promise<number> {
    const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
    this.#noteFreeze(view);
    // Messages time out even when nothing can be delivered.
    await expire(leg, view.nowSec);
    const obstacle = await this.#findObstacle(leg);
    if (obstacle !== undefined) return await this.#holdRound(leg, { obstacle, view });
    const known = view.height > 0n ? await this.#deliverKnown(leg, view) : undefined;
    if (known === "more" || await this.#deliverProved(leg, view)) return 0;
    if (known !== undefined && known !== "idle") return this.#waitForUpdate(known);
    if (!this.#hasStarted) return this.#waitForUpdate("long_wait.source_height");
    this.#notices.done("update");
    return this.#untilNextPoll();
  }

  /** Finds an obstacle that blocks the leg; messages held for it are released when it is gone. */
  async #findObstacle(leg: LegRun): Promise<Obstacle | undefined> {
    const obstacle = await leg.findObstacle?.(leg.signal);
    if (obstacle === undefined && this.#isBlocked !== false) {
      releaseBlocked(leg);
      this.#notices.done("obstacle");
      if (this.#isBlocked) leg.log.info("leg_unblocked", { leg: legName(leg) });
    }
    if (obstacle !== undefined && !this.#isBlocked) {
      const { reason, detail } = obstacle;
      leg.log.warn("leg_blocked", {
        leg: legName(leg),
        reason,
        detail,
      });
    }
    this.#isBlocked = obstacle !== undefined;
    return obstacle;
  }

  /** Runs a round behind an obstacle: new messages are read, held and time out; nothing is delivered. */
  async #holdRound(
    leg: LegRun,
    { obstacle, view }: { readonly obstacle: Obstacle; readonly view: CounterpartyView },
  ): Promise<number> {
    const isKnown = view.height > 0n;
    if (isKnown) await this.#start(leg, view);
    const isScanned = !isKnown || await this.#scan(leg, view);
    holdBlocked(leg, obstacle);
    if (!isScanned) return 0;
    const fields = { leg: legName(leg), explanation: obstacle.detail };
    this.#notices.waiting("obstacle", { event: obstacleWaits[obstacle.reason], fields });
    return this.#untilNextPoll();
  }

  /** Scans and delivers what the target can verify without further proofs. */
  async #deliverKnown(leg: LegRun, view: CounterpartyView): Promise<Step> {
    await this.#start(leg, view);
    const isScanned = await this.#scan(leg, view);
    if (view.isFrozen) return isScanned ? "long_wait.unfreeze" : "more";
    const proofHeight = await this.#heights.find(view, leg.source.id, leg.signal);
    if (proofHeight === undefined) return isScanned ? "long_wait.challenge_period" : "more";
    if (proofHeight !== this.#provedBefore) wakeUnpaid(leg);
    this.#provedBefore = proofHeight;
    // Most legs have nothing to do most of the time: one question instead of one for each thing to do.
    const { source, target } = leg;
    const hasOpen = leg.ledger.messages.hasOpen(source.id.stateMachine, target.id.stateMachine);
    if (!hasOpen) return isScanned ? "idle" : "more";
    if (await target.gates?.pollHost(leg.signal)) {
      leg.ledger.messages.wake(source.id.stateMachine, target.id.stateMachine, "gated");
    }
    const facts: DeliveryInput = { view, proofHeight, consensusProofs: [], hasMoreToCome: !isScanned };
    // A long catch-up continues while what it has found is delivered.
    const reading = isScanned ? undefined : this.#scan(leg, view, MAX_IN_FLIGHT);
    reading?.catch(() => undefined); // handled where it is awaited
    try {
      const { hasMore } = await deliverDue(leg, facts);
      const isMoreAsked = await answerGets(leg, facts);
      return hasMore || isMoreAsked || !isScanned ? "more" : "idle";
    } finally {
      await reading;
    }
  }

  /**
   * Sends messages that the target can verify only with consensus proofs in front: older messages neither pay for the
   * proofs nor wait for them. Returns true when there is more to scan at once.
   */
  async #deliverProved(leg: LegRun, view: CounterpartyView): Promise<boolean> {
    const found = await this.#proofs?.poll(leg, view);
    if (found === undefined) return false;
    const provable = { ...view, height: found.height };
    // A target that knows no height yet may receive its first one together with messages.
    await this.#start(leg, provable);
    const isScanned = await this.#scan(leg, provable);
    if (!found.isUnderWay) await this.#proofs?.deliver(leg, view);
    return !isScanned;
  }

  /** Sets the cursor in the first round after a start. */
  async #start(leg: LegRun, view: CounterpartyView): Promise<void> {
    if (this.#hasStarted) return;
    const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
    if (leg.isForPayments !== true) await startCursor(leg, view);
    // Configuration and gates may have changed while the program was off.
    for (const reason of ["no_fee_source", "gated"] as const) {
      leg.ledger.messages.wake(source, target, reason);
    }
    this.#hasStarted = true;
  }

  /**
   * Continues the scan until there is enough for some batches; true when nothing is left. Messages found are not delayed
   * by a long catch-up.
   */
  async #scan(leg: LegRun, view: CounterpartyView, batches = 1): Promise<boolean> {
    if (leg.isForPayments === true) return true;
    const pace = {
      width: this.#scanWidth,
      enough: leg.target.limits.maxMessagesPerStep * batches,
      enoughMs: leg.pollIntervalMs,
    };
    const { isComplete } = await scanLeg(leg, view, pace);
    return isComplete;
  }

  #waitForUpdate(event: WaitEvent): number {
    this.#notices.waiting("update", { event, fields: { leg: legName(this.#leg) } });
    return this.#untilNextPoll();
  }

  #pauseAfter(fault: RpcFault): number {
    this.#failures++;
    const againInMs = nextDelayMs(endpointBackoff, this.#failures, this.#leg.random.fraction());
    const event = this.#failures < 3 ? "poll_failed" : "leg_paused";
    const level = this.#failures === 3 ? "warn" : "debug";
    this.#leg.log[level](event, { leg: legName(this.#leg), againInMs, error: fault });
    return againInMs;
  }

  /** Legs of one process poll at the same time, so that they share what they read. */
  #untilNextPoll(): number {
    const { clock, pollIntervalMs, pollPhaseMs } = this.#leg;
    const leftMs = pollIntervalMs - (clock.now() - pollPhaseMs) % pollIntervalMs;
    return leftMs < pollIntervalMs * (1 - MIN_SHARE) ? leftMs + pollIntervalMs : leftMs;
  }

  /** Logs when the target, or its client of the source, freezes and when that ends. */
  #noteFreeze({ isFrozen }: Pick<CounterpartyView, "isFrozen">): void {
    if (isFrozen === this.#isFrozen) return;
    this.#isFrozen = isFrozen;
    const { source, target, log } = this.#leg;
    const fields = { leg: legName(this.#leg), chain: target.id.stateMachine };
    if (!isFrozen) {
      log.info("host_resumed", fields);
    } else if (target.capabilities.freezes === "host") {
      log.warn("host_unusable.frozen", fields);
    } else {
      const client = source.id.consensusStateId;
      log.warn("client_unusable.frozen", {
        ...fields,
        client,
      });
    }
  }
}
