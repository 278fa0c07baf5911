/**
 * Sends proofs to an EVM host and follows the transaction to its end: mined, replaced at a higher price when it is
 * stuck, or cancelled when another relayer was faster. There is no database: all state is read from the chain at each
 * poll. Start reading at {@link sendProofs}.
 */
import type { Chain } from "../../../core/chains/port.ts";
import type { Replacement, ReplacementDecision, ReplacementState } from "../../../core/chains/replacement.ts";
import { decideReplacement, MAX_REPLACEMENTS, MAX_TIMES_MARKET } from "../../../core/chains/replacement.ts";
import type {
  Delivery,
  SignedSubmission,
  Simulation,
  SubmissionOutcome,
} from "../../../core/chains/submission.ts";
import { highestPriceWei, lowest, TRANSFER_GAS } from "../../../core/chains/evm/gas.ts";
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import { awaitLogged } from "../../../core/runtime/waiting.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { SubmitResult } from "../../deliver_update.ts";
import { delayAbort, SHUTDOWN_GRACE_MS } from "../../poll_loop.ts";
import type { DailyLoss } from "./daily_loss.ts";

/** Parts of the chain that sending needs. */
export type SendingChain =
  & Pick<Chain, "id" | "simulator" | "sender" | "outcomes">
  & { readonly replacement: Pick<Replacement, "fetchReplacementState" | "resign" | "cancel"> };

/** Dependencies of sending. */
export interface SendDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly chain: SendingChain;
  /** `maximum_daily_loss`; absent: there is no limit. */
  readonly loss?: DailyLoss | undefined;
}

/** Proofs for one transaction. */
export interface ProofsToSend {
  readonly proofs: readonly Uint8Array[];
  /**
   * Reads the host again: true while it still needs every proof. @param counting `pool`: proofs pending in the mempool
   * count as known; wrong once our own transaction is there.
   */
  readonly isStillNeeded: (counting: "blocks" | "pool", signal: AbortSignal) => Promise<boolean>;
}

/** Interval between two polls of a transaction. */
const POLL_MS = 2_000;

/** A transaction that no node knows any more is broadcast again after this time. */
const REBROADCAST_AFTER_MS = 30_000;

/** Simulates, reads the host once more, signs, sends and follows a transaction. */
export async function sendProofs(
  deps: SendDeps,
  { proofs, isStillNeeded }: ProofsToSend,
  signal: AbortSignal,
): Promise<SubmitResult> {
  const { chain, loss } = deps;
  const delivery = toDelivery(proofs);
  const simulation = await simulateProofs(chain, proofs, signal);
  if (!await isStillNeeded("pool", signal)) return { kind: "overtaken" };
  if (simulation.kind === "refused") return simulation;
  const { gasLimit, maxDataCostWei: dataCostWei = simulation.dataCostWei } = simulation;
  const maxGasPriceWei = await loss?.boundWei({ gasLimit, dataCostWei }, signal);
  const signed = await chain.sender.sign(
    delivery,
    { simulation, nonceAtLeast: undefined, maxGasPriceWei },
    signal,
  );
  if (signed.kind === "overtaken" || signed.kind === "proofs_known") return { kind: "overtaken" };
  if (signed.kind === "refused") {
    const { code, detail } = signed.refusal;
    // No fees pay for proofs: the limit alone bounds their price.
    if (code !== "too_expensive" || loss === undefined) return signed;
    return { kind: "refused", refusal: { code, detail: loss.refuse(detail) } };
  }
  await loss?.note(signed.submission, signal);
  const sent = await chain.sender.broadcast(signed.submission, signal);
  switch (sent.kind) {
    case "refused":
      return sent;
    case "underpriced":
      return { kind: "lost", reason: "another transaction of the account has its nonce (underpriced)" };
    case "sent":
    case "nonceUsed":
    case "alreadyKnown":
      deps.log.debug("proofs_sent", { transaction: signed.submission.hash, proofs: proofs.length });
      return await new NonceSubmissions(deps, signed.submission, isStillNeeded).follow(signal);
  }
}

/** Simulates a transaction with proofs at the current state of the chain. */
export function simulateProofs(
  chain: Pick<SendingChain, "simulator">,
  proofs: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<Simulation> {
  return chain.simulator.simulate(toDelivery(proofs), signal);
}

function toDelivery(proofs: readonly Uint8Array[]): Delivery {
  return { steps: proofs.map((proof) => ({ kind: "consensus", proof })) };
}

/** A nonce with our transactions that compete for it. */
class NonceSubmissions {
  readonly #deps: SendDeps;
  readonly #isStillNeeded: ProofsToSend["isStillNeeded"];
  /** The newest is the last. */
  readonly #submissions: SignedSubmission[];
  /** Those of them that are cancellations. */
  readonly #cancelling = new Set<SignedSubmission>();
  #sentAtMs: number;
  /** Time of the newest one's last broadcast. */
  #broadcastAtMs: number;
  #replacements = 0;

  constructor(deps: SendDeps, first: SignedSubmission, isStillNeeded: ProofsToSend["isStillNeeded"]) {
    this.#deps = deps;
    this.#submissions = [first];
    this.#isStillNeeded = isStillNeeded;
    this.#sentAtMs = deps.clock.now();
    this.#broadcastAtMs = this.#sentAtMs;
  }

  async follow(signal: AbortSignal): Promise<SubmitResult> {
    const awaited = { event: "long_wait.proofs_inclusion" } as const;
    const last = delayAbort(this.#deps.clock, signal, SHUTDOWN_GRACE_MS);
    try {
      return await awaitLogged(this.#deps, awaited, () => this.#watch(last.signal));
    } catch (error) {
      if (last.signal.aborted) {
        const transaction = this.#submissions.at(-1)?.hash;
        this.#deps.log.info("proofs_failed.interrupted", { transaction });
      }
      throw error;
    } finally {
      last.end();
    }
  }

  async #watch(signal: AbortSignal): Promise<SubmitResult> {
    for (;;) {
      await this.#deps.clock.sleep(POLL_MS, signal);
      try {
        const result = await this.#poll(signal);
        if (result !== undefined) return result;
        await this.#advance(signal);
      } catch (error) {
        // The transaction has been broadcast: it is followed to its end, whatever an endpoint answers.
        if (!(error instanceof RpcFault)) throw error;
        this.#deps.log.debug("read_failed.inclusion", { error });
      }
    }
  }

  /** Reads the outcome of the transactions of this nonce; `undefined`: still pending. */
  async #poll(signal: AbortSignal): Promise<SubmitResult | undefined> {
    let isOpen = false;
    for (const submission of this.#submissions.toReversed()) {
      const outcome = await this.#deps.chain.outcomes.fetchOutcome(submission, signal);
      if (outcome.kind === "included") return this.#included(submission, outcome);
      if (outcome.kind !== "replaced") isOpen = true;
    }
    if (isOpen) return undefined;
    return { kind: "lost", reason: "another transaction of the account used its nonce" };
  }

  #included(
    submission: SignedSubmission,
    outcome: Extract<SubmissionOutcome, { kind: "included" }>,
  ): SubmitResult {
    const result = this.#resultOf(submission, outcome);
    if (outcome.spent !== undefined) {
      const { dataCostWei, gasPriceWei, gasUsed } = outcome.spent;
      this.#deps.log.info("proofs_gas_spent", {
        transaction: submission.hash,
        result: result.kind,
        gas: gasUsed,
        spent: formatDecimal(gasUsed * gasPriceWei + dataCostWei, 18),
      });
    }
    return result;
  }

  #resultOf(
    submission: SignedSubmission,
    outcome: Extract<SubmissionOutcome, { kind: "included" }>,
  ): SubmitResult {
    if (this.#cancelling.has(submission)) {
      return { kind: "lost", reason: "it was cancelled" };
    }
    if (outcome.succeeded) {
      const kind = outcome.advancedClient === false ? "wasted" : "accepted";
      const { block, spent } = outcome;
      return { kind, block: block.height, transaction: submission.hash, ...spent && { spent } };
    }
    const refusal = outcome.refusal ?? { code: "unspecified", detail: "the transaction failed" };
    return { kind: "refused", refusal };
  }

  /** Replaces, cancels or rebroadcasts a transaction that is pending for too long. */
  async #advance(signal: AbortSignal): Promise<void> {
    const { chain, clock } = this.#deps;
    const newest = this.#submissions.at(-1);
    if (newest?.nonce === undefined) throw new Error("A submission without nonce");
    const nowMs = clock.now();
    if (nowMs - this.#sentAtMs < REBROADCAST_AFTER_MS) return;
    const terms = await chain.replacement.fetchReplacementState(newest, signal);
    const isCancel = this.#cancelling.has(newest);
    const isStale = !isCancel && !await this.#isStillNeeded("blocks", signal);
    const decision = decideReplacement({
      nonce: newest.nonce,
      price: terms.offered,
      isCancel,
      isHandlerReplaced: terms.isHandlerReplaced,
      // A transaction that would change nothing any more is cancelled instead of replaced.
      replacements: isStale ? MAX_REPLACEMENTS : this.#replacements,
      sentAtMs: this.#sentAtMs,
      nowMs,
      latestNonce: terms.nonces.latest,
      market: terms.market,
      ...await this.#capsOf(terms, newest, signal),
    });
    await this.#apply(decision, newest, signal);
  }

  async #apply(decision: ReplacementDecision, newest: SignedSubmission, signal: AbortSignal): Promise<void> {
    const { chain, clock, log } = this.#deps;
    switch (decision.kind) {
      case "look_up":
        return;
      case "wait":
      case "rebroadcast": {
        // A node that drops it is not sent all of its bytes at every poll.
        if (clock.now() - this.#broadcastAtMs < REBROADCAST_AFTER_MS) return;
        const outcome = await chain.outcomes.fetchOutcome(newest, signal);
        if (outcome.kind !== "unknown") return;
        this.#broadcastAtMs = clock.now();
        await this.#deps.loss?.note(newest, signal);
        await chain.sender.broadcast(newest, signal);
        return;
      }
      case "replace": {
        const replacement = await chain.replacement.resign(newest, decision.price, signal);
        log.info("transaction_replaced.repriced", {
          transaction: replacement.hash,
          replacement: decision.number,
        });
        this.#replacements = decision.number;
        return await this.#send(replacement, clock.now(), signal);
      }
      case "cancel": {
        const cancelling = await chain.replacement.cancel(newest, decision.price, signal);
        log.info("transaction_replaced.cancelled", { transaction: newest.hash, why: decision.why });
        this.#cancelling.add(cancelling);
        return await this.#send(cancelling, clock.now(), signal);
      }
    }
  }

  async #send(submission: SignedSubmission, nowMs: number, signal: AbortSignal): Promise<void> {
    this.#submissions.push(submission);
    this.#sentAtMs = nowMs;
    this.#broadcastAtMs = nowMs;
    await this.#deps.loss?.note(submission, signal);
    await this.#deps.chain.sender.broadcast(submission, signal);
  }

  /**
   * Maximum price per gas of a delivery and of its cancellation, wei: neither exceeds the account's balance,
   * `maximum_gas_price`, or what is left of `maximum_daily_loss`.
   */
  async #capsOf(
    { market, balanceWei, maximumWei, dataCostWei }: ReplacementState,
    { gasLimit, nonce }: SignedSubmission,
    signal: AbortSignal,
  ): Promise<{ readonly capWei: bigint; readonly cancelCapWei: bigint }> {
    const capFor = async (gas: bigint): Promise<bigint> => {
      const lossWei = await this.#deps.loss?.boundWei({ gasLimit: gas, dataCostWei, nonce }, signal);
      return lowest(MAX_TIMES_MARKET * highestPriceWei(market), balanceWei / gas, maximumWei, lossWei);
    };
    return { capWei: await capFor(gasLimit || TRANSFER_GAS), cancelCapWei: await capFor(TRANSFER_GAS) };
  }
}
