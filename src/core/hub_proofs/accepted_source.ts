/**
 * Sources of proofs of the hub for EVM hosts, and the one of proofs that the hub has accepted, from the offchain database of its node. The list of accepted proofs is
 * hub state, which every node serves; only the bytes need an unsafe RPC method. Source: docs/protocol/hub-consensus.md
 * sections 5.9 and 5.10.
 */
import { recover } from "../encoding/coded_error.ts";
import type { AcceptedProof, AcceptedProofs, HubChain } from "../chains/hub.ts";
import { BeefyError } from "../beefy/commitment.ts";
import { readProofSubject } from "../beefy/naive_proof.ts";
import type { LoadedProof, ProofLoaderDeps } from "./proof_loader.ts";
import { newerHeights, planRotations, ProofLoader } from "./proof_loader.ts";
import { MAX_PROOFS_AT_ONCE } from "../chains/transaction_bytes.ts";
import { onFault } from "../rpc/call.ts";
import type { HubWork } from "./hub_work.ts";
import type { HostConsensusView } from "../chains/hub_client.ts";
import type { BeefyClientState } from "../evm/beefy_client_state.ts";
import type { StateMachine } from "../ismp/state_machine.ts";

/** Host to prove the hub to. */
export interface ProofTarget {
  readonly chain: StateMachine;
  readonly view: HostConsensusView & { readonly state: BeefyClientState };
}

/** Result of a source. Nothing in it was verified on the host's state. */
export type ProofsForHost =
  | {
    readonly kind: "proofs";
    /** In order; each must be verified on the state that its predecessors lead to. */
    readonly proofs: readonly Uint8Array[];
    /**
     * `rotations`: validator set rotations, which every host must follow. `messages`: a height with work for the host.
     */
    readonly purpose: "rotations" | "messages";
    /** Host of the endpoint that served them, for faults. */
    readonly endpoint: string;
  }
  | { readonly kind: "nothing"; readonly reason: string }
  /** The source does not have the proofs that are needed. */
  | {
    readonly kind: "unable";
    /**
     * `gap`: they are lost permanently. `withheld`: this node does not serve them, another one may. `mismatch`: the
     * configuration or the host's client does not match the chain behind the source.
     */
    readonly code: "gap" | "withheld" | "mismatch";
    /** Missing data and advice; a sentence without a full stop. */
    readonly detail: string;
  };

/** A source of proofs. Methods may throw an `RpcFault` and a `ProverFault`. */
export interface HostProofSource {
  /** Returns the next proofs for the host. */
  next(target: ProofTarget, signal: AbortSignal): Promise<ProofsForHost>;
  close(): Promise<void>;
}

/** Reads of the hub that accepted proofs need. */
export type AcceptedProofsHub = Pick<HubChain, "close"> & { readonly acceptedProofs: AcceptedProofs };

/** Dependencies of the source. */
export interface AcceptedSourceDeps extends ProofLoaderDeps {
  readonly hub: AcceptedProofsHub;
  readonly work: HubWork;
  /** Host of the hub's node. */
  readonly endpoint: string;
}

/** Source of proofs that the hub has accepted. */
export class AcceptedSource implements HostProofSource {
  readonly #deps: AcceptedSourceDeps;
  readonly #loader: ProofLoader;

  constructor(deps: AcceptedSourceDeps) {
    this.#deps = deps;
    this.#loader = new ProofLoader(deps.hub.acceptedProofs, deps);
  }

  async next(target: ProofTarget, signal: AbortSignal): Promise<ProofsForHost> {
    return await this.#next(target, signal).catch(onFault(() => {
      const detail =
        `${this.#deps.endpoint} does not offer offchain_localStorageGet, which serves the proofs: ` +
        "use a node with --rpc-methods=unsafe and --enable-offchain-indexing=true, or add [hub.prover]";
      return { kind: "unable", code: "withheld", detail };
    }, "missing_method"));
  }

  close(): Promise<void> {
    return this.#deps.hub.close();
  }

  async #next({ chain, view }: ProofTarget, signal: AbortSignal): Promise<ProofsForHost> {
    const { hub, work } = this.#deps;
    const index = await hub.acceptedProofs.fetchAcceptedIndex(signal);
    const plan = planRotations(index, view.state.current.id);
    if (plan.kind === "gap") return gapAt(plan.missing);
    const [rotation] = plan.steps;
    if (rotation !== undefined) {
      const found = await this.#loader.loadRotations(plan.steps.slice(0, MAX_PROOFS_AT_ONCE), signal);
      return found.length === 0 ? this.#lacking(rotation) : this.#proofs(found, "rotations");
    }
    const heights = newerHeights(index, view.hubHeight);
    const [newest] = heights;
    if (newest === undefined) return { kind: "nothing", reason: "the hub has accepted nothing newer" };
    for (const height of heights) {
      if (!await work.hasWork(chain, { known: view.hubHeight, upTo: height }, signal)) {
        if (height < newest) break;
        return { kind: "nothing", reason: "the newest proof holds nothing for this chain" };
      }
      const found = await this.#loader.loadFirst([height], signal);
      if (found === undefined) continue;
      // A hub whose own client was recreated lists no rotation before its first one.
      const { id } = view.state.next;
      return isBeyond(found.bytes, id) ? gapAt(id) : this.#proofs([found], "messages");
    }
    return this.#lacking({ height: newest, newSetId: undefined });
  }

  #proofs(found: readonly LoadedProof[], purpose: "rotations" | "messages"): ProofsForHost {
    const proofs = found.map(({ bytes }) => bytes);
    return { kind: "proofs", proofs, purpose, endpoint: this.#deps.endpoint };
  }

  /** Explains that the proof cannot be had from this node. */
  #lacking(proof: AcceptedProof): ProofsForHost {
    const { height, newSetId } = proof;
    const what = newSetId === undefined
      ? `the proof of hub height ${height}`
      : `the rotation to set ${newSetId}`;
    const detail = this.#loader.isSkipped(proof)
      ? `${what} is of a kind that this version does not know: update the program, or add [hub.prover]`
      : `${this.#deps.endpoint} does not have the bytes of ${what}: its offchain indexing was off when it ` +
        "imported that block; use another node, or add [hub.prover]";
    return { kind: "unable", code: "withheld", detail };
  }
}

/** Reports the missing rotation that the client needs before anything else. */
function gapAt(setId: bigint): ProofsForHost {
  const detail =
    `the hub keeps no rotation to set ${setId} any more, which the client needs; a [hub.prover] can ` +
    "prove it, otherwise the client must be reset";
  return { kind: "unable", code: "gap", detail };
}

/** True when a later set than that one signed; unreadable proofs are left to verification. */
function isBeyond(proof: Uint8Array, setId: bigint): boolean {
  return recover(BeefyError, () => readProofSubject(proof).validatorSetId > setId, () => false);
}
