/** What a route has to say, before it becomes an HTTP response. */
import { type CompactMultiProof, createProof, type Node, ProofType } from "@chainsafe/persistent-merkle-tree";
import { ByteListType, ContainerType, ListCompositeType } from "@chainsafe/ssz";
import { ssz } from "@lodestar/types";

/** An answer of a beacon node; what it says is made when it is asked for. */
export interface ServedAnswer {
  /** For the header `Eth-Consensus-Version`. */
  readonly version: string | undefined;
  readonly json: () => unknown;
  /** Of states, which are too large for JSON. */
  readonly ssz?: () => Uint8Array;
}

/** The node refuses; the body is `{code, message}` (ethereum/beacon-APIs: types/http.yaml). */
export class RestRefusal extends Error {
  override readonly name = "RestRefusal";

  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** Container of Lodestar. */
export const stateProof = new ContainerType({
  leaves: new ListCompositeType(ssz.Root, 10_000),
  descriptor: new ByteListType(2048),
});

/** The nodes of a state that a descriptor selects. @throws {RestRefusal} 400 for a descriptor that is none, or leads below the leaves. */
export function compactProof(state: Node, descriptor: Uint8Array): CompactMultiProof {
  try {
    const proof = createProof(state, { type: ProofType.compactMulti, descriptor });
    if (proof.type === ProofType.compactMulti) return proof;
  } catch (cause) {
    throw new RestRefusal(400, `No proof for this format: ${String(cause)}`);
  }
  throw new Error("A proof is of the type that was asked for");
}
