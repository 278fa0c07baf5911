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
import { decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import { readContractState, readSubstrateState } from "../verifiers/substrate_state.ts";
import { readEthereumState } from "../verifiers/ethereum_state.ts";
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

/** What is read of a state, and by which proof. */
export interface StateQuestion {
  readonly keys: readonly Uint8Array[];
  readonly root: Hash256;
  readonly proof: Proof;
}

/** Reads proofs of one family of chains. */
export interface StateMachineClient {
  /** What a proof shows for keys below a root. @throws {ProofRefusal} {ScaleError} {IsmpError} ismp_contract_not_found */
  read(host: VerifierHost, question: StateQuestion): ProvenValues;
  /** Root below which the chain keeps its requests; undefined where a commitment has none. */
  requestRoot(host: VerifierHost, chain: StateMachine, state: StateCommitment): Hash256 | undefined;
  /** Where a source keeps that it sent a request. */
  requestKey(commitment: Hash256): Uint8Array;
  /** Where a source keeps the relayer fee of a request. */
  feeKey(commitment: Hash256): Uint8Array;
  /** Where a destination keeps who delivered a request. */
  receiptKey(commitment: Hash256): Uint8Array;
}

const contracts: Omit<StateMachineClient, "read"> = {
  requestRoot: (_host, _chain, { stateRoot }) => stateRoot,
  requestKey: (commitment) => fromHex(requestSenderSlot(commitment)),
  feeKey: (commitment) => fromHex(requestFeeSlot(commitment)),
  receiptKey: (commitment) => fromHex(requestReceiptSlot(commitment)),
};

/** EVM chains. */
export const evmClient: StateMachineClient = {
  ...contracts,
  read: (host, { keys, root, proof }) =>
    readEthereumState({
      stateRoot: root,
      host: requireHost(host, proof),
      proof: decodeStrict(evmStateProofCodec, proof.proof, "Proof"),
      keys,
    }),
};

/** Substrate chains with EVM contracts. */
export const contractClient: StateMachineClient = {
  ...contracts,
  read(host, { keys, root, proof }): ProvenValues {
    const contract = requireHost(host, proof);
    const stateProof = decodeStrict(substrateEvmProofCodec, proof.proof, "Proof");
    return readContractState({ stateRoot: root, host: contract, proof: stateProof }, keys);
  },
};

/** Substrate chains. */
export const substrateClient: StateMachineClient = {
  read(_host, { keys, root, proof }): ProvenValues {
    const { hasher, storageProof } = decodeStrict(stateMachineProofCodec, proof.proof, "Proof");
    return readSubstrateState({ root, hasher, nodes: storageProof, keys });
  },
  requestRoot: ({ coprocessor }, chain, { stateRoot, overlayRoot }) =>
    chain === coprocessor ? stateRoot : overlayRoot,
  requestKey: childTrieKeys.requestCommitment,
  feeKey: childTrieKeys.requestCommitment,
  receiptKey: childTrieKeys.requestReceipt,
};

/** Proves that a chain holds requests. @throws {IsmpError} membership_proof_verification_failed. */
export function verifyMembership(
  client: StateMachineClient,
  host: VerifierHost,
  { commitments, state, proof }: {
    readonly commitments: readonly Hash256[];
    readonly state: StateCommitment;
    readonly proof: Proof;
  },
): void {
  const code = "membership_proof_verification_failed";
  const root = client.requestRoot(host, proof.height.id.stateMachine, state);
  if (root === undefined) throw new IsmpError(code, "the commitment has no overlay root");
  const values = orFailed(
    code,
    () => client.read(host, { keys: commitments.map(client.requestKey), root, proof }),
  );
  if ([...values.values()].includes(undefined)) throw new IsmpError(code, "no_value");
}

/** What a proof shows for keys below a root. @throws {IsmpError} state_proof_verification_failed. */
export function readState(
  client: StateMachineClient,
  host: VerifierHost,
  question: StateQuestion,
): ProvenValues {
  return orFailed("state_proof_verification_failed", () => client.read(host, question));
}

function requireHost(host: VerifierHost, proof: Proof): Uint8Array {
  const address = host.evmHost(proof.height.id.stateMachine);
  if (address === undefined) {
    throw new IsmpError("ismp_contract_not_found", proof.height.id.stateMachine);
  }
  return address;
}

function orFailed<T>(
  code: "membership_proof_verification_failed" | "state_proof_verification_failed",
  read: () => T,
): T {
  const undecodable = (cause: ScaleError): Error => new IsmpError(code, "undecodable proof", { cause });
  const refused = (cause: ProofRefusal): Error => new IsmpError(code, cause.code, { cause });
  return converted(ScaleError, undecodable, () => converted(ProofRefusal, refused, read));
}
