/**
 * Keeps one EVM host's view of the hub current: polls the host and delivers the proofs that it lacks. Proofs delivered by
 * other relayers are noticed and cost nothing. Source: docs/protocol/hub-consensus.md sections 5.10 and 5.11. Start
 * reading at {@link hostWorker}.
 */
import {
  type Attempted,
  countBytes,
  type HostDelivery,
  lastOf,
  type TransactionProofs,
} from "./host_delivery.ts";
import type { BatchedProof } from "./proof_finder.ts";
import type { ProofsOutcome } from "./send_proofs.ts";
import type { HostWorkerDeps, ProveByHand } from "../../followers/hub_consensus.ts";
import { type Pollable, type PollResult, runPollLoop, type UpdateRoute } from "../../poll_loop.ts";
import type { ProofResult } from "../../proven.ts";
import type { Refusal, Simulation, SpentGas } from "../../../core/chains/submission.ts";
import { CommandRefusal } from "../../../core/commands/command.ts";
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { Backoff } from "../../../core/runtime/retry.ts";
import type { Worker } from "../../../core/runtime/worker.ts";

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
    run: (signal) => runPollLoop(watched, new HostWorker(watched), signal),
  };
}

/** Polls one host and delivers proofs. */
class HostWorker implements Pollable {
  readonly intervalMs: number;
  readonly route: UpdateRoute;
  readonly #deps: BeefyWorkerDeps;
  #poolWaits = 0;

  constructor(deps: BeefyWorkerDeps) {
    this.intervalMs = deps.intervalMs;
    this.route = deps.delivery.route;
    this.#deps = deps;
  }

  /** Polls once and delivers the proofs that were found. */
  async poll(failures: number, signal: AbortSignal): Promise<PollResult> {
    const { clock, log, delivery, observer } = this.#deps;
    const startMs = clock.now();
    const finding = await delivery.find(this.#poolWaits < MAX_POOL_WAITS ? "pool" : "blocks", signal);
    if (finding.kind === "proofs") {
      const report = { observer, findMs: clock.now() - startMs };
      const sent = await delivery.send(finding, report, signal);
      this.#poolWaits = 0;
      return this.#conclude(sent, failures);
    }
    const { kind, reason } = finding;
    if (kind === "unusable") return { kind: "failed", failure: { text: reason }, backoff: unusableBackoff };
    if (kind === "settling") return { kind: "nothing", againInMs: SETTLING_MS, reason };
    const isPending = kind === "pending";
    this.#poolWaits = isPending ? this.#poolWaits + 1 : 0;
    if (isPending) log.debug("proofs_overtaken.pending");
    return { kind: "nothing", againInMs: isPending ? SETTLING_MS : undefined, reason };
  }

  #conclude({ result, proofs }: Attempted<ProofsOutcome>, failures: number): PollResult {
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

/** Dependencies of proving by hand. */
interface ProveHostDeps {
  readonly clock: Clock;
  readonly delivery: HostDelivery;
}

/**
 * Proves the hub to the host once. @throws {RpcFault} @throws {ProverFault} @throws {DeadlineFault} @throws
 * {CommandRefusal}
 */
export async function proveHost(
  { clock, delivery }: ProveHostDeps,
  { isDryRun, observer }: ProveByHand,
  signal: AbortSignal,
): Promise<ProofResult> {
  const startMs = clock.now();
  const misfits = await delivery.findMisfits(signal);
  if (misfits.length > 0) throw refuse(delivery, misfits.map(({ found }) => found).join("; "));
  const finding = await delivery.find("pool", signal);
  const buildMs = clock.now() - startMs;
  if (finding.kind !== "proofs") {
    const { kind, reason } = finding;
    if (kind === "unable" || kind === "unusable") throw refuse(delivery, reason);
    const outcome = kind === "pending" ? "overtaken" : "nothing";
    const text = `Nothing to prove: ${reason}.`;
    return { outcome, text, updates: 0, bytes: 0, hasMore: false, buildMs };
  }
  const { result, proofs } = isDryRun
    ? await delivery.simulate(finding, signal)
    : await delivery.send(finding, { observer, findMs: buildMs }, signal);
  return {
    summary: describeProofs(finding, proofs),
    updates: proofs.length,
    bytes: countBytes(proofs),
    height: delivery.heightOf(proofs)?.toString(),
    hasMore: finding.hasMore,
    buildMs,
    ...describeEnd(delivery.route.target, result, isDryRun),
  };
}

/** Says how a transaction ended, or would end. */
function describeEnd(
  target: string,
  result: ProofsOutcome | Simulation,
  isDryRun: boolean,
): Pick<ProofResult, "outcome" | "text" | "transaction" | "cost"> {
  switch (result.kind) {
    case "accepted": {
      const text = `Verified and simulated; ${target} would accept it.`;
      return { outcome: "possible", text, cost: toCost(result, false) };
    }
    case "mined":
    case "wasted": {
      const { block, transaction, spent } = result;
      const [outcome, text] = result.kind === "mined"
        ? ["accepted" as const, `${target} accepted it in block ${block}.`]
        : [
          "overtaken" as const,
          `Another relayer's came first: it was paid for in block ${block} and changed nothing.`,
        ];
      return { outcome, text, transaction, cost: spent && toCost(spent, true) };
    }
    case "overtaken":
      return { outcome: "overtaken", text: "Another relayer's proofs came first." };
    case "refused": {
      const { code, detail } = result.refusal;
      const what = isDryRun ? "would refuse" : "refused";
      return { outcome: "refused", text: `${target} ${what} it: ${code}: ${detail}` };
    }
    case "lost":
      return { outcome: "lost", text: `It was not included: ${result.reason}.` };
  }
}

function refuse({ route: { chain, target } }: HostDelivery, detail: string): CommandRefusal {
  return new CommandRefusal(`No proof of ${chain} for ${target}: ${detail}.`);
}

/** Says what the proofs contain. */
function describeProofs(
  { purpose, knownHeight }: TransactionProofs,
  proofs: readonly BatchedProof[],
): string {
  const { blockNumber, state } = lastOf(proofs);
  const rotations = proofs.filter(({ checked }) => checked.rotates).length;
  const sets = rotations === 0
    ? `authority set ${state.current.id}`
    : `${rotations} ${rotations === 1 ? "rotation" : "rotations"} to authority set ${state.current.id}`;
  const why = purpose === "messages" ? ", a block with messages" : "";
  return `${sets}, relay chain block ${blockNumber}${why}; the host knows block ${knownHeight} of the hub`;
}

function toCost(
  { gasUsed, gasPriceWei, dataCostWei }: SpentGas,
  isPaid: boolean,
): NonNullable<ProofResult["cost"]> {
  return {
    gas: gasUsed.toString(),
    native: formatDecimal(gasUsed * gasPriceWei + dataCostWei, 18),
    isPaid,
  };
}
