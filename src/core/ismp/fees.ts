/**
 * Fees and rewards on the hub: claims and withdrawals that a relayer submits. Source: polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/withdrawal.rs, modules/utils/crypto/src/verification.rs.
 */
import { bytes, Enum, hash256, list, Option, pair, Struct, u64 } from "../encoding/scale.ts";
import { postRequestCodec } from "./message.ts";
import { proofCodec } from "./proof.ts";
import { stateMachineCodec } from "./state_machine.ts";
import type { CodecType } from "scale-ts";

const keyAndSignature = Struct({ publicKey: bytes, signature: bytes });

/** SCALE of {@link Signature}. */
export const signatureCodec = Enum({
  /** `address`: 20 bytes; `signature`: 65 bytes r, s, v with v 27 or 28 (0 or 1 also count). */
  Evm: Struct({ address: bytes, signature: bytes }),
  Sr25519: keyAndSignature,
  Ed25519: keyAndSignature,
});

/** A relayer's key with its signature, by scheme. */
export type Signature = Readonly<CodecType<typeof signatureCodec>>;

/** SCALE of {@link WithdrawalProof}. */
export const withdrawalProofCodec = Struct({
  /** At most 50 in one proof, as upstream; all delivered by one address. */
  commitments: list(hash256),
  sourceProof: proofCodec,
  destProof: proofCodec,
  /** Another account to credit, and the signature of the delivering key. */
  beneficiaryDetails: Option(pair(bytes, signatureCodec)),
});

/** Proofs that requests were paid for on their source and delivered on their destination. */
export type WithdrawalProof = Readonly<CodecType<typeof withdrawalProofCodec>>;

/** SCALE of {@link WithdrawalInputData}. */
export const withdrawalInputDataCodec = Struct({
  signature: signatureCodec,
  destChain: stateMachineCodec,
  beneficiary: Option(bytes),
});

/** Withdrawal of all credited fees of the signing address on one chain. */
export type WithdrawalInputData = Readonly<CodecType<typeof withdrawalInputDataCodec>>;

/** SCALE of {@link OutboundConsensusDeliveryClaim}. */
export const outboundConsensusDeliveryClaimCodec = Struct({
  stateProof: proofCodec,
  setId: u64,
  payee: hash256,
  signature: signatureCodec,
});

/** Claim of the reward for delivering an authority set's rotation to an EVM chain. */
export type OutboundConsensusDeliveryClaim = Readonly<CodecType<typeof outboundConsensusDeliveryClaimCodec>>;

/** SCALE of {@link OutboundRequestDeliveryClaim}. */
export const outboundRequestDeliveryClaimCodec = Struct({
  request: postRequestCodec,
  stateProof: proofCodec,
  payee: hash256,
  signature: signatureCodec,
});

/** Claim of the reward for delivering a request of the hub. */
export type OutboundRequestDeliveryClaim = Readonly<CodecType<typeof outboundRequestDeliveryClaimCodec>>;
