/**
 * Fees and rewards on the hub: claims and withdrawals that a relayer submits. Source: polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/withdrawal.rs, modules/utils/crypto/src/verification.rs.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import { bytes, type Codec, Enum, hash256, list, Option, pair, Struct, u64 } from "../encoding/scale.ts";
import { type PostRequest, postRequestCodec } from "./message.ts";
import { type Proof, proofCodec } from "./proof.ts";
import { type StateMachine, stateMachineCodec } from "./state_machine.ts";

/** A relayer's key with its signature, by scheme. */
export type Signature =
  | {
    readonly tag: "Evm";
    /** `address`: 20 bytes; `signature`: 65 bytes r, s, v with v 27 or 28 (0 or 1 also count). */
    readonly value: { readonly address: Uint8Array; readonly signature: Uint8Array };
  }
  | {
    readonly tag: "Sr25519" | "Ed25519";
    readonly value: { readonly publicKey: Uint8Array; readonly signature: Uint8Array };
  };

/** Proofs that requests were paid for on their source and delivered on their destination. */
export interface WithdrawalProof {
  /** At most 50 in one proof, as upstream; all delivered by one address. */
  readonly commitments: readonly Hash256[];
  readonly sourceProof: Proof;
  readonly destProof: Proof;
  /** Another account to credit, and the signature of the delivering key. */
  readonly beneficiaryDetails: readonly [beneficiary: Uint8Array, signature: Signature] | undefined;
}

/** Withdrawal of all credited fees of the signing address on one chain. */
export interface WithdrawalInputData {
  readonly signature: Signature;
  readonly destChain: StateMachine;
  readonly beneficiary: Uint8Array | undefined;
}

/** Claim of the reward for delivering an authority set's rotation to an EVM chain. */
export interface OutboundConsensusDeliveryClaim {
  readonly stateProof: Proof;
  readonly setId: bigint;
  readonly payee: Hash256;
  readonly signature: Signature;
}

/** Claim of the reward for delivering a request of the hub. */
export interface OutboundRequestDeliveryClaim {
  readonly request: PostRequest;
  readonly stateProof: Proof;
  readonly payee: Hash256;
  readonly signature: Signature;
}

const keyAndSignature = Struct({ publicKey: bytes, signature: bytes });

/** SCALE of {@link Signature}. */
export const signatureCodec: Codec<Signature> = Enum({
  Evm: Struct({ address: bytes, signature: bytes }),
  Sr25519: keyAndSignature,
  Ed25519: keyAndSignature,
});

/** SCALE of {@link WithdrawalProof}. */
export const withdrawalProofCodec: Codec<WithdrawalProof> = Struct({
  commitments: list(hash256),
  sourceProof: proofCodec,
  destProof: proofCodec,
  beneficiaryDetails: Option(pair(bytes, signatureCodec)),
});

/** SCALE of {@link WithdrawalInputData}. */
export const withdrawalInputDataCodec: Codec<WithdrawalInputData> = Struct({
  signature: signatureCodec,
  destChain: stateMachineCodec,
  beneficiary: Option(bytes),
});

/** SCALE of {@link OutboundConsensusDeliveryClaim}. */
export const outboundConsensusDeliveryClaimCodec: Codec<OutboundConsensusDeliveryClaim> = Struct({
  stateProof: proofCodec,
  setId: u64,
  payee: hash256,
  signature: signatureCodec,
});

/** SCALE of {@link OutboundRequestDeliveryClaim}. */
export const outboundRequestDeliveryClaimCodec: Codec<OutboundRequestDeliveryClaim> = Struct({
  request: postRequestCodec,
  stateProof: proofCodec,
  payee: hash256,
  signature: signatureCodec,
});
