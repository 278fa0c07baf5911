/**
 * Worker of one chain: poll, submit the updates that were found, wait. Chains are isolated from each other: faults of
 * endpoints and of the hub are waited out here, and a defect restarts this worker only.
 */
import { about, type CheckRow } from "../core/checks/check_row.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import { describeUnlisted, findAcceptedChains } from "../core/ismp/consensus_clients.ts";
import type { Randomness } from "../core/runtime/clock.ts";
import { withDeadline } from "../core/runtime/retry.ts";
import { awaitLogged, WaitNotices } from "../core/runtime/waiting.ts";
import type { Worker } from "../core/runtime/worker.ts";
import { bytesOf, type DeliverDeps, deliverUpdate, type UpdatesFinding } from "./deliver_update.ts";
import {
  type Pollable,
  type PollDeps,
  type PollResult,
  proverFaultRow,
  runPollLoop,
  type UpdateRoute,
} from "./poll_loop.ts";
import { type ConsensusProver, ProverFault, type ProverFinding } from "./prover.ts";

/** Dependencies that the workers of all chains share. */
export interface ChainWorkerDeps extends DeliverDeps {
  readonly random: Randomness;
  readonly turns?: PollDeps["turns"];
  /**
   * Interval at which the hub is asked for the L1s of rollups, milliseconds: they are proved at L1 blocks that the hub
   * knows, so they are polled as soon as it knows a newer one, from any relayer.
   */
  readonly intervalMs: number;
}

/** Maximum duration of one poll: a missed year of committees, or a whole state over a slow line, takes minutes. */
const POLL_TIMEOUT_MS = 30 * 60_000;

/** Creates the worker of one chain. */
export function chainWorker(deps: ChainWorkerDeps, prover: ConsensusProver): Worker {
  const log = deps.log.with({ chain: prover.chain });
  return {
    name: `${prover.chain} -> ${deps.hub.id.stateMachine}`,
    run: (signal) => runPollLoop({ ...deps, log }, new ProverWorker({ ...deps, log }, prover), signal),
  };
}

/** Checks what the hub knows of a chain, without a request to nodes of the chain where that is possible. */
export async function checkHubOfProver(
  prover: ConsensusProver,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  return await prover.checkHub?.(signal) ?? await checkProver(prover, signal);
}

/** Checks a chain. Wrong answers of its endpoints or the hub may be right at the next poll, so they are warnings. */
export async function checkProver(
  prover: ConsensusProver,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  try {
    return await prover.check(signal);
  } catch (error) {
    if (!(error instanceof ProverFault)) throw error;
    return [proverFaultRow(prover.chain, error)];
  }
}

/**
 * Warns when the hub does not accept messages of a chain whose heights it stores. Updates are submitted anyway, since
 * governance waits for them.
 */
export async function checkAccepted(
  hub: ConsensusTarget,
  { chain, commitmentId: { stateMachine, consensusStateId } }: ConsensusProver,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const client = await hub.reads.fetchClient(consensusStateId, "best", signal);
  const list = client && findAcceptedChains(client.clientId);
  if (list === undefined) return [];
  const [entry] = await hub.reads.fetchStorage([list.entry(stateMachine)], signal);
  if (entry !== undefined) return [];
  const found = `${hub.id.stateMachine} ${
    describeUnlisted(stateMachine, list)
  }; updates are submitted anyway`;
  return [about(chain).warning("chain_not_accepted", found)];
}

type Nothing = Extract<PollResult, { readonly kind: "nothing" }>;

/** Polls one chain and logs changes. */
class ProverWorker implements Pollable {
  readonly route: UpdateRoute;
  readonly #deps: ChainWorkerDeps;
  readonly #prover: ConsensusProver;
  readonly #notices: WaitNotices;
  /** Poll that found nothing to prove of a rollup: it holds for an interval, at this height of its L1. */
  #idle:
    | { readonly result: Nothing; readonly l1Height: bigint | undefined; readonly untilMs: number }
    | undefined;

  constructor(deps: ChainWorkerDeps, prover: ConsensusProver) {
    this.#deps = deps;
    this.#prover = prover;
    this.#notices = new WaitNotices(deps);
    this.route = { chain: prover.chain, target: deps.hub.id.stateMachine };
  }

  get intervalMs(): number {
    const { l1, intervalMs } = this.#prover;
    return l1 === undefined ? intervalMs : Math.min(intervalMs, this.#deps.intervalMs);
  }

  /** Polls once and submits the updates that were found. */
  async poll(failures: number, signal: AbortSignal): Promise<PollResult> {
    const { clock, hub } = this.#deps;
    const { l1, intervalMs } = this.#prover;
    const startMs = clock.now();
    const l1Height = l1 && await hub.reads.fetchLatestHeight(l1, signal);
    const idle = this.#idle;
    if (idle !== undefined && startMs < idle.untilMs && l1Height === idle.l1Height) {
      return this.#wait(idle.result);
    }
    const finding = await this.#find(signal);
    this.#idle = undefined;
    if (finding.kind === "updates") {
      return await this.#submit(finding, { failures, findMs: clock.now() - startMs }, signal);
    }
    const { reason, againInMs } = finding;
    const result: Nothing = { kind: "nothing", againInMs, reason };
    if (l1 !== undefined) this.#idle = { result, l1Height, untilMs: startMs + intervalMs };
    return this.#wait(result);
  }

  #wait(result: Nothing): PollResult {
    const { reason } = result;
    this.#deps.log.debug("update_not_needed", { reason });
    this.#notices.waiting("update", { event: "long_wait.update", fields: { reason } });
    return result;
  }

  #find(signal: AbortSignal): Promise<ProverFinding> {
    const what = `the end of a poll of ${this.#prover.chain}`;
    const poll = (inner: AbortSignal): Promise<ProverFinding> => this.#prover.next(inner);
    return awaitLogged(
      this.#deps,
      { event: "long_wait.poll" },
      () => withDeadline(this.#deps.clock, { what, afterMs: POLL_TIMEOUT_MS, signal }, poll),
    );
  }

  async #submit(
    finding: UpdatesFinding,
    { failures, findMs }: { readonly failures: number; readonly findMs: number },
    signal: AbortSignal,
  ): Promise<PollResult> {
    const { log } = this.#deps;
    const { proofs, summary, hasMore, adviceIfTooLarge } = finding;
    this.#notices.done("update");
    const result = await deliverUpdate(this.#deps, { prover: this.#prover, finding, findMs }, signal);
    switch (result.kind) {
      case "accepted":
        return { kind: "updated", hasMore };
      case "overtaken":
        // The update that came first may leave something to be proved.
        return { kind: "updated", hasMore: result.hubHeight === undefined || hasMore };
      case "refused": {
        // The hub may have advanced between the poll and the dry run; a second refusal is not a coincidence.
        const { code, detail } = result.refusal;
        if (code === "too_large" && adviceIfTooLarge !== undefined) {
          const explanation = adviceIfTooLarge;
          log.error("update_failed.too_large", { summary, bytes: bytesOf(proofs), detail, explanation });
          return { kind: "failed", failure: { text: `too large for the target: ${explanation}` } };
        }
        log[failures === 0 ? "info" : "warn"]("update_failed.rejected", { summary, code, detail });
        return { kind: "failed", failure: { text: `the target refused the update: ${code}` } };
      }
      case "lost":
        // The transaction pool may replace an update with a competitor's before either is included; a second loss is
        // not a coincidence.
        log[failures === 0 ? "info" : "warn"]("update_failed.lost", { summary, reason: result.reason });
        return { kind: "failed", failure: { text: `the update was lost: ${result.reason}` } };
    }
  }
}
