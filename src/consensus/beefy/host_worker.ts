/**
 * Keeps one EVM host's view of the hub current: looks at the host, asks the sources for what it should get next,
 * verifies that on the host's own state, and delivers it. What others deliver is noticed and costs nothing.
 * Source: 05-hub-consensus sections 5.10 and 5.11 of the protocol notes. Start reading at {@link hostWorker}.
 */
import type { Chain, Refusal } from "../../core/chains/chain.ts";
import type { ConsensusReceiver } from "../../core/chains/consensus_receiver.ts";
import type { ProofReceiver } from "../../core/chains/hub_accounts.ts";
import { MOST_ROTATIONS_AT_ONCE } from "../../core/hub_proofs/rotation_plan.ts";
import { BeefyError } from "../../core/protocol/consensus/beefy/beefy_error.ts";
import type { Address } from "../../core/protocol/evm/address.ts";
import { paraIdOf, type StateMachineId } from "../../core/protocol/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { Randomness } from "../../core/runtime/randomness.ts";
import { DeadlineFault, withDeadline } from "../../core/runtime/retry.ts";
import { awaitLogged, WaitNotices } from "../../core/runtime/waiting.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { failedLook } from "../look_fault.ts";
import { ProverFault } from "../prover.ts";
import { type LookResult, PARKED_MS, pauseAfter } from "../schedule.ts";
import { type FitView, judgeHost, OTHER_CLIENT, type UnfitCode } from "./host_fitness.ts";
import { areStillNews, type BatchedProof, fittingProofs, hubHeightOf, verifyInOrder } from "./proof_batch.ts";
import type { NextProofs, ProofSource } from "./proof_source.ts";
import { type SendingChain, sendProofs, type SendResult } from "./send_proofs.ts";

/** An EVM chain as this worker sees it. */
export type HostChain = SendingChain & ConsensusReceiver & Pick<Chain, "check" | "close"> & ProofReceiver;

/** What the worker needs. */
export interface HostWorkerDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** The hub as hosts know it. */
  readonly hub: StateMachineId;
  /** Asked in this order; the first that has something is used. */
  readonly sources: readonly ProofSource[];
  readonly chain: HostChain;
  /** Between two looks when there is nothing to do. */
  readonly intervalMs: number;
}

/** What is said when an endpoint serves proofs that do not verify. */
const ENDPOINT_ACCUSED = "No proof of the hub: an endpoint says what cannot be used";

/** Between looks at a host that takes nothing until others mend it. */
export const UNFIT_POLL_MS = 60_000;

/** Between looks while a transaction of somebody else waits in the pool, or our own view is older than our update. */
const SETTLING_MS = 4_000;

/** Longest time for which what we delivered may be missing in what endpoints tell; then a reorganisation took it. */
const SETTLED_WITHIN_MS = 120_000;

/** Looks in a row for which proofs of others in the pool are waited for; then they count as stuck. */
const MOST_POOL_WAITS = 10;

/** Longest time for one look without its transaction: building a proof reads thousands of values. */
const LOOK_WITHIN_MS = 20 * 60_000;

/** The worker of one host. */
export function hostWorker(deps: HostWorkerDeps): Worker {
  const { chain, hub, clock, random } = deps;
  const { stateMachine } = chain.id;
  const log = deps.log.with({ chain: stateMachine });
  return {
    name: `${hub.stateMachine} -> ${stateMachine}`,
    run: async (signal) => {
      await passCheck({ ...deps, log }, signal);
      const looks = new HostLooks({ ...deps, log });
      for (let failures = 0;;) {
        const startMs = clock.now();
        const result = await looks.look(failures, signal);
        const pace = { intervalMs: deps.intervalMs, spentMs: clock.now() - startMs };
        const pause = pauseAfter(result, pace, failures, random.fraction());
        failures = pause.failures;
        log.debug("Looked", { result: result.kind, nextInMs: Math.round(pause.delayMs) });
        await clock.sleep(pause.delayMs, signal);
      }
    },
  };
}

/** Waits until endpoints and host fit the configuration. Abilities that only messages need are not told here. */
async function passCheck(
  { chain, hub, clock, log }: Pick<HostWorkerDeps, "chain" | "hub" | "clock" | "log">,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const findings = await chain.check(hub, signal);
    const fatal = findings.filter(({ severity }) => severity === "fatal");
    if (fatal.length === 0) return;
    for (const { text } of fatal) log.error(`No proofs of the hub, looked at again in 10 min: ${text}`);
    await clock.sleep(PARKED_MS, signal);
  }
}

type Unable = Extract<NextProofs, { kind: "unable" }>;

/** Proofs that hold on the host's state and change it. */
interface Found {
  readonly proofs: readonly BatchedProof[];
  readonly purpose: Extract<NextProofs, { kind: "proofs" }>["purpose"];
}

/** What became of the proofs that went into a transaction. */
interface Sent {
  readonly result: SendResult;
  readonly proofs: readonly BatchedProof[];
}

/** Looks at one host, with what the operator was told already. */
class HostLooks {
  readonly #deps: HostWorkerDeps;
  readonly #notices: WaitNotices;
  readonly #paraId: number;
  #unfit: UnfitCode | undefined;
  /** Clients that were probed; the newest only. */
  #probed: { readonly client: Address; readonly isRouter: boolean } | undefined;
  #unableTold: string | undefined;
  #poolWaits = 0;
  /** What our last transaction brought, which lagging endpoints may not know yet. */
  #delivered: { readonly blockNumber: bigint; readonly untilMs: number } | undefined;

  constructor(deps: HostWorkerDeps) {
    this.#deps = deps;
    this.#notices = new WaitNotices(deps);
    this.#paraId = paraIdOf(deps.hub.stateMachine);
  }

  /** One look, with the delivery of what it found. @param failures in a row before it. */
  async look(failures: number, signal: AbortSignal): Promise<LookResult> {
    try {
      const view = await this.#fetchFit(signal);
      if (view === undefined) return { kind: "nothing", againInMs: UNFIT_POLL_MS };
      if (this.#isSettling(view)) return { kind: "nothing", againInMs: SETTLING_MS };
      const found = await this.#find(view, signal);
      if (found === undefined) {
        this.#poolWaits = 0;
        return { kind: "nothing", againInMs: undefined };
      }
      return await this.#deliver(view, found, failures, signal);
    } catch (error) {
      signal.throwIfAborted();
      return failedLook(this.#deps.log, error, failures, () => ENDPOINT_ACCUSED);
    }
  }

  /** What the host knows; `undefined` when it takes nothing, which was told. */
  async #fetchFit(signal: AbortSignal): Promise<FitView | undefined> {
    const { chain, hub } = this.#deps;
    const view = await chain.fetchConsensusView(hub, signal);
    const fitness = judgeHost(view);
    if (fitness.kind === "unfit") return this.#tellUnfit(fitness.code, fitness.detail);
    if (this.#probed?.client !== view.consensusClient) {
      const kind = await chain.fetchClientKind(view.consensusClient, signal);
      this.#probed = { client: view.consensusClient, isRouter: kind === "router" };
    }
    if (!this.#probed.isRouter) {
      return this.#tellUnfit("other_client", `${OTHER_CLIENT}: ${view.consensusClient}`);
    }
    if (this.#unfit !== undefined) this.#deps.log.info("The host takes proofs of the hub again");
    this.#unfit = undefined;
    this.#notices.done("host");
    return fitness.view;
  }

  #tellUnfit(code: UnfitCode, detail: string): undefined {
    const fields = { code };
    if (this.#unfit !== code) {
      const level = code === "frozen" ? "warn" : "error";
      this.#deps.log[level](`No proofs of the hub are sent, looked at again every 60 s: ${detail}`, fields);
    }
    this.#unfit = code;
    this.#notices.waiting("host", { what: "the host to take proofs of the hub", fields });
    return undefined;
  }

  /** True while endpoints do not tell yet what we have delivered: proofs made now would be paid no-ops. */
  #isSettling({ state }: FitView): boolean {
    const delivered = this.#delivered;
    if (delivered === undefined) return false;
    if (state.latestHeight < delivered.blockNumber && this.#deps.clock.now() < delivered.untilMs) return true;
    this.#delivered = undefined;
    return false;
  }

  /** What the first source that has something brings, verified; a source's fault counts when no other helps. */
  async #find(view: FitView, signal: AbortSignal): Promise<Found | undefined> {
    const reasons: string[] = [];
    const unable: Unable[] = [];
    let fault: unknown;
    for (const source of this.#deps.sources) {
      try {
        const next = await this.#ask(source, view, signal);
        if (next.kind === "nothing") {
          reasons.push(next.reason);
          // What an earlier source could not give is not missing.
          unable.length = 0;
        } else if (next.kind === "unable") unable.push(next);
        else {
          const proofs = this.#verify(view, next);
          if (proofs.length > 0) return { proofs, purpose: next.purpose };
          reasons.push("the host knows what was found already");
        }
      } catch (error) {
        signal.throwIfAborted();
        const mayOthersHelp = error instanceof ProverFault || error instanceof DeadlineFault ||
          error instanceof RpcFault;
        if (!mayOthersHelp) throw error;
        fault ??= error;
        this.#deps.log.debug("A source of proofs failed", { error });
      }
    }
    if (fault !== undefined) throw fault;
    this.#tellNothing(reasons, unable);
    return undefined;
  }

  #ask(source: ProofSource, view: FitView, signal: AbortSignal): Promise<NextProofs> {
    const target = { chain: this.#deps.chain.id.stateMachine, view };
    const what = `proofs of the hub for ${target.chain}`;
    const ask = (inner: AbortSignal): Promise<NextProofs> => source.next(target, inner);
    const deadline = { what, afterMs: LOOK_WITHIN_MS };
    return awaitLogged(this.#deps, { what }, () => withDeadline(this.#deps.clock, deadline, ask, signal));
  }

  /** Proofs that change something. @throws {ProverFault} when one does not verify. */
  #verify(
    { state }: FitView,
    { proofs, endpoint }: Extract<NextProofs, { kind: "proofs" }>,
  ): readonly BatchedProof[] {
    try {
      return verifyInOrder(state, proofs);
    } catch (error) {
      if (!(error instanceof BeefyError)) throw error;
      const detail = `a proof of the hub does not hold on the host's state (${error.code})`;
      throw new ProverFault("bad_data", this.#deps.chain.id.stateMachine, endpoint, detail, { cause: error });
    }
  }

  #tellNothing(reasons: readonly string[], unable: readonly Unable[]): void {
    const { log } = this.#deps;
    const [first] = unable;
    if (first === undefined) {
      this.#unableTold = undefined;
      log.debug("Nothing to deliver", { reason: reasons.join("; ") });
      return this.#notices.done("proofs");
    }
    if (this.#unableTold !== first.detail) {
      log[first.code === "gap" ? "error" : "warn"](`No proofs of the hub: ${first.detail}`, {
        code: first.code,
      });
    }
    this.#unableTold = first.detail;
    this.#notices.waiting("proofs", { what: "proofs of the hub", fields: { reason: first.detail } });
  }

  async #deliver(view: FitView, found: Found, failures: number, signal: AbortSignal): Promise<LookResult> {
    const proofs = await this.#limit(found.proofs, signal);
    this.#unableTold = undefined;
    this.#notices.done("proofs");
    const counting = this.#poolWaits < MOST_POOL_WAITS ? "pool" as const : "blocks" as const;
    if (!areStillNews(proofs, view, counting)) {
      this.#poolWaits++;
      this.#deps.log.debug("Somebody else's proof waits in the pool");
      return { kind: "nothing", againInMs: SETTLING_MS };
    }
    const result = await this.#send(proofs, counting, signal);
    return this.#conclude(result, found.purpose, failures);
  }

  /** As many as one transaction takes. */
  async #limit(proofs: readonly BatchedProof[], signal: AbortSignal): Promise<readonly BatchedProof[]> {
    if (proofs.length < 2) return proofs;
    const most = await this.#deps.chain.fetchHasBatchCall(signal) ? MOST_ROTATIONS_AT_ONCE : 1;
    return fittingProofs(proofs, most);
  }

  /** Sends proofs; where they are too large for one transaction, the first of them alone. */
  async #send(
    proofs: readonly BatchedProof[],
    before: "blocks" | "pool",
    signal: AbortSignal,
  ): Promise<Sent> {
    const { chain, hub } = this.#deps;
    const isStillNews = async (counting: "blocks" | "pool", inner: AbortSignal): Promise<boolean> => {
      const fitness = judgeHost(await chain.fetchConsensusView(hub, inner));
      return fitness.kind === "fit" &&
        areStillNews(proofs, fitness.view, counting === "pool" ? before : counting);
    };
    const bytes = proofs.map((proof) => proof.bytes);
    const result = await sendProofs(this.#deps, { proofs: bytes, isStillNews }, signal);
    const isTooLarge = result.kind === "refused" && result.refusal.code === "too_large";
    if (!isTooLarge || proofs.length === 1) return { result, proofs };
    return await this.#send(proofs.slice(0, 1), before, signal);
  }

  #conclude({ result, proofs }: Sent, purpose: Found["purpose"], failures: number): LookResult {
    const { log } = this.#deps;
    this.#poolWaits = 0;
    switch (result.kind) {
      case "mined": {
        this.#noteDelivered(proofs, result, purpose);
        return { kind: "updated", hasMore: true };
      }
      case "overtaken":
        log.info("Somebody else brought the hub's consensus first");
        return { kind: "updated", hasMore: true };
      case "refused":
        this.#tellRefused(result.refusal, failures);
        return { kind: "failed" };
      case "lost":
        log.warn("Transaction with proofs of the hub is lost; looking again", { reason: result.reason });
        return { kind: "failed" };
    }
  }

  #noteDelivered(
    proofs: readonly BatchedProof[],
    { block, transaction }: Extract<SendResult, { kind: "mined" }>,
    purpose: Found["purpose"],
  ): void {
    const last = proofs.at(-1)?.checked;
    if (last === undefined) throw new Error("A transaction without proofs");
    const untilMs = this.#deps.clock.now() + SETTLED_WITHIN_MS;
    this.#delivered = { blockNumber: last.blockNumber, untilMs };
    this.#deps.log.info("Proofs of the hub delivered", {
      purpose,
      proofs: proofs.length,
      relayBlock: last.blockNumber,
      set: last.state.current.id,
      hubHeight: hubHeightOf(proofs, this.#paraId),
      block,
      transaction,
    });
  }

  #tellRefused({ code, detail }: Refusal, failures: number): void {
    const { log } = this.#deps;
    if (code === "insufficient_funds") {
      return log.error("The account cannot pay for proofs of the hub; send it funds", { detail });
    }
    // The host may have moved on between the look and the question; a second refusal is not chance.
    const level = failures === 0 ? "info" : "warn";
    log[level]("The host refuses proofs that it should take; looking again", { code, detail });
  }
}
