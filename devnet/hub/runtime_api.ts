/**
 * Runtime APIs of the hub, as typed functions; `state_call` and the `ismp_*` methods wrap them.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/{runtime-api,src/impls.rs}, modules/pallets/mmr/src/lib.rs.
 */
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { IsmpEvent } from "../../src/core/ismp/event.ts";
import { requestMetadataCodec } from "../../src/core/ismp/host_state.ts";
import { type GetResponse, type Leaf, leafCodec, type Request } from "../../src/core/ismp/message.ts";
import type { MmrProof, ProofKeys } from "../../src/core/ismp/proof.ts";
import { childTrieKeys, offchainKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeStrict } from "../../src/core/encoding/scale.ts";
import { MmrError } from "../../src/core/merkle/mmr.ts";
import type { SimulatedBlock } from "./block_history.ts";
import type { HubNode } from "./node.ts";
import { converted } from "./verifiers/refusals.ts";
import type { Snapshot } from "./storage.ts";
import type { IsmpPalletEvent } from "./pallets/ismp_events.ts";

/** The runtime has no proof; `code` is the name in `sp_mmr_primitives::Error`, which the node prints. */
export class MmrApiError extends Error {
  override readonly name = "MmrApiError";
  constructor(readonly code: "GenerateProof" | "LeafNotFound" | "PalletNotIncluded") {
    super(code);
  }
}

/** An ISMP event with the extrinsic that caused it. */
export interface LocatedEvent {
  readonly event: IsmpEvent;
  readonly extrinsicIndex: number | undefined;
}

/** Runtime APIs over a node's chain and offchain database. */
export class RuntimeApi {
  readonly #node: HubNode;

  constructor(node: HubNode) {
    this.#node = node;
  }

  /** ISMP events of a block; requests and responses whose leaf this node lacks are left out silently. */
  blockEvents(block: SimulatedBlock): LocatedEvent[] {
    const { state, events } = this.#node.chain.bodyOf(block);
    return events.flatMap(({ ismp, extrinsicIndex }) => {
      const event = ismp === undefined ? undefined : this.#toIsmpEvent(state, ismp);
      return event === undefined ? [] : [{ event, extrinsicIndex }];
    });
  }

  /** Requests of these commitments; unknown ones are left out. */
  requests(state: Snapshot, commitments: readonly Hash256[]): Request[] {
    return commitments.flatMap((commitment) => {
      const leaf = this.#leaf(state, childTrieKeys.requestCommitment(commitment), commitment);
      return leaf?.tag === "Request" ? [leaf.value] : [];
    });
  }

  /** Responses of these (response) commitments; unknown ones are left out. */
  responses(state: Snapshot, commitments: readonly Hash256[]): GetResponse[] {
    return commitments.flatMap((commitment) => {
      const leaf = this.#leaf(state, childTrieKeys.responseCommitment(commitment), commitment);
      return leaf?.tag === "GetResponse" ? [leaf.value] : [];
    });
  }

  /**
   * Proof of leaves at a block, in the order asked.
   * @throws {MmrApiError} LeafNotFound for commitments that the block does not have or that are not final yet,
   * GenerateProof while other leaves of the block are not final or nothing provable is asked.
   */
  generateProof(state: Snapshot, keys: ProofKeys): MmrProof {
    const { chain, mmr } = this.#node;
    if (mmr === undefined) throw new MmrApiError("PalletNotIncluded");
    const childKey = keys.tag === "Requests"
      ? childTrieKeys.requestCommitment
      : childTrieKeys.responseCommitment;
    const finalCount = mmr.numberOfLeaves.get(chain.stateOf(chain.finalized).main) ?? 0n;
    const indices = keys.value.map((commitment) => {
      const metadata = state.child.get(childKey(commitment));
      if (metadata === undefined) throw new MmrApiError("LeafNotFound");
      const { leafIndex } = decodeStrict(requestMetadataCodec, metadata, "RequestMetadata").offchain;
      if (leafIndex >= finalCount) throw new MmrApiError("LeafNotFound");
      return leafIndex;
    });
    const leafCount = mmr.numberOfLeaves.get(state.main) ?? 0n;
    if (leafCount > finalCount) throw new MmrApiError("GenerateProof");
    const failure = (): Error => new MmrApiError("GenerateProof");
    return converted(MmrError, failure, () => mmr.range.prove(indices, leafCount));
  }

  /** Body of a request or response that the state holds. */
  #leaf(state: Snapshot, key: Uint8Array, commitment: Hash256): Leaf | undefined {
    if (state.child.get(key) === undefined) return undefined;
    const stored = this.#node.chain.offchain.get(toHex(offchainKeys.leafByCommitment(commitment)));
    return stored && decodeStrict(leafCodec, stored, "Leaf");
  }

  #toIsmpEvent(state: Snapshot, event: IsmpPalletEvent): IsmpEvent | undefined {
    switch (event.tag) {
      case "StateMachineUpdated":
      case "StateCommitmentVetoed":
        return event;
      case "PostRequestHandled":
      case "GetRequestHandled":
        return { tag: event.tag, value: event.value };
      case "PostRequestTimeoutHandled":
      case "GetRequestTimeoutHandled":
        return { tag: event.tag, value: event.value };
      case "Request": {
        const [request] = this.requests(state, [event.value.commitment]);
        if (request === undefined) return undefined;
        return request.tag === "Post"
          ? { tag: "PostRequest", value: request.value }
          : { tag: "GetRequest", value: request.value };
      }
      case "Response": {
        const [value] = this.responses(state, [event.value.commitment]);
        return value === undefined ? undefined : { tag: "GetResponse", value };
      }
      case "ConsensusClientCreated":
      case "ConsensusClientFrozen":
      case "Errors":
      case "RelayerFeeWithdrawn":
        return undefined;
    }
  }
}
