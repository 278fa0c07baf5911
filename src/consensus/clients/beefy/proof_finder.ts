/**
 * Search for the next proofs of one host: the sources are asked in turn, and their proofs are verified on the host's
 * own state. Source: docs/protocol/hub-consensus.md sections 5.10 and 5.11.
 */
import { onError } from "../../../core/encoding/coded_error.ts";
import { BeefyError } from "../../../core/beefy/commitment.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../../../core/runtime/retry.ts";
import { runInSlices } from "../../../core/runtime/slices.ts";
import { awaitLogged, WaitNotices } from "../../../core/runtime/waiting.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { NothingFound } from "../../deliver_update.ts";
import { ProverFault } from "../../prover.ts";
import type { UsableHostView } from "../../../core/hub_proofs/host_watch.ts";
import type { HostProofSource, ProofsForHost } from "../../../core/hub_proofs/accepted_source.ts";
import { type CheckedProof, checkProof } from "./spec/verify_proof.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";

/** Dependencies of the search. */
export interface ProofFinderDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Asked in this order; the first that has something is used. */
  readonly sources: readonly HostProofSource[];
}

/** Proofs that verify on the host's state and change it; at least one. */
export interface FoundProofs {
  readonly kind: "proofs";
  readonly proofs: readonly BatchedProof[];
  readonly purpose: Extract<ProofsForHost, { kind: "proofs" }>["purpose"];
}

/** Timeout of one source: building a proof reads thousands of values. */
const SOURCE_TIMEOUT_MS = 20 * 60_000;

type Unable = Extract<ProofsForHost, { kind: "unable" }>;

/** Finds proofs for one host, and remembers what was logged already. */
export class ProofFinder {
  readonly #deps: ProofFinderDeps;
  readonly #chain: StateMachine;
  readonly #notices: WaitNotices;
  #reportedUnable: string | undefined;

  constructor(deps: ProofFinderDeps, chain: StateMachine) {
    this.#deps = deps;
    this.#chain = chain;
    this.#notices = new WaitNotices(deps);
  }

  /**
   * Returns the proofs of the first source that has any; that there are none is logged where proofs are wanted.
   * The fault of a source is thrown when no other source helps. @throws {RpcFault} @throws {ProverFault} @throws
   * {DeadlineFault}
   */
  async find(view: UsableHostView, signal: AbortSignal): Promise<FoundProofs | NothingFound> {
    const reasons: string[] = [];
    const unable: Unable[] = [];
    let fault: unknown;
    for (const source of this.#deps.sources) {
      try {
        const next = await this.#ask(source, view, signal);
        if (next.kind === "nothing") {
          reasons.push(next.reason);
          // Proofs that an earlier source could not provide are not needed.
          unable.length = 0;
        } else if (next.kind === "unable") unable.push(next);
        else {
          const proofs = await this.#verify(view, next);
          if (proofs.length > 0) return this.#found({ kind: "proofs", proofs, purpose: next.purpose });
          reasons.push("the host already knows the proofs that were found");
        }
      } catch (error) {
        signal.throwIfAborted();
        const mayOthersHelp = error instanceof ProverFault || error instanceof DeadlineFault ||
          error instanceof RpcFault;
        if (!mayOthersHelp) throw error;
        fault ??= error;
        this.#deps.log.debug("read_failed.proof_source", { error });
      }
    }
    if (fault !== undefined) throw fault;
    return this.#reportNothing(reasons, unable);
  }

  #ask(source: HostProofSource, view: UsableHostView, signal: AbortSignal): Promise<ProofsForHost> {
    const target = { chain: this.#chain, view };
    const what = `proofs of the hub for ${target.chain}`;
    const ask = (inner: AbortSignal): Promise<ProofsForHost> => source.next(target, inner);
    const deadline = { what, afterMs: SOURCE_TIMEOUT_MS, signal };
    return awaitLogged(
      this.#deps,
      { event: "long_wait.proof_source" },
      () => withDeadline(this.#deps.clock, deadline, ask),
    );
  }

  /** Returns the proofs that change something. @throws {ProverFault} when one does not verify. */
  async #verify(
    { state }: UsableHostView,
    { proofs, endpoint }: Extract<ProofsForHost, { kind: "proofs" }>,
  ): Promise<readonly BatchedProof[]> {
    return await runInSlices(verifyInOrder(state, proofs)).catch(onError(BeefyError, (cause): never => {
      const detail = `a proof of the hub does not verify on the host's state (${cause.code})`;
      throw new ProverFault("bad_data", { chain: this.#chain, endpoint, detail }, { cause });
    }));
  }

  #found(found: FoundProofs): FoundProofs {
    this.#reportedUnable = undefined;
    this.#notices.done("proofs");
    return found;
  }

  /** Logs that there are no proofs; returns why. */
  #reportNothing(reasons: readonly string[], unable: readonly Unable[]): NothingFound {
    const { log } = this.#deps;
    const [first] = unable;
    if (first === undefined) {
      const reason = reasons.join("; ");
      this.#reportedUnable = undefined;
      log.debug("proofs_not_needed", { reason });
      this.#notices.done("proofs");
      return { kind: "nothing", reason };
    }
    if (this.#reportedUnable !== first.detail) {
      log[first.code === "withheld" ? "warn" : "error"](`proofs_unavailable.${first.code}`, {
        explanation: first.detail,
      });
    }
    this.#reportedUnable = first.detail;
    this.#notices.waiting("proofs", { event: "long_wait.hub_proofs", fields: { reason: first.detail } });
    return { kind: "nothing", reason: first.detail, lacking: "updates" };
  }
}

/** A proof with its effect. */
export interface BatchedProof {
  readonly bytes: Uint8Array;
  readonly checked: CheckedProof;
}

/**
 * Verifies proofs in order and drops those that change nothing. @throws {BeefyError} of the first proof that the client
 * would refuse
 */
function* verifyInOrder(
  trusted: BeefyClientState,
  proofs: readonly Uint8Array[],
): Generator<undefined, readonly BatchedProof[], undefined> {
  const fresh: BatchedProof[] = [];
  let state = trusted;
  for (const bytes of proofs) {
    const checked = yield* checkProof(state, bytes);
    if (checked.isStale) continue;
    fresh.push({ bytes, checked });
    state = checked.state;
  }
  return fresh;
}

/**
 * True when a host still needs all of the proofs: it has accepted none that turns one of them into a paid no-op. A
 * rotation can be proved by any block of a session, so a known rotation also makes proofs of other blocks useless.
 * @param counting `pool`: proofs pending in the mempool count as accepted
 */
export function areStillNeeded(
  proofs: readonly BatchedProof[],
  { state, pendingHeight, pendingSetId }: Pick<UsableHostView, "state" | "pendingHeight" | "pendingSetId">,
  counting: "blocks" | "pool",
): boolean {
  const [height, setId] = counting === "pool"
    ? [pendingHeight, pendingSetId]
    : [state.latestHeight, state.current.id];
  return proofs.every(({ checked }) =>
    checked.blockNumber > height && (!checked.rotates || checked.state.current.id > setId)
  );
}

/**
 * True when proofs that were made for messages prove a height that the host has learned in the meantime, from any
 * block. @param before hub height that the host knew when they were found.
 */
export function isHeightDelivered(
  proofs: readonly BatchedProof[],
  paraId: number,
  { before, now }: { readonly before: bigint; readonly now: bigint },
): boolean {
  if (now <= before || proofs.some(({ checked }) => checked.rotates)) return false;
  const height = hubHeightOf(proofs, paraId);
  return height !== undefined && height <= now;
}

/** Height of the hub that a host will know after these proofs; `undefined`: they prove none. */
export function hubHeightOf(proofs: readonly BatchedProof[], paraId: number): bigint | undefined {
  const heights = proofs.flatMap(({ checked }) => checked.heights)
    .filter((each) => each.paraId === paraId).map(({ height }) => height);
  return heights.length === 0 ? undefined : heights.reduce((a, b) => a > b ? a : b);
}
