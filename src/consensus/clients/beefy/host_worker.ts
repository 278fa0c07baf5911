/**
 * Keeps one EVM host's view of the hub current: polls the host and delivers the proofs that it lacks. Proofs delivered by
 * other relayers are noticed and cost nothing. Source: docs/protocol/hub-consensus.md sections 5.10 and 5.11. Start
 * reading at {@link hostWorker}.
 */
import type { Refusal } from "../../../core/chains/submission.ts";
import type { Backoff } from "../../../core/runtime/retry.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import type { HostWorkerDeps } from "../../followers/hub_consensus.ts";
import { reportFailedPoll } from "../../poll_fault.ts";
import { type Pollable, runPollLoop } from "../../poll_loop.ts";
import type { PollResult } from "../../schedule.ts";
import type { HostDelivery, Sent } from "./host_delivery.ts";
import type { BatchedProof } from "./proof_finder.ts";

/** Dependencies of the worker. */
export interface BeefyWorkerDeps extends HostWorkerDeps {
  readonly delivery: HostDelivery;
}

/** Poll interval of an unusable host that others must fix. */
const unusableBackoff: Backoff = { firstMs: 60_000, maxMs: 60_000, jitter: 0 };

/**
 * Poll interval while another relayer's transaction is pending in the mempool, or our view is older than our update.
 */
const SETTLING_MS = 4_000;

/** Maximum random delay by which a relayer that came second backs off from the one that was first. */
const MAX_COMPETITOR_BACKOFF_MS = 8_000;

/** Consecutive polls that wait for proofs of other relayers in the mempool; after that they count as stuck. */
const MAX_POOL_WAITS = 10;

/** Creates the worker of one host. */
export function hostWorker(deps: BeefyWorkerDeps): Worker {
  const { chain, target } = deps.delivery.route;
  const watched = { ...deps, log: deps.log.with({ chain: target }) };
  return {
    name: `${chain} -> ${target}`,
    run: (signal) => runPollLoop(watched, new HostWorker(watched), { signal }),
  };
}

/** Polls one host and delivers proofs. */
class HostWorker implements Pollable {
  readonly intervalMs: number;
  readonly #deps: BeefyWorkerDeps;
  #poolWaits = 0;
  /** What the last poll found to wait for. */
  #awaits: string | undefined;

  constructor(deps: BeefyWorkerDeps) {
    this.intervalMs = deps.intervalMs;
    this.#deps = deps;
  }

  /** Polls once and delivers the proofs that were found. */
  async poll(failures: number, signal: AbortSignal): Promise<PollResult> {
    this.#awaits = undefined;
    const { delivery: { route }, turns, observer } = this.#deps;
    const poll = (): Promise<PollResult> => this.#poll(failures, signal);
    const result = await (turns === undefined ? poll() : turns.of(route).run(poll, signal));
    observer?.notePoll(route, result, this.#awaits);
    return result;
  }

  async #poll(failures: number, signal: AbortSignal): Promise<PollResult> {
    const { clock, log, delivery, observer } = this.#deps;
    try {
      const startMs = clock.now();
      const finding = await delivery.find(this.#poolWaits < MAX_POOL_WAITS ? "pool" : "blocks", signal);
      switch (finding.kind) {
        case "unusable":
          return { kind: "failed", failure: { text: finding.detail }, backoff: unusableBackoff };
        case "settling":
          return { kind: "nothing", againInMs: SETTLING_MS };
        case "nothing":
        case "unable":
          this.#poolWaits = 0;
          this.#awaits = finding.reason;
          return { kind: "nothing", againInMs: undefined };
        case "pending":
          this.#poolWaits++;
          this.#awaits = "proofs of another relayer are pending";
          log.debug("proofs_overtaken.pending");
          return { kind: "nothing", againInMs: SETTLING_MS };
        case "proofs": {
          const report = { observer, findMs: clock.now() - startMs };
          const sent = await delivery.send(finding, report, signal);
          this.#poolWaits = 0;
          return this.#conclude(sent, failures);
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      return reportFailedPoll(log, error, failures);
    }
  }

  #conclude({ result, proofs }: Sent, failures: number): PollResult {
    const { log, random } = this.#deps;
    switch (result.kind) {
      case "mined":
      case "overtaken":
        return { kind: "updated", hasMore: true };
      case "wasted":
        // Relayers that send at the same moment would keep colliding.
        return { kind: "nothing", againInMs: Math.round(random.fraction() * MAX_COMPETITOR_BACKOFF_MS) };
      case "refused":
        return this.#afterRefusal(result.refusal, proofs, failures);
      case "lost":
        log.warn("proofs_failed.lost", { reason: result.reason });
        return { kind: "failed", failure: { text: `the transaction was lost: ${result.reason}` } };
    }
  }

  #afterRefusal({ code, detail }: Refusal, proofs: readonly BatchedProof[], failures: number): PollResult {
    const { log } = this.#deps;
    const failure = { text: `the host refused the proofs: ${code}` };
    if (code === "insufficient_funds") {
      log.error("balance_insufficient", { detail });
      return { kind: "failed", failure };
    }
    if (code === "too_expensive") return { kind: "suspended", failure: { text: detail ?? code } }; // reported
    if (code === "too_large") {
      // Every validator set of this size has such proofs: polling often does not help.
      log.error("proofs_failed.too_large", { bytes: proofs[0]?.bytes.length, detail });
      return { kind: "suspended", failure };
    }
    // The host may have advanced between the poll and the simulation; a second refusal is not a coincidence.
    const level = failures === 0 ? "info" : "warn";
    log[level]("proofs_failed.rejected", { reason: code, detail });
    return { kind: "failed", failure };
  }
}
