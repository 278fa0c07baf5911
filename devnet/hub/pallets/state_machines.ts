/**
 * How proofs of each family of chains are read: requests that a chain holds, and values of its state.
 * Source: polytope-labs/hyperbridge: modules/ismp/state-machines/{evm,substrate}/src/lib.rs,
 * modules/ismp/state-machines/evm/src/substrate_evm.rs.
 */
import {
  type ConsensusClientId,
  type StateCommitment,
  type StateMachine,
  stateMachineParts,
} from "../../../src/core/ismp/state_machine.ts";
import { fromHex, type Hash256, type Hex } from "../../../src/core/encoding/bytes.ts";
import { requestFeeSlot, requestReceiptSlot, requestSenderSlot } from "../../../src/core/evm/host_storage.ts";
import {
  evmStateProofCodec,
  type Proof,
  stateMachineProofCodec,
  substrateEvmProofCodec,
} from "../../../src/core/ismp/proof.ts";
import { childTrieKeys } from "../../../src/core/ismp/storage_keys.ts";
import { type Codec, decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import {
  type ContractQuestion,
  readContractState,
  readSubstrateState,
  requireContractSlots,
} from "../verifiers/substrate_state.ts";
import { readEthereumState, requireSlots } from "../verifiers/ethereum_state.ts";
import { converted, ProofRefusal } from "../verifiers/refusals.ts";
import { IsmpError } from "./ismp_error.ts";

/** True for Polkadot, Kusama, Substrate and Relay; Tendermint is neither EVM nor Substrate. */
export function isSubstrate(stateMachine: StateMachine): boolean {
  const { tag } = stateMachineParts(stateMachine);
  return tag === "Polkadot" || tag === "Kusama" || tag === "Substrate" || tag === "Relay";
}

/** What a verifier of messages needs to know of the chain that it runs on. */
export interface VerifierHost {
  /** The chain itself. */
  readonly stateMachine: StateMachine;
  /** The chain that may prove requests of others; its commitments have the child trie root as state root. */
  readonly coprocessor: StateMachine;
  /** Address of the ISMP host of an EVM chain, 20 bytes. */
  evmHost(chain: StateMachine): Uint8Array | undefined;
  /** True when the client was told to follow this Substrate chain, or lists this chain of a beacon chain. */
  follows(client: ConsensusClientId, chain: StateMachine): boolean;
}

/** Values by the hex of their keys; `undefined`: the proof shows that there is none. */
export type ProvenValues = ReadonlyMap<Hex, Uint8Array | undefined>;

/** Reads proofs of one family of chains. */
export interface StateMachineClient {
  /** Proves that a chain holds request commitments. @throws {IsmpError} membership_proof_verification_failed. */
  verifyMembership(
    host: VerifierHost,
    claim: {
      readonly commitments: readonly Hash256[];
      readonly state: StateCommitment;
      readonly proof: Proof;
    },
  ): void;
  /** What a proof shows for keys below a root. @throws {IsmpError} state_proof_verification_failed. */
  readState(
    host: VerifierHost,
    question: { readonly keys: readonly Uint8Array[]; readonly root: Hash256; readonly proof: Proof },
  ): ProvenValues;
  /** Where a source keeps the relayer fee of a request. */
  feeKey(commitment: Hash256): Uint8Array;
  /** Where a destination keeps who delivered a request. */
  receiptKey(commitment: Hash256): Uint8Array;
}

/** EVM chains. */
export const evmClient: StateMachineClient = {
  verifyMembership(host, { commitments, state, proof }): void {
    const code = "membership_proof_verification_failed";
    const address = requireHost(host, proof);
    const stateProof = decodeProof(evmStateProofCodec, proof.proof, code);
    refusing(code, () =>
      requireSlots({
        stateRoot: state.stateRoot,
        host: address,
        proof: stateProof,
        slots: commitments.map((commitment) => fromHex(requestSenderSlot(commitment))),
      }));
  },
  readState(host, { keys, root, proof }): ProvenValues {
    const code = "state_proof_verification_failed";
    const address = requireHost(host, proof);
    const stateProof = decodeProof(evmStateProofCodec, proof.proof, code);
    return refusing(
      code,
      () => readEthereumState({ stateRoot: root, host: address, proof: stateProof, keys }),
    );
  },
  feeKey: (commitment) => fromHex(requestFeeSlot(commitment)),
  receiptKey: (commitment) => fromHex(requestReceiptSlot(commitment)),
};

/** Substrate chains with EVM contracts. */
export const contractClient: StateMachineClient = {
  verifyMembership(host, { commitments, state, proof }): void {
    const code = "membership_proof_verification_failed";
    const question = contractQuestion(code, host, { root: state.stateRoot, proof });
    const slots = commitments.map((commitment) => fromHex(requestSenderSlot(commitment)));
    refusing(code, () => requireContractSlots(question, slots));
  },
  readState(host, { keys, root, proof }): ProvenValues {
    const code = "state_proof_verification_failed";
    const question = contractQuestion(code, host, { root, proof });
    return refusing(code, () => readContractState(question, keys));
  },
  feeKey: evmClient.feeKey,
  receiptKey: evmClient.receiptKey,
};

function contractQuestion(
  code: ProofCode,
  host: VerifierHost,
  { root, proof }: { readonly root: Hash256; readonly proof: Proof },
): ContractQuestion {
  const address = requireHost(host, proof);
  return {
    stateRoot: root,
    host: address,
    proof: decodeProof(substrateEvmProofCodec, proof.proof, code),
  };
}

/** Substrate chains. */
export const substrateClient: StateMachineClient = {
  verifyMembership(host, { commitments, state, proof }): void {
    const code = "membership_proof_verification_failed";
    const isCoprocessor = proof.height.id.stateMachine === host.coprocessor;
    const root = isCoprocessor ? state.stateRoot : state.overlayRoot;
    if (root === undefined) throw new IsmpError(code, "the commitment has no overlay root");
    const keys = commitments.map(childTrieKeys.requestCommitment);
    const values = readNodes(code, { keys, root, proof });
    if ([...values.values()].includes(undefined)) throw new IsmpError(code, "no_value");
  },
  readState: (_host, question) => readNodes("state_proof_verification_failed", question),
  feeKey: childTrieKeys.requestCommitment,
  receiptKey: childTrieKeys.requestReceipt,
};

type ProofCode = "membership_proof_verification_failed" | "state_proof_verification_failed";

function readNodes(
  code: ProofCode,
  { keys, root, proof }: Parameters<StateMachineClient["readState"]>[1],
): ProvenValues {
  const { hasher, storageProof } = decodeProof(stateMachineProofCodec, proof.proof, code);
  return refusing(code, () => readSubstrateState({ root, hasher, nodes: storageProof, keys }));
}

function requireHost(host: VerifierHost, proof: Proof): Uint8Array {
  const address = host.evmHost(proof.height.id.stateMachine);
  if (address === undefined) {
    throw new IsmpError("ismp_contract_not_found", proof.height.id.stateMachine);
  }
  return address;
}

function refusing<T>(code: ProofCode, read: () => T): T {
  return converted(ProofRefusal, (cause) => new IsmpError(code, cause.code, { cause }), read);
}

function decodeProof<T>(codec: Codec<T>, proof: Uint8Array, code: ProofCode): T {
  const refusal = (cause: ScaleError): Error => new IsmpError(code, "undecodable proof", { cause });
  return converted(ScaleError, refusal, () => decodeStrict(codec, proof, "Proof"));
}
