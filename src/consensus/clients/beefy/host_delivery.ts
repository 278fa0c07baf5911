/**
 * Deliveries of proofs of the hub to an EVM host: what it lacks now is found, verified on its own state, and sent in a
 * transaction. Proofs delivered by other relayers are noticed and cost nothing. The worker of the host and an operator's
 * `prove` use the same object, which remembers what was sent. Source: docs/protocol/hub-consensus.md sections 5.10 and
 * 5.11. Start reading at {@link HostDelivery.find}.
 */
import { type CheckRow, keepsOut } from "../../../core/checks/check_row.ts";
import type { HubLightClient } from "../../../core/chains/hub_client.ts";
import type { Chain } from "../../../core/chains/port.ts";
import {
  fittingProofs,
  learnMaxBytes,
  MAX_PROOFS_AT_ONCE,
  MAX_TRANSACTION_BYTES,
} from "../../../core/chains/transaction_bytes.ts";
import { type StateMachineId, toParaId } from "../../../core/ismp/state_machine.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type {
  Attempt,
  FoundUpdates,
  LightClient,
  NothingFound,
  SubmitResult,
  TryResult,
} from "../../deliver_update.ts";
import type { UpdateRoute } from "../../poll_loop.ts";
import { HostWatch, judgeHost, type UsableHostView } from "../../../core/hub_proofs/host_watch.ts";
import {
  areStillNeeded,
  type BatchedProof,
  type FoundProofs,
  hubHeightOf,
  isHeightDelivered,
  ProofFinder,
} from "./proof_finder.ts";
import type { HostProofSource } from "../../../core/hub_proofs/accepted_source.ts";
import { type SendDeps, type SendingChain, sendProofs, simulateProofs } from "./send_proofs.ts";

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

/** Proofs for the next transaction. */
interface TransactionProofs extends FoundProofs {
  /** Height of the hub that the host knows now. */
  readonly knownHeight: bigint;
  /** How proofs of others in the mempool count: as known, or not. */
  readonly counting: "pool" | "blocks";
}

/** Poll interval while another relayer's transaction is pending in the mempool, or our view is older than our update. */
const SETTLING_MS = 4_000;

/** Consecutive polls that wait for proofs of other relayers in the mempool; after that they count as stuck. */
const MAX_POOL_WAITS = 10;

/** Maximum time for which endpoints may not show our delivery; after that a reorganisation has reverted it. */
const SETTLE_TIMEOUT_MS = 120_000;

/** Deliveries to one host. */
export class HostDelivery implements LightClient {
  readonly route: UpdateRoute;
  readonly log: Log;
  readonly isFree = false;
  readonly failures = "proofs_failed";
  readonly #deps: HostDeliveryDeps;
  readonly #watch: HostWatch;
  readonly #finder: ProofFinder;
  readonly #paraId: number;
  /** Maximum size of a transaction; lower once a node has refused that size. */
  #maxBytes = MAX_TRANSACTION_BYTES;
  /** Consecutive polls that found proofs of other relayers in the mempool. */
  #poolWaits = 0;
  /** Our last delivery, which lagging endpoints may not show yet. */
  #delivered: { readonly blockNumber: bigint; readonly untilMs: number } | undefined;

  constructor(deps: HostDeliveryDeps) {
    this.#deps = deps;
    this.log = deps.log;
    this.route = { chain: deps.hub.stateMachine, target: deps.chain.id.stateMachine };
    this.#watch = new HostWatch(deps);
    this.#finder = new ProofFinder(deps, deps.chain.id.stateMachine);
    this.#paraId = toParaId(deps.hub.stateMachine);
  }

  async findProblems(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { chain, hub } = this.#deps;
    return (await chain.check(hub, signal)).filter(keepsOut);
  }

  /** Finds the proofs that the host needs next, as many as fit into a transaction. */
  async find(signal: AbortSignal): Promise<NothingFound | FoundUpdates> {
    const usability = await this.#watch.fetchUsability(signal);
    if (usability.kind === "unusable") {
      return { kind: "nothing", reason: usability.detail, lacking: "target" };
    }
    const { view } = usability;
    // Proofs sent now would be paid no-ops.
    if (this.#isSettling(view)) {
      const reason = "the endpoints do not show our last delivery yet";
      return { kind: "nothing", reason, againInMs: SETTLING_MS };
    }
    const found = await this.#finder.find(view, signal);
    const waits = this.#poolWaits;
    this.#poolWaits = 0;
    if (found.kind === "nothing") return found;
    const proofs = await this.#limit(found.proofs, signal);
    const counting = waits < MAX_POOL_WAITS ? "pool" : "blocks";
    if (!areStillNeeded(proofs, view, counting)) {
      this.#poolWaits = waits + 1;
      this.#deps.log.debug("proofs_overtaken.pending");
      const reason = "proofs of another relayer are in the mempool";
      return { kind: "nothing", reason, againInMs: SETTLING_MS };
    }
    // Sources give the rotations of one transaction at most, and heights after them.
    const hasMore = found.purpose === "rotations" || proofs.length < found.proofs.length;
    return this.#toUpdates({ ...found, proofs, knownHeight: view.hubHeight, counting }, hasMore);
  }

  #toUpdates(next: TransactionProofs, hasMore: boolean): FoundUpdates {
    return {
      kind: "updates",
      observedAs: "hub_proofs",
      hasMore,
      ifTooLarge: TOO_LARGE,
      tryOut: (signal) =>
        this.#attempt<TryResult>(next, async (proofs) => {
          const simulation = await simulateProofs(this.#deps.chain, proofs.map(({ bytes }) => bytes), signal);
          return simulation.kind === "accepted" ? { kind: "accepted", spent: simulation } : simulation;
        }),
      submit: (signal) =>
        this.#attempt(next, async (proofs) => {
          const result = await this.#send(proofs, next, signal);
          this.#conclude(result, proofs, next.purpose);
          return result.kind === "accepted"
            ? { ...result, height: hubHeightOf(proofs, this.#paraId) }
            : result;
        }),
    };
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
  ): Promise<SubmitResult> {
    const { chain, hub } = this.#deps;
    const isStillNeeded = async (
      counting: TransactionProofs["counting"],
      inner: AbortSignal,
    ): Promise<boolean> => {
      const usability = judgeHost(await chain.hubClient.fetchConsensusView(hub, inner));
      if (usability.kind === "unusable") return false;
      const heights = { before: before.knownHeight, now: usability.view.hubHeight };
      return areStillNeeded(proofs, usability.view, counting === "pool" ? before.counting : counting) &&
        !isHeightDelivered(proofs, this.#paraId, heights);
    };
    return await sendProofs(this.#deps, { proofs: proofs.map(({ bytes }) => bytes), isStillNeeded }, signal);
  }

  /** Attempts a transaction with the proofs; after a refusal as too large one with fewer, now and later. */
  async #attempt<Result extends TryResult | SubmitResult>(
    next: TransactionProofs,
    attempt: (proofs: readonly BatchedProof[]) => Promise<Result>,
  ): Promise<Attempt<Result>> {
    const { proofs } = next;
    const result = await attempt(proofs);
    const bytes = proofs.reduce((sum, proof) => sum + proof.bytes.length, 0);
    if (result.kind === "refused" && result.refusal.code === "too_large" && proofs.length > 1) {
      this.#maxBytes = learnMaxBytes(bytes, result.refusal.detail);
      const limits = { maxProofs: proofs.length - 1, maxBytes: this.#maxBytes };
      return await this.#attempt({ ...next, proofs: fittingProofs(proofs, limits) }, attempt);
    }
    const height = hubHeightOf(proofs, this.#paraId);
    return { result, summary: describeProofs(next), updates: proofs.length, bytes, height };
  }

  /** Logs and remembers what needs nobody's attention; refusals and losses are for the caller to report. */
  #conclude(
    result: SubmitResult,
    proofs: readonly BatchedProof[],
    purpose: TransactionProofs["purpose"],
  ): void {
    const { log, clock } = this.#deps;
    if (result.kind === "overtaken") return log.info("proofs_overtaken.delivered");
    if (result.kind !== "accepted" && result.kind !== "wasted") return;
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
      hubHeight: hubHeightOf(proofs, this.#paraId),
      block,
      transaction,
    });
  }
}

/** What to do about a proof that fits into no transaction: every validator set of this size has such proofs. */
const TOO_LARGE: FoundUpdates["ifTooLarge"] = {
  advice: "use an endpoint that accepts larger transactions, or a hub whose accepted proofs are small (SP1)",
  result: "suspended",
};

/** What the client knows after the last of the proofs. */
function lastOf(proofs: readonly BatchedProof[]): BatchedProof["checked"] {
  const last = proofs.at(-1)?.checked;
  if (last === undefined) throw new Error("A transaction without proofs");
  return last;
}

/** Says what the proofs contain. */
function describeProofs({ purpose, knownHeight, proofs }: TransactionProofs): string {
  const { blockNumber, state } = lastOf(proofs);
  const rotations = proofs.filter(({ checked }) => checked.rotates).length;
  const sets = rotations === 0
    ? `authority set ${state.current.id}`
    : `${rotations} ${rotations === 1 ? "rotation" : "rotations"} to authority set ${state.current.id}`;
  const why = purpose === "messages" ? ", a block with messages" : "";
  return `${sets}, relay chain block ${blockNumber}${why}; the host knows block ${knownHeight} of the hub`;
}
