/** Loop of one leg: poll what the target can verify, scan new blocks, deliver due messages, wait. */
import type { CounterpartyView } from "../../core/chains/port.ts";
import { type NextProofs, ProofFollower } from "./deliver/proof_follower.ts";
import { MAX_PROOFS_AT_ONCE } from "../../core/chains/transaction_bytes.ts";
import type { MessageRow } from "../ledger/ledger.ts";
import { toHash256 } from "../../core/encoding/bytes.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import { nextDelayMs, transientBackoff } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { WaitEvent } from "../../core/telemetry/events.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { type Leg, legName, type Obstacle, type PipelineDeps, type PipelineSettings } from "./leg.ts";
import {
  type ChallengeRule,
  isMatured,
  newestMatured,
  rememberHeights,
  ScanWidth,
  type StoredHeight,
} from "./decisions/heights.ts";
import { answerGets } from "./deliver/answer_gets.ts";
import { countCallBytes, deliverDue, type DeliveryInput } from "./deliver/deliver.ts";
import { expire } from "./receipts.ts";
import { hasRoomInFlight, maxTransactionBytes, roomForMessages } from "./limits/capacity.ts";
import { holdHindered, wakeHindered } from "./obstacles.ts";
import { RewardedRotations, type RotationResult, sendAhead } from "./deliver/rotations.ts";
import { scanLeg, startCursor } from "./scan.ts";
import { isProofUnderWay } from "./deliver/send.ts";
import type { Log } from "../../core/telemetry/log.ts";

/** Pause after proofs without messages were refused or are not paid for, ms: each attempt costs a simulation. */
const ROTATION_PAUSE_MS = 60_000;

/** Minimum pause between rounds, as a share of the poll interval, unless the leg is woken. */
const MIN_SHARE = 0.9;

/** Upper bounds that sort after every message of a height in the ledger's order. */
const LAST_NONCE = 2n ** 64n - 1n;

const LAST_COMMITMENT = toHash256(`0x${"f".repeat(64)}`);

/** Log event of the wait for each obstacle. */
const obstacleWaits: Readonly<Record<Obstacle["reason"], WaitEvent>> = {
  sink_unprovable: "state_proofs_awaited",
  source_not_accepted: "acceptance_awaited",
};

/** Result of a part of a round: continue at once, idle, or waiting for something that is logged. */
type Step = { readonly kind: "more" } | { readonly kind: "idle" } | {
  readonly kind: "waits";
  readonly event: WaitEvent;
};

/** Creates the worker of a leg. */
export function legWorker(deps: PipelineDeps, settings: PipelineSettings, leg: Leg): Worker {
  const loop = new LegLoop(deps, settings, leg);
  return { name: legName(leg), run: (signal) => loop.run(signal) };
}

/** Loop of one leg with its state between rounds; all of it can be read again. */
class LegLoop {
  readonly #deps: PipelineDeps;
  readonly #settings: PipelineSettings;
  readonly #leg: Leg;
  readonly #notices: WaitNotices;
  readonly #freezes: FreezeNotices;
  readonly #proofs: ProofFollower | undefined;
  readonly #scanWidth = new ScanWidth();
  #stored: readonly StoredHeight[] = [];
  /** Height of the last round against which the target took proofs. */
  #provedBefore: bigint | undefined;
  /** Rotations alone, and proofs ahead of messages, are not attempted before this time. */
  #rotateAfterMs = 0;
  #aheadAfterMs = 0;
  readonly #rewarded: RewardedRotations;
  #hasStarted = false;
  /** True when the last check found an obstacle. */
  #isHindered: boolean | undefined;
  #failures = 0;

  constructor(deps: PipelineDeps, settings: PipelineSettings, leg: Leg) {
    this.#deps = deps;
    this.#settings = settings;
    this.#leg = leg;
    this.#notices = new WaitNotices(deps);
    this.#rewarded = new RewardedRotations(deps, settings, leg);
    this.#freezes = new FreezeNotices(deps.log, leg);
    this.#proofs = leg.bundles === undefined ? undefined : new ProofFollower(leg.bundles, {
      clock: deps.clock,
      log: deps.log,
      everyMs: Math.round(leg.pollIntervalMs * MIN_SHARE),
    });
  }

  /** Runs rounds until aborted. A node that does not answer is expected: it is logged once and polled again. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        pauseMs = await this.#round(signal);
        if (this.#failures > 0) this.#logRecovery();
        this.#failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFault) || error.reaction === "stop") throw error;
        pauseMs = this.#pauseAfter(error);
      }
      await this.#leg.wake.wait(pauseMs, signal);
    }
  }

  /**
   * Runs one round; returns the pause before the next, ms. Messages that the target can already verify go first; the
   * hub is queried for accepted proofs only when none of those is left.
   */
  async #round(signal: AbortSignal): Promise<number> {
    const leg = this.#leg;
    const view = await leg.target.fetchView(leg.source.id, signal);
    this.#freezes.note(view);
    const obstacle = await this.#findObstacle(signal);
    if (obstacle !== undefined) return await this.#goRound(obstacle, view, signal);
    const known = view.height > 0n ? await this.#deliverKnown(view, signal) : undefined;
    if (known?.kind === "more" || await this.#deliverProved(view, signal)) return 0;
    // Messages time out even when nothing can be delivered.
    if (known?.kind !== "idle") await expire(this.#deps, this.#settings, this.#leg, view.nowSec, signal);
    if (known?.kind === "waits") return this.#waitForUpdate(known.event);
    if (!this.#hasStarted) return this.#waitForUpdate("source_height_awaited");
    this.#notices.done("update");
    return this.#jittered(leg.pollIntervalMs);
  }

  /** Finds an obstacle that blocks the leg; messages held for it are released when it is gone. */
  async #findObstacle(signal: AbortSignal): Promise<Obstacle | undefined> {
    const obstacle = await this.#leg.findObstacle?.(signal);
    if (obstacle === undefined && this.#isHindered !== false) {
      wakeHindered(this.#deps, this.#leg);
      this.#notices.done("obstacle");
      if (this.#isHindered) this.#deps.log.info("leg_resumed", { leg: legName(this.#leg) });
    }
    if (obstacle !== undefined && !this.#isHindered) {
      const { reason, detail } = obstacle;
      this.#deps.log.warn("leg_blocked", {
        leg: legName(this.#leg),
        reason,
        detail,
      });
    }
    this.#isHindered = obstacle !== undefined;
    return obstacle;
  }

  /** Runs a round behind an obstacle: new messages are read, held and time out; nothing is delivered. */
  async #goRound(obstacle: Obstacle, view: CounterpartyView, signal: AbortSignal): Promise<number> {
    const isKnown = view.height > 0n;
    if (isKnown) await this.#start(view, signal);
    const isScanned = !isKnown || await this.#scan(view, signal);
    await expire(this.#deps, this.#settings, this.#leg, view.nowSec, signal);
    holdHindered(this.#deps, this.#leg, obstacle);
    if (!isScanned) return 0;
    const fields = { leg: legName(this.#leg), explanation: obstacle.detail };
    this.#notices.waiting("obstacle", { event: obstacleWaits[obstacle.reason], fields });
    return this.#jittered(this.#leg.pollIntervalMs);
  }

  /** Scans and delivers what the target can verify without further proofs. */
  async #deliverKnown(view: CounterpartyView, signal: AbortSignal): Promise<Step> {
    await this.#start(view, signal);
    const isScanned = await this.#scan(view, signal);
    const more: Step = { kind: "more" };
    if (view.isFrozen) {
      return isScanned ? { kind: "waits", event: "unfreeze_awaited" } : more;
    }
    const proofHeight = await this.#proofHeight(view, signal);
    if (proofHeight === undefined) {
      return isScanned ? { kind: "waits", event: "challenge_period_awaited" } : more;
    }
    if (proofHeight !== this.#provedBefore) this.#wakeUncovered();
    this.#provedBefore = proofHeight;
    const facts: DeliveryInput = { view, proofHeight, consensusProofs: [] };
    const { hasMore } = await deliverDue(this.#deps, this.#settings, this.#leg, facts, signal);
    const answered = await answerGets(this.#deps, this.#settings, this.#leg, facts, signal);
    return hasMore || answered.hasMore || !isScanned ? more : { kind: "idle" };
  }

  /**
   * Sends rotations that the hub's reward pays for, and messages that the target can verify only with proofs in front:
   * older messages neither pay for the proofs nor wait for them. Proof bytes are fetched only when they are paid for.
   * Returns true when there is more to scan at once.
   */
  async #deliverProved(view: CounterpartyView, signal: AbortSignal): Promise<boolean> {
    const follower = this.#proofs;
    const seen = await follower?.poll(view, signal);
    if (follower === undefined || seen === undefined) return false;
    const isUnderWay = isProofUnderWay(this.#deps, this.#leg, view.height);
    const isRotating = !isUnderWay && seen.missingSets.length > 0 &&
      await this.#rotate(follower, view, seen.missingSets, signal);
    if (isRotating || seen.height === undefined) return false;
    const provable = { ...view, height: seen.height };
    // A target that knows no height yet may receive its first one together with messages.
    await this.#start(provable, signal);
    const isScanned = await this.#scan(provable, signal);
    const mayBundle = !isUnderWay && this.#listDueAbove(view, 1).length > 0 &&
      hasRoomInFlight(this.#deps, this.#leg);
    const wanted = { what: "all", maxBytes: maxTransactionBytes(this.#deps, this.#leg.target) } as const;
    const next = mayBundle ? await follower.load(view, wanted, signal) : undefined;
    if (next !== undefined) await this.#carry(view, next, signal);
    return !isScanned;
  }

  /**
   * Sends messages with the proofs in front; if not everything fits into one transaction, the first proofs ahead of
   * them.
   */
  async #carry(view: CounterpartyView, next: NextProofs, signal: AbortSignal): Promise<void> {
    const { proofs, left, height } = next;
    const room = roomForMessages(this.#deps, this.#leg.target, proofs);
    const page = this.#leg.target.limits.maxMessagesPerStep;
    const fits = left === 0 &&
      this.#listDueAbove(view, page).some((row) => countCallBytes({ row }) <= room);
    // Together with what is due now they may pay for the proofs.
    if (fits) {
      this.#wakeUncovered();
      const facts = { view, proofHeight: height, consensusProofs: proofs };
      await deliverDue(this.#deps, this.#settings, this.#leg, facts, signal);
      return;
    }
    if (this.#deps.clock.now() < this.#aheadAfterMs) return;
    this.#wakeUncovered();
    const result = await sendAhead(this.#deps, this.#settings, this.#leg, { view, ...next }, signal);
    this.#aheadAfterMs = this.#pauseUntilMs(result);
  }

  /** Sets the cursor in the first round after a start. */
  async #start(view: CounterpartyView, signal: AbortSignal): Promise<void> {
    if (this.#hasStarted) return;
    const { source, target } = this.#leg;
    await startCursor(this.#deps, this.#leg, view, signal);
    this.#deps.ledger.messages.wake(source.id.stateMachine, target.id.stateMachine, "no_fee_source");
    this.#hasStarted = true;
  }

  /** Continues the scan; true when nothing is left. Messages found are not delayed by a long catch-up. */
  async #scan(view: CounterpartyView, signal: AbortSignal): Promise<boolean> {
    const leg = this.#leg;
    const pace = {
      width: this.#scanWidth,
      enough: leg.target.limits.maxMessagesPerStep,
      enoughMs: leg.pollIntervalMs,
    };
    const { isComplete } = await scanLeg(this.#deps, this.#settings, leg, view, signal, pace);
    return isComplete;
  }

  /** Makes messages due that did not pay for a proof, regardless of their schedule. */
  #wakeUncovered(): void {
    if (this.#proofs === undefined) return;
    const { source, target } = this.#leg;
    this.#deps.ledger.messages.wake(
      source.id.stateMachine,
      target.id.stateMachine,
      "consensus_proofs_unprofitable",
    );
  }

  /** Lists due messages that the target cannot verify yet. */
  #listDueAbove({ height, nowSec }: CounterpartyView, limit: number): readonly MessageRow[] {
    return this.#deps.ledger.messages.listDue({
      source: this.#leg.source.id.stateMachine,
      target: this.#leg.target.id.stateMachine,
      nowMs: this.#deps.clock.now(),
      limit,
      targetNowSec: nowSec,
      afterKey: { seenAtHeight: height, nonce: LAST_NONCE, commitment: LAST_COMMITMENT },
    });
  }

  /**
   * Sends rotations alone when the hub's reward pays for them, one transaction at a time: the next ones follow when the
   * host knows the authorities. True when they were sent.
   */
  async #rotate(
    follower: ProofFollower,
    view: CounterpartyView,
    sets: readonly bigint[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const now = this.#deps.clock.now();
    if (this.#leg.rewards === undefined || now < this.#rotateAfterMs) return false;
    if (!hasRoomInFlight(this.#deps, this.#leg)) return false;
    const wanted = {
      what: "rotations",
      maxBytes: maxTransactionBytes(this.#deps, this.#leg.target),
    } as const;
    const rewards = await this.#rewarded.fetchRewards(sets.slice(0, MAX_PROOFS_AT_ONCE), signal);
    const next = rewards === undefined ? undefined : await follower.load(view, wanted, signal);
    // The node does not have the bytes yet, or the host already has the sets.
    if (rewards !== undefined && next === undefined) return false;
    const result = rewards === undefined || next === undefined
      ? "held"
      : await this.#rewarded.send(next.proofs, rewards, signal);
    this.#rotateAfterMs = this.#pauseUntilMs(result);
    return result === "sent" || result === "known";
  }

  #pauseUntilMs(result: RotationResult): number {
    return result === "sent" || result === "known" ? 0 : this.#deps.clock.now() + ROTATION_PAUSE_MS;
  }

  #waitForUpdate(event: WaitEvent): number {
    this.#notices.waiting("update", { event, fields: { leg: legName(this.#leg) } });
    return this.#jittered(this.#leg.pollIntervalMs);
  }

  /** Finds the newest height of the source against which the target accepts proofs now. */
  async #proofHeight(view: CounterpartyView, signal: AbortSignal): Promise<bigint | undefined> {
    const rule: ChallengeRule = {
      nowSec: view.nowSec,
      challengePeriodSec: view.challengePeriodSec,
      comparison: this.#leg.target.family === "evm" ? "reached" : "strict",
    };
    if (isMatured(view.nowSec, rule)) return view.height;
    if (!this.#stored.some(({ height }) => height === view.height)) {
      const at = { id: this.#leg.source.id, height: view.height };
      const updatedAtSec = await this.#leg.target.fetchUpdateTime(at, signal);
      if (updatedAtSec !== undefined) this.#stored = [...this.#stored, { height: view.height, updatedAtSec }];
    }
    this.#stored = rememberHeights(this.#stored, view.height, rule);
    return newestMatured(this.#stored, rule);
  }

  #pauseAfter(fault: RpcFault): number {
    this.#failures++;
    const fields = { leg: legName(this.#leg), error: fault };
    if (this.#failures === 3) this.#deps.log.warn("leg_paused", fields);
    else this.#deps.log.debug("poll_failed", fields);
    const delayMs = nextDelayMs(transientBackoff, this.#failures, this.#deps.random.fraction());
    return Math.max(
      Math.min(delayMs, this.#leg.pollIntervalMs * 2 ** this.#failures),
      fault.retryAfterMs ?? 0,
    );
  }

  #logRecovery(): void {
    if (this.#failures >= 3) this.#deps.log.info("leg_resumed", { leg: legName(this.#leg) });
  }

  /** Adds jitter within 10 % of the interval, so that relayers that started together drift apart. */
  #jittered(ms: number): number {
    return Math.round(ms * (MIN_SHARE + 0.2 * this.#deps.random.fraction()));
  }
}

/** Reported state of one leg. */
export class FreezeNotices {
  readonly #log: Log;
  readonly #leg: Leg;
  #isFrozen = false;

  constructor(log: Log, leg: Leg) {
    this.#log = log;
    this.#leg = leg;
  }

  /** Records the state observed in a round. */
  note({ isFrozen }: Pick<CounterpartyView, "isFrozen">): void {
    if (isFrozen === this.#isFrozen) return;
    this.#isFrozen = isFrozen;
    const { source, target } = this.#leg;
    const fields = { leg: legName(this.#leg), chain: target.id.stateMachine };
    if (!isFrozen) {
      this.#log.info("freeze_ended", fields);
    } else if (target.family === "evm") {
      this.#log.warn("host_frozen", fields);
    } else {
      const client = source.id.consensusStateId;
      this.#log.warn("client_frozen", {
        ...fields,
        client,
      });
    }
  }
}
