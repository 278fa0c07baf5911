/**
 * The proofs about the hub itself that a prover brings: how a devnet gives them to the hub, and what the hub knows.
 * Start at {@link OwnProofs.submitProof}.
 */
import { type Hash256 } from "../../src/core/encoding/bytes.ts";
import { consensusDigestCodec, timestampDigestCodec } from "../../src/core/ismp/host_state.ts";
import type { HubBlockchain } from "./blocks.ts";
import { findDigest, type SimulatedHeader } from "./digest.ts";
import type { Enqueue } from "./governance.ts";
import type { BlockName } from "./hub_options.ts";
import type {
  BeefyProofsPallet,
  BeefyProofStorage,
  BeefyState,
  OwnHeader,
  ProofAcceptance,
} from "./pallets/beefy_proofs.ts";

/** What a block's header says of the state behind it; undefined for the first block. */
export function ownHeaderOf(header: SimulatedHeader): OwnHeader | undefined {
  const roots = findDigest(header.digest, "ISMP", consensusDigestCodec);
  const time = findDigest(header.digest, "ISTM", timestampDigestCodec);
  if (roots === undefined || time === undefined) return undefined;
  return { ...roots, ...time, stateRoot: header.stateRoot };
}

/** Who submits unless told otherwise. */
const prover: Hash256 = `0x${"70".repeat(32)}`;

/** Pallet BeefyConsensusProofs from the side of its provers. */
export class OwnProofs {
  readonly #pallet: BeefyProofsPallet;
  readonly #storage: BeefyProofStorage;
  readonly #enqueue: Enqueue;
  readonly #chain: HubBlockchain;

  constructor(
    parts: { readonly pallet: BeefyProofsPallet; readonly storage: BeefyProofStorage },
    enqueue: Enqueue,
    chain: HubBlockchain,
  ) {
    this.#pallet = parts.pallet;
    this.#storage = parts.storage;
    this.#enqueue = enqueue;
    this.#chain = chain;
  }

  /** Sets the trusted state, given as EVM hosts are initialised (256 bytes). */
  initializeState(abiState: Uint8Array): Promise<BlockName> {
    return this.#enqueue((execution) => this.#pallet.initializeState(execution, abiState));
  }

  /**
   * Submits a naive proof; height and rotation are read from it.
   * @throws {DispatchError} with the error of the pallet, when it refuses.
   */
  async submitProof(proof: Uint8Array, submitter: Hash256 = prover): Promise<ProofAcceptance> {
    let accepted: ProofAcceptance | undefined;
    await this.#enqueue((execution) => {
      accepted = this.#pallet.submitProof(execution, { submitter, proof });
    });
    if (accepted === undefined) throw new Error("The proof was not looked at");
    return accepted;
  }

  /** What the hub trusts now, undefined before it was initialised. */
  get state(): BeefyState | undefined {
    return this.#pallet.state(this.#chain.bestState.main);
  }

  /** Heights of the messaging proofs that are kept, rising. */
  get messagingProofs(): readonly bigint[] {
    return this.#storage.messagingProofs.get(this.#chain.bestState.main) ?? [];
  }

  /** Rotations that are kept: authority set to height. */
  get rotationProofs(): ReadonlyMap<bigint, bigint> {
    return this.#storage.rotationProofs.get(this.#chain.bestState.main) ?? new Map();
  }
}
