/**
 * The consensus clients compiled into the runtime, and how each proves requests of the chains it follows.
 * Updates of a client (`Message::Consensus`) go to its `verifyConsensus`; clients without one refuse updates.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/*, modules/ismp/state-machines/{evm,substrate}.
 */
import { fromHex, type Hash256 } from "../../../../src/core/protocol/bytes.ts";
import { requestSenderSlot } from "../../../../src/core/protocol/evm/host_storage.ts";
import {
  evmStateProofCodec,
  type Proof,
  stateMachineProofCodec,
} from "../../../../src/core/protocol/ismp/proof.ts";
import type {
  IntermediateState,
  StateCommitment,
} from "../../../../src/core/protocol/ismp/state_commitment.ts";
import {
  type ConsensusClientId,
  isEvm,
  isSubstrate,
  type StateMachine,
  toConsensusClientId,
} from "../../../../src/core/protocol/ismp/state_machine.ts";
import { childTrieKeys } from "../../../../src/core/protocol/ismp/storage_keys.ts";
import { type Codec, decodeStrict, ScaleError } from "../../../../src/core/protocol/scale.ts";
import { EvmProofError, verifyEvmMembership } from "../../../../src/core/protocol/trie/evm_proof.ts";
import { readSubstrateProof } from "../../../../src/core/protocol/trie/substrate_proof.ts";
import { TrieError } from "../../../../src/core/protocol/trie/trie_error.ts";
import { IsmpError } from "./ismp_error.ts";

/** What a verifier of messages needs to know of the hub. */
export interface VerifierHost {
  /** The hub's own state machine: its commitments have the child trie root as state root. */
  readonly stateMachine: StateMachine;
  /** Address of the ISMP host of an EVM chain, 20 bytes. */
  evmHost(chain: StateMachine): Uint8Array | undefined;
}

/** Proves that a chain holds request commitments. @throws {IsmpError} */
export type MembershipVerifier = (
  host: VerifierHost,
  claim: {
    readonly commitments: readonly Hash256[];
    readonly state: StateCommitment;
    readonly proof: Proof;
  },
) => void;

/** Checks an update. Returns the client's new state and the commitments it proves. @throws {IsmpError} */
export type ConsensusVerifier = (
  trusted: Uint8Array,
  proof: Uint8Array,
) => { readonly state: Uint8Array; readonly commitments: readonly IntermediateState[] };

/** An implementation of a consensus client. */
export interface ConsensusClient {
  readonly id: ConsensusClientId;
  /** The verifier of messages from a chain, undefined where the client does not follow that kind. */
  stateMachine(chain: StateMachine): MembershipVerifier | undefined;
  readonly verifyConsensus: ConsensusVerifier | undefined;
}

const evmOnly = (chain: StateMachine): MembershipVerifier | undefined =>
  isEvm(chain) ? verifyEvmRequests : undefined;

const substrateOnly = (chain: StateMachine): MembershipVerifier | undefined =>
  isSubstrate(chain) ? verifySubstrateRequests : undefined;

/** The table: client id to client. The verifiers of updates come with the consensus programs. */
export const consensusClients: ReadonlyMap<ConsensusClientId, ConsensusClient> = new Map(
  [
    ...["BEAC", "GNOS", "BSCP", "ARBC", "OPTC", "PLGN"].map((id) => [id, evmOnly] as const),
    ...["PARA", "GRNP", "BEEF"].map((id) => [id, substrateOnly] as const),
  ].map(([text, stateMachine]) => {
    const id = toConsensusClientId(text);
    return [id, { id, stateMachine, verifyConsensus: undefined }];
  }),
);

function verifyEvmRequests(
  host: VerifierHost,
  { commitments, state, proof }: Parameters<MembershipVerifier>[1],
): void {
  const address = host.evmHost(proof.height.id.stateMachine);
  if (address === undefined) {
    throw new IsmpError("ismp_contract_not_found", proof.height.id.stateMachine);
  }
  const stateProof = decodeProof(evmStateProofCodec, proof.proof, "EvmStateProof");
  try {
    verifyEvmMembership({
      stateRoot: state.stateRoot,
      host: address,
      proof: stateProof,
      slots: commitments.map((commitment) => fromHex(requestSenderSlot(commitment))),
    });
  } catch (cause) {
    if (!(cause instanceof EvmProofError)) throw cause;
    throw new IsmpError("membership_proof_verification_failed", cause.code, { cause });
  }
}

function verifySubstrateRequests(
  host: VerifierHost,
  { commitments, state, proof }: Parameters<MembershipVerifier>[1],
): void {
  const isHub = proof.height.id.stateMachine === host.stateMachine;
  const root = isHub ? state.stateRoot : state.overlayRoot;
  if (root === undefined) {
    throw new IsmpError("membership_proof_verification_failed", "the commitment has no overlay root");
  }
  const { hasher, storageProof } = decodeProof(stateMachineProofCodec, proof.proof, "StateMachineProof");
  const keys = commitments.map(childTrieKeys.requestCommitment);
  try {
    const values = readSubstrateProof({ root, hasher, nodes: storageProof, keys });
    if ([...values.values()].includes(undefined)) {
      throw new IsmpError("membership_proof_verification_failed", "value_not_present");
    }
  } catch (cause) {
    if (!(cause instanceof TrieError)) throw cause;
    throw new IsmpError("membership_proof_verification_failed", cause.code, { cause });
  }
}

function decodeProof<T>(codec: Codec<T>, proof: Uint8Array, name: string): T {
  try {
    return decodeStrict(codec, proof, name);
  } catch (cause) {
    if (!(cause instanceof ScaleError)) throw cause;
    throw new IsmpError("membership_proof_verification_failed", "undecodable proof", { cause });
  }
}
