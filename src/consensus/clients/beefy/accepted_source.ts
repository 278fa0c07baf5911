/**
 * Source of proofs that the hub has accepted, from the offchain database of its node. The list of accepted proofs is
 * hub state, which every node serves; only the bytes need an unsafe RPC method. Source: docs/protocol/hub-consensus.md
 * sections 5.9 and 5.10.
 */
import type { AcceptedProof, AcceptedProofs, HubChain } from "../../../core/chains/hub.ts";
import { planRotations } from "../../../core/chains/rotation_plan.ts";
import { MAX_PROOFS_AT_ONCE } from "../../../core/chains/transaction_bytes.ts";
import { BeefyError } from "../../../core/beefy/beefy_error.ts";
import { readProofSubject } from "../../../core/beefy/naive_proof.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { HubWork } from "./hub_work.ts";
import type { HostProofSource, ProofsForHost, ProofTarget } from "./proof_source.ts";

/** Reads of the hub that accepted proofs need. */
export type AcceptedProofsHub = Pick<HubChain, "close"> & {
  readonly acceptedProofs: Pick<AcceptedProofs, "fetchAcceptedIndex" | "fetchProofBytes">;
};

/** Dependencies of the source. */
export interface AcceptedSourceDeps {
  readonly hub: AcceptedProofsHub;
  readonly work: HubWork;
  /** Host of the hub's node. */
  readonly endpoint: string;
}

/** Creates a source of proofs that the hub has accepted. */
export function createAcceptedSource(deps: AcceptedSourceDeps): HostProofSource {
  return new AcceptedSource(deps);
}

type Wanted = Pick<AcceptedProof, "height" | "newSetId">;

class AcceptedSource implements HostProofSource {
  readonly #deps: AcceptedSourceDeps;

  constructor(deps: AcceptedSourceDeps) {
    this.#deps = deps;
  }

  async next({ chain, view }: ProofTarget, signal: AbortSignal): Promise<ProofsForHost> {
    const { hub, work } = this.#deps;
    const index = await hub.acceptedProofs.fetchAcceptedIndex(signal);
    const plan = planRotations(index.rotations, { setId: view.state.current.id, newest: undefined });
    if (plan.kind === "gap") return gapAt(plan.missing);
    if (plan.steps.length > 0) {
      return await this.#load(plan.steps.slice(0, MAX_PROOFS_AT_ONCE), "rotations", signal);
    }
    const height = index.messaging.at(-1);
    if (height === undefined || height <= view.hubHeight) {
      return { kind: "nothing", reason: "the hub has accepted nothing newer" };
    }
    if (!await work.hasWork(chain, { known: view.hubHeight, upTo: height }, signal)) {
      return { kind: "nothing", reason: "the newest proof holds nothing for this chain" };
    }
    const found = await this.#load([{ height, newSetId: undefined }], "messages", signal);
    // A hub whose own client was recreated lists no rotation before its first one.
    return isBeyond(found, view.state.next.id) ? gapAt(view.state.next.id) : found;
  }

  close(): Promise<void> {
    return this.#deps.hub.close();
  }

  /** Loads the first of the wanted proofs that the node has, without a gap. */
  async #load(
    wanted: readonly Wanted[],
    purpose: "rotations" | "messages",
    signal: AbortSignal,
  ): Promise<ProofsForHost> {
    const { hub, endpoint } = this.#deps;
    const proofs: Uint8Array[] = [];
    try {
      const loaded = await Promise.all(
        wanted.map((each) => hub.acceptedProofs.fetchProofBytes(each, signal)),
      );
      for (const bytes of loaded) {
        if (bytes === undefined) break;
        proofs.push(bytes);
      }
    } catch (error) {
      if (!(error instanceof RpcFault) || error.code !== "missing_method") throw error;
      const detail = `${endpoint} does not offer offchain_localStorageGet, which serves the proofs: use a ` +
        "node with --rpc-methods=unsafe and --enable-offchain-indexing=true, or add [hub.prover]";
      return { kind: "unable", code: "withheld", detail };
    }
    if (proofs.length > 0) return { kind: "proofs", proofs, purpose, endpoint };
    const what = wanted[0]?.newSetId === undefined
      ? `the proof of hub height ${wanted[0]?.height}`
      : `the rotation to set ${wanted[0].newSetId}`;
    const detail = `${endpoint} does not have the bytes of ${what}: its offchain indexing was off when it ` +
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
function isBeyond(found: ProofsForHost, setId: bigint): boolean {
  if (found.kind !== "proofs") return false;
  try {
    return found.proofs.some((proof) => readProofSubject(proof).validatorSetId > setId);
  } catch (error) {
    if (error instanceof BeefyError) return false;
    throw error;
  }
}
