/**
 * One delivery of proofs of the hub to an EVM host: what it lacks now is found, verified on its own state, and sent in a
 * transaction. The worker of the host does it again and again, an operator's `prove` once, with the same object, which
 * remembers what was sent. Start reading at {@link HostDelivery.find}.
 */
import { type CheckRow, keepsOut } from "../../../core/checks/check_row.ts";
import type { HubLightClient } from "../../../core/chains/hub_client.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { Refusal, Simulation } from "../../../core/chains/submission.ts";
import {
  fittingProofs,
  learnMaxBytes,
  MAX_PROOFS_AT_ONCE,
  MAX_TRANSACTION_BYTES,
} from "../../../core/chains/transaction_bytes.ts";
import { type StateMachineId, toParaId } from "../../../core/ismp/state_machine.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { UpdateObserver, UpdateRoute } from "../../poll_loop.ts";
import { HostWatch, judgeHost, type UsableHostView } from "../../../core/hub_proofs/host_watch.ts";
import {
  areStillNeeded,
  type BatchedProof,
  type FoundProofs,
  hubHeightOf,
  isHeightDelivered,
  type NoProofs,
  ProofFinder,
} from "./proof_finder.ts";
import type { HostProofSource } from "../../../core/hub_proofs/accepted_source.ts";
import {
  type ProofsOutcome,
  type SendDeps,
  type SendingChain,
  sendProofs,
  simulateProofs,
} from "./send_proofs.ts";

/** An EVM chain as deliveries see it. */
export type HostChain = SendingChain & Pick<Chain, "check" | "close"> & {
  readonly hubClient: HubLightClient;
};

/** Dependencies of deliveries to one host. */
export interface HostDeliveryDeps extends Pick<SendDeps, "loss"> {
  readonly clock: Clock;
  /** Names the chain in every line. */
  readonly log: Log;
  /** The hub as hosts know it. */
  readonly hub: StateMachineId;
  /** Asked in this order; the first that has something is used. */
  readonly sources: readonly HostProofSource[];
  readonly chain: HostChain;
}

/** How proofs of others in the mempool count: as known, or not. */
export type Counting = "pool" | "blocks";

/** Proofs for the next transaction. */
export interface TransactionProofs extends FoundProofs {
  /** True when more proofs follow as soon as these are known. */
  readonly hasMore: boolean;
  /** Height of the hub that the host knows now. */
  readonly knownHeight: bigint;
  readonly counting: Counting;
}

/** What a host needs now; `unusable`: it takes no proofs, for a reason that others can remove. */
export type HostFinding = TransactionProofs | NoProofs;

/** Proofs of a transaction with what became of them. */
export interface Attempted<Result> {
  readonly result: Result;
  /** Fewer than were found where they do not fit. */
  readonly proofs: readonly BatchedProof[];
}

/** Observer of a delivery, and what came before it. */
export interface DeliveryReport {
  /** Notified of the outcome; absent: nobody observes. */
  readonly observer: UpdateObserver | undefined;
  /** Time that finding the proofs took, milliseconds. */
  readonly findMs: number;
}

/** Maximum time for which endpoints may not show our delivery; after that a reorganisation has reverted it. */
const SETTLE_TIMEOUT_MS = 120_000;

/** Deliveries to one host. */
export class HostDelivery {
  readonly #deps: HostDeliveryDeps;
  readonly #watch: HostWatch;
  readonly #finder: ProofFinder;
  readonly #paraId: number;
  /** Maximum size of a transaction; lower once a node has refused that size. */
  #maxBytes = MAX_TRANSACTION_BYTES;
  /** Our last delivery, which lagging endpoints may not show yet. */
  #delivered: { readonly blockNumber: bigint; readonly untilMs: number } | undefined;

  constructor(deps: HostDeliveryDeps) {
    this.#deps = deps;
    this.#watch = new HostWatch(deps);
    this.#finder = new ProofFinder(deps, deps.chain.id.stateMachine);
    this.#paraId = toParaId(deps.hub.stateMachine);
  }

  /** The light client that is advanced. */
  get route(): UpdateRoute {
    const { chain, hub } = this.#deps;
    return { chain: hub.stateMachine, target: chain.id.stateMachine };
  }

  /** What makes endpoints or host unusable with this configuration. @throws {RpcFault} */
  async findMisfits(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { chain, hub } = this.#deps;
    return (await chain.check(hub, signal)).filter(keepsOut);
  }

  /**
   * Finds the proofs that the host needs next, as many as fit into a transaction. @throws {RpcFault} @throws
   * {ProverFault} @throws {DeadlineFault}
   */
  async find(counting: Counting, signal: AbortSignal): Promise<HostFinding> {
    const usability = await this.#watch.fetchUsability(signal);
    if (usability.kind === "unusable") return { kind: "unusable", reason: usability.detail };
    const { view } = usability;
    // Proofs sent now would be paid no-ops.
    if (this.#isSettling(view)) {
      return { kind: "settling", reason: "the endpoints do not show our last delivery yet" };
    }
    const found = await this.#finder.find(view, signal);
    if (found.kind !== "proofs") return found;
    const proofs = await this.#limit(found.proofs, signal);
    if (!areStillNeeded(proofs, view, counting)) {
      return { kind: "pending", reason: "proofs of another relayer are in the mempool" };
    }
    // Sources give the rotations of one transaction at most, and heights after them.
    const hasMore = found.purpose === "rotations" || proofs.length < found.proofs.length;
    return { ...found, proofs, hasMore, knownHeight: view.hubHeight, counting };
  }

  /** Simulates the transaction; where the proofs are too large for one, fewer of them. */
  simulate({ proofs }: TransactionProofs, signal: AbortSignal): Promise<Attempted<Simulation>> {
    const attempt = (fewer: readonly BatchedProof[]): Promise<Simulation> =>
      simulateProofs(this.#deps.chain, fewer.map(({ bytes }) => bytes), signal);
    return this.#shrink(proofs, attempt);
  }

  /** Sends the proofs and follows them to their end; where they are too large for one transaction, fewer of them. */
  async send(
    next: TransactionProofs,
    { observer, findMs }: DeliveryReport,
    signal: AbortSignal,
  ): Promise<Attempted<ProofsOutcome>> {
    const { clock } = this.#deps;
    const startMs = clock.now();
    const attempt = (proofs: readonly BatchedProof[]): Promise<ProofsOutcome> =>
      this.#send(proofs, next, signal);
    const sent = await this.#shrink(next.proofs, attempt);
    const { result, proofs } = sent;
    const height = result.kind === "mined" ? this.heightOf(proofs) : undefined;
    observer?.noteUpdate(this.route, {
      kind: "hub_proofs",
      result: result.kind === "mined" ? "accepted" : result.kind,
      bytes: countBytes(proofs),
      ...height !== undefined && { height: Number(height) },
      findMs,
      submitMs: clock.now() - startMs,
      detail: describeResult(result, next.purpose),
    });
    this.#conclude(sent, next.purpose);
    return sent;
  }

  /** Height of the hub that the host knows after these proofs; `undefined`: they prove none. */
  heightOf(proofs: readonly BatchedProof[]): bigint | undefined {
    return hubHeightOf(proofs, this.#paraId);
  }

  /** True while endpoints do not show our delivery yet. */
  #isSettling({ state }: UsableHostView): boolean {
    const delivered = this.#delivered;
    if (delivered === undefined) return false;
    if (state.latestHeight < delivered.blockNumber && this.#deps.clock.now() < delivered.untilMs) return true;
    this.#delivered = undefined;
    return false;
  }

  /** Limits the proofs to one transaction. */
  async #limit(proofs: readonly BatchedProof[], signal: AbortSignal): Promise<readonly BatchedProof[]> {
    if (proofs.length < 2) return proofs;
    const maxProofs = await this.#deps.chain.hubClient.fetchHasBatchCall(signal) ? MAX_PROOFS_AT_ONCE : 1;
    return fittingProofs(proofs, { maxProofs, maxBytes: this.#maxBytes });
  }

  async #send(
    proofs: readonly BatchedProof[],
    before: Pick<TransactionProofs, "counting" | "knownHeight">,
    signal: AbortSignal,
  ): Promise<ProofsOutcome> {
    const { chain, hub } = this.#deps;
    const isStillNeeded = async (counting: Counting, inner: AbortSignal): Promise<boolean> => {
      const usability = judgeHost(await chain.hubClient.fetchConsensusView(hub, inner));
      if (usability.kind === "unusable") return false;
      const heights = { before: before.knownHeight, now: usability.view.hubHeight };
      return areStillNeeded(proofs, usability.view, counting === "pool" ? before.counting : counting) &&
        !isHeightDelivered(proofs, this.#paraId, heights);
    };
    return await sendProofs(this.#deps, { proofs: proofs.map(({ bytes }) => bytes), isStillNeeded }, signal);
  }

  /** Attempts a transaction with the proofs; after a refusal as too large one with fewer, now and later. */
  async #shrink<Result extends { readonly kind: string } | Refused>(
    proofs: readonly BatchedProof[],
    attempt: (proofs: readonly BatchedProof[]) => Promise<Result>,
  ): Promise<Attempted<Result>> {
    const result = await attempt(proofs);
    const refusal = "refusal" in result ? result.refusal : undefined;
    if (refusal?.code !== "too_large" || proofs.length === 1) return { result, proofs };
    this.#maxBytes = learnMaxBytes(countBytes(proofs), refusal.detail);
    const limits = { maxProofs: proofs.length - 1, maxBytes: this.#maxBytes };
    return await this.#shrink(fittingProofs(proofs, limits), attempt);
  }

  /** Logs and remembers what needs nobody's attention; refusals and losses are for the caller to report. */
  #conclude({ result, proofs }: Attempted<ProofsOutcome>, purpose: TransactionProofs["purpose"]): void {
    const { log, clock } = this.#deps;
    if (result.kind === "overtaken") return log.info("proofs_overtaken.delivered");
    if (result.kind !== "mined" && result.kind !== "wasted") return;
    const { block, transaction } = result;
    if (result.kind === "wasted") {
      return log.info("proofs_overtaken.wasted", { proofs: proofs.length, block, transaction });
    }
    const { blockNumber, state } = lastOf(proofs);
    this.#delivered = { blockNumber, untilMs: clock.now() + SETTLE_TIMEOUT_MS };
    log.info("proofs_delivered", {
      purpose,
      proofs: proofs.length,
      relayBlock: blockNumber,
      set: state.current.id,
      hubHeight: this.heightOf(proofs),
      block,
      transaction,
    });
  }
}

interface Refused {
  readonly kind: "refused";
  readonly refusal: Refusal;
}

/** Bytes of proofs. */
export function countBytes(proofs: readonly BatchedProof[]): number {
  return proofs.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** What the client knows after the last of the proofs. */
export function lastOf(proofs: readonly BatchedProof[]): BatchedProof["checked"] {
  const last = proofs.at(-1)?.checked;
  if (last === undefined) throw new Error("A transaction without proofs");
  return last;
}

function describeResult(result: ProofsOutcome, purpose: TransactionProofs["purpose"]): string {
  if (result.kind === "lost") return result.reason;
  if (result.kind === "refused") return result.refusal.detail ?? result.refusal.code;
  return purpose;
}
