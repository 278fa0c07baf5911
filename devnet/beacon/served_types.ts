/** SSZ forms of the answers that only some families of nodes give, and the proofs in one of them. */
import { type CompactMultiProof, createProof, type Node, ProofType } from "@chainsafe/persistent-merkle-tree";
import { ByteListType, ContainerType, ListCompositeType } from "@chainsafe/ssz";
import { ssz } from "@lodestar/types";
import { RestRefusal } from "./rest_answer.ts";

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
