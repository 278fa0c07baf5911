/**
 * Messages that relayers submit: those of `handle_unsigned` and the arguments around them. Source:
 * polytope-labs/hyperbridge: modules/ismp/core/src/messaging.rs, modules/pallets/state-coprocessor.
 */
import { bytes, type Codec, Enum, list, Struct } from "../encoding/scale.ts";
import { type GetRequest, getRequestCodec, type PostRequest, postRequestCodec } from "./message.ts";
import { type Proof, proofCodec } from "./proof.ts";
import { type ConsensusStateId, consensusStateIdCodec } from "./state_machine.ts";
import { compact } from "scale-ts";
import { concatBytes } from "../encoding/bytes.ts";

/** An update of a light client. */
export interface ConsensusMessage {
  readonly consensusProof: Uint8Array;
  readonly consensusStateId: ConsensusStateId;
  /** Up to 32 bytes are stored unchanged; longer ones must be a SCALE `Signature`. */
  readonly signer: Uint8Array;
}

/** Post requests with the proof that their source dispatched them; all share one proof height. */
export interface RequestMessage {
  readonly requests: readonly PostRequest[];
  readonly proof: Proof;
  readonly signer: Uint8Array;
}

/** An element of the argument of `Ismp.handle_unsigned`, of the kinds that relayers send. */
export type IsmpMessage =
  | { readonly tag: "Consensus"; readonly value: ConsensusMessage }
  | { readonly tag: "Request"; readonly value: RequestMessage };

/** Get requests with proofs of their dispatch and of the requested values; the hub creates the responses. */
export interface GetRequestsWithProof {
  readonly requests: readonly GetRequest[];
  /** Membership of the requests on their source. */
  readonly source: Proof;
  /** Values of the keys on the chain that is read, at exactly the requests' height. */
  readonly response: Proof;
  /** 32-byte account that is credited; other lengths get nothing. */
  readonly address: Uint8Array;
}

/** SCALE of {@link ConsensusMessage}. */
export const consensusMessageCodec: Codec<ConsensusMessage> = Struct({
  consensusProof: bytes,
  consensusStateId: consensusStateIdCodec,
  signer: bytes,
});

/** SCALE of {@link RequestMessage}. */
export const requestMessageCodec: Codec<RequestMessage> = Struct({
  requests: list(postRequestCodec),
  proof: proofCodec,
  signer: bytes,
});

/** SCALE of {@link IsmpMessage}; the indexes are explicit upstream and never move. */
export const ismpMessageCodec: Codec<IsmpMessage> = Enum({
  Consensus: consensusMessageCodec,
  Request: requestMessageCodec,
}, [0, 2]);

/** SCALE `Vec<Message>`. */
export const ismpMessagesCodec: Codec<readonly IsmpMessage[]> = list(ismpMessageCodec);

/** SCALE of {@link GetRequestsWithProof}. */
export const getRequestsWithProofCodec: Codec<GetRequestsWithProof> = Struct({
  requests: list(getRequestCodec),
  source: proofCodec,
  response: proofCodec,
  address: bytes,
});

/** First byte of an unsigned extrinsic of format 4; the hub accepts no format 5 before its next runtimes. */
const bareVersion = 0x04;

/** Unsigned extrinsic of an encoded call: compact length, version byte, call. */
export function encodeBareExtrinsic(call: Uint8Array): Uint8Array {
  return concatBytes(compact.enc(call.length + 1), Uint8Array.of(bareVersion), call);
}
