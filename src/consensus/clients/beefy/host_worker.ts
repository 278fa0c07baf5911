/**
 * Keeps one EVM host's view of the hub current: polls the host, asks the sources for the next proofs, verifies them on
 * the host's own state, and delivers them. Proofs delivered by other relayers are noticed and cost nothing. Source:
 * docs/protocol/hub-consensus.md sections 5.10 and 5.11. Start reading at {@link hostWorker}.
 */
import type { HubLightClient } from "../../../core/chains/hub_client.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { Refusal } from "../../../core/chains/submission.ts";
import {
  fittingProofs,
  learnMaxBytes,
  MAX_PROOFS_AT_ONCE,
  MAX_TRANSACTION_BYTES,
} from "../../../core/chains/transaction_bytes.ts";
import { toParaId } from "../../../core/ismp/state_machine.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import type { HostWorkerDeps } from "../../followers/hub_consensus.ts";
import { reportFailedPoll } from "../../poll_fault.ts";
import { type Pollable, runPollLoop } from "../../poll_loop.ts";
import { type PollResult, SUSPENDED_MS } from "../../schedule.ts";
import type { UpdateRoute } from "../../update_observer.ts";
import { judgeHost, type UsableHostView } from "./host_usability.ts";
import { HostWatch } from "./host_watch.ts";
import { areStillNeeded, type BatchedProof, hubHeightOf, isHeightDelivered } from "./proof_batch.ts";
import { type FoundProofs, ProofFinder } from "./proof_finder.ts";
import type { HostProofSource } from "./proof_source.ts";
import { type ProofsOutcome, type SendingChain, sendProofs } from "./send_proofs.ts";

/** An EVM chain as this worker sees it. */
export type HostChain = SendingChain & Pick<Chain, "check" | "close"> & {
  readonly hubClient: HubLightClient;
};

/** Dependencies of the worker. */
export interface BeefyWorkerDeps extends HostWorkerDeps {
  /** Asked in this order; the first that has something is used. */
  readonly sources: readonly HostProofSource[];
  readonly chain: HostChain;
}

/** Poll interval of an unusable host that others must fix. */
const UNUSABLE_POLL_MS = 60_000;

/**
 * Poll interval while another relayer's transaction is pending in the mempool, or our view is older than our update.
 */
const SETTLING_MS = 4_000;

/** Maximum random delay by which a relayer that came second backs off from the one that was first. */
const MAX_COMPETITOR_BACKOFF_MS = 8_000;

/** Maximum time for which endpoints may not show our delivery; after that a reorganisation has reverted it. */
const SETTLE_TIMEOUT_MS = 120_000;

/** Consecutive polls that wait for proofs of other relayers in the mempool; after that they count as stuck. */
const MAX_POOL_WAITS = 10;

/** Creates the worker of one host. */
export function hostWorker(deps: BeefyWorkerDeps): Worker {
  const { chain, hub } = deps;
  const { stateMachine } = chain.id;
  const watched = { ...deps, log: deps.log.with({ chain: stateMachine }) };
  return {
    name: `${hub.stateMachine} -> ${stateMachine}`,
    run: async (signal) => {
      await passCheck(watched, signal);
      await runPollLoop(watched, new HostWorker(watched), { signal });
    },
  };
}

/**
 * Waits until endpoints and host match the configuration. Capabilities that only messages need are not reported here.
 */
async function passCheck(
  { chain, hub, clock, log }: Pick<BeefyWorkerDeps, "chain" | "hub" | "clock" | "log">,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const findings = await chain.check(hub, signal);
    const fatal = findings.filter(({ severity }) => severity === "fatal");
    if (fatal.length === 0) return;
    for (const { event, text } of fatal) {
      log.error("chain_suspended", { finding: event, explanation: text });
    }
    await clock.sleep(SUSPENDED_MS, signal);
  }
}

/** Proofs of a transaction with its outcome. */
interface Sent {
  readonly result: ProofsOutcome;
  readonly proofs: readonly BatchedProof[];
}

/** Polls one host and delivers proofs. */
class HostWorker implements Pollable {
  readonly intervalMs: number;
  readonly #deps: BeefyWorkerDeps;
  readonly #watch: HostWatch;
  readonly #finder: ProofFinder;
  readonly #paraId: number;
  #poolWaits = 0;
  /** Maximum size of a transaction; lower once a node has refused that size. */
  #maxBytes = MAX_TRANSACTION_BYTES;
  /** Our last delivery, which lagging endpoints may not show yet. */
  #delivered: { readonly blockNumber: bigint; readonly untilMs: number } | undefined;

  constructor(deps: BeefyWorkerDeps) {
    this.intervalMs = deps.intervalMs;
    this.#deps = deps;
    this.#watch = new HostWatch(deps);
    this.#finder = new ProofFinder(deps, deps.chain.id.stateMachine);
    this.#paraId = toParaId(deps.hub.stateMachine);
  }

  /** Polls once and delivers the proofs that were found. */
  async poll(failures: number, signal: AbortSignal): Promise<PollResult> {
    const result = await this.#poll(failures, signal);
    this.#deps.observer?.notePoll(this.#route, result.kind);
    return result;
  }

  get #route(): UpdateRoute {
    const { chain, hub } = this.#deps;
    return { chain: hub.stateMachine, target: chain.id.stateMachine };
  }

  async #poll(failures: number, signal: AbortSignal): Promise<PollResult> {
    try {
      const startMs = this.#deps.clock.now();
      const view = await this.#watch.fetchUsable(signal);
      if (view === undefined) return { kind: "nothing", againInMs: UNUSABLE_POLL_MS };
      if (this.#isSettling(view)) return { kind: "nothing", againInMs: SETTLING_MS };
      const found = await this.#finder.find(view, signal);
      if (found === undefined) {
        this.#poolWaits = 0;
        return { kind: "nothing", againInMs: undefined };
      }
      const foundMs = this.#deps.clock.now();
      const sent = await this.#deliver(view, found, signal);
      if (sent !== undefined) this.#report(sent, found.purpose, { startMs, foundMs });
      return sent === undefined
        ? { kind: "nothing", againInMs: SETTLING_MS }
        : this.#conclude(sent, found.purpose, failures);
    } catch (error) {
      signal.throwIfAborted();
      return reportFailedPoll(this.#deps.log, error, failures);
    }
  }

  #report(
    { result, proofs }: Sent,
    purpose: FoundProofs["purpose"],
    { startMs, foundMs }: { readonly startMs: number; readonly foundMs: number },
  ): void {
    this.#deps.observer?.noteUpdate(this.#route, {
      kind: "hub_proofs",
      result: result.kind === "mined" ? "accepted" : result.kind,
      bytes: proofs.reduce((sum, { bytes }) => sum + bytes.length, 0),
      findMs: foundMs - startMs,
      submitMs: this.#deps.clock.now() - foundMs,
      detail: result.kind === "lost"
        ? result.reason
        : result.kind === "refused"
        ? result.refusal.detail ?? result.refusal.code
        : purpose,
    });
  }

  /** True while endpoints do not show our delivery yet: proofs sent now would be paid no-ops. */
  #isSettling({ state }: UsableHostView): boolean {
    const delivered = this.#delivered;
    if (delivered === undefined) return false;
    if (state.latestHeight < delivered.blockNumber && this.#deps.clock.now() < delivered.untilMs) return true;
    this.#delivered = undefined;
    return false;
  }

  /** Sends the proofs that the host still needs; `undefined` while another relayer's are pending. */
  async #deliver(
    view: UsableHostView,
    found: FoundProofs,
    signal: AbortSignal,
  ): Promise<Sent | undefined> {
    const proofs = await this.#limit(found.proofs, signal);
    const counting = this.#poolWaits < MAX_POOL_WAITS ? "pool" as const : "blocks" as const;
    if (!areStillNeeded(proofs, view, counting)) {
      this.#poolWaits++;
      this.#deps.log.debug("competitor_proof_pending");
      return undefined;
    }
    return await this.#send(proofs, { counting, hubHeight: view.hubHeight }, signal);
  }

  /** Limits the proofs to one transaction. */
  async #limit(proofs: readonly BatchedProof[], signal: AbortSignal): Promise<readonly BatchedProof[]> {
    if (proofs.length < 2) return proofs;
    const maxProofs = await this.#deps.chain.hubClient.fetchHasBatchCall(signal) ? MAX_PROOFS_AT_ONCE : 1;
    return fittingProofs(proofs, { maxProofs, maxBytes: this.#maxBytes });
  }

  /** Sends proofs; where they are too large for one transaction, sends fewer, now and later. */
  async #send(
    proofs: readonly BatchedProof[],
    before: { readonly counting: "blocks" | "pool"; readonly hubHeight: bigint },
    signal: AbortSignal,
  ): Promise<Sent> {
    const { chain, hub } = this.#deps;
    const isStillNeeded = async (counting: "blocks" | "pool", inner: AbortSignal): Promise<boolean> => {
      const usability = judgeHost(await chain.hubClient.fetchConsensusView(hub, inner));
      if (usability.kind === "unusable") return false;
      const heights = { before: before.hubHeight, now: usability.view.hubHeight };
      return areStillNeeded(proofs, usability.view, counting === "pool" ? before.counting : counting) &&
        !isHeightDelivered(proofs, this.#paraId, heights);
    };
    const bytes = proofs.map((proof) => proof.bytes);
    const result = await sendProofs(this.#deps, { proofs: bytes, isStillNeeded }, signal);
    const isTooLarge = result.kind === "refused" && result.refusal.code === "too_large";
    if (!isTooLarge || proofs.length === 1) return { result, proofs };
    const refusedBytes = bytes.reduce((sum, { length }) => sum + length, 0);
    this.#maxBytes = learnMaxBytes(refusedBytes, result.refusal.detail);
    const fewer = fittingProofs(proofs, { maxProofs: proofs.length - 1, maxBytes: this.#maxBytes });
    return await this.#send(fewer, before, signal);
  }

  #conclude({ result, proofs }: Sent, purpose: FoundProofs["purpose"], failures: number): PollResult {
    const { log } = this.#deps;
    this.#poolWaits = 0;
    switch (result.kind) {
      case "mined": {
        this.#noteDelivered(proofs, result, purpose);
        return { kind: "updated", hasMore: true };
      }
      case "wasted": {
        const { block, transaction } = result;
        log.info("proofs_wasted", {
          proofs: proofs.length,
          block,
          transaction,
        });
        // Relayers that send at the same moment would keep colliding.
        return {
          kind: "nothing",
          againInMs: Math.round(this.#deps.random.fraction() * MAX_COMPETITOR_BACKOFF_MS),
        };
      }
      case "overtaken":
        log.info("proofs_already_delivered");
        return { kind: "updated", hasMore: true };
      case "refused":
        return this.#afterRefusal(result.refusal, proofs, failures);
      case "lost":
        log.warn("proofs_lost", { reason: result.reason });
        return { kind: "failed" };
    }
  }

  #noteDelivered(
    proofs: readonly BatchedProof[],
    { block, transaction }: Extract<ProofsOutcome, { kind: "mined" }>,
    purpose: FoundProofs["purpose"],
  ): void {
    const last = proofs.at(-1)?.checked;
    if (last === undefined) throw new Error("A transaction without proofs");
    const untilMs = this.#deps.clock.now() + SETTLE_TIMEOUT_MS;
    this.#delivered = { blockNumber: last.blockNumber, untilMs };
    this.#deps.log.info("proofs_delivered", {
      purpose,
      proofs: proofs.length,
      relayBlock: last.blockNumber,
      set: last.state.current.id,
      hubHeight: hubHeightOf(proofs, this.#paraId),
      block,
      transaction,
    });
  }

  #afterRefusal({ code, detail }: Refusal, proofs: readonly BatchedProof[], failures: number): PollResult {
    const { log } = this.#deps;
    if (code === "insufficient_funds") {
      log.error("balance_insufficient", { detail });
      return { kind: "failed" };
    }
    if (code === "too_large") {
      // Every validator set of this size has such proofs: polling often does not help.
      log.error("proof_too_large", { bytes: proofs[0]?.bytes.length, detail });
      return { kind: "suspended" };
    }
    // The host may have advanced between the poll and the simulation; a second refusal is not a coincidence.
    const level = failures === 0 ? "info" : "warn";
    log[level]("proofs_rejected", { code, detail });
    return { kind: "failed" };
  }
}
