/**
 * Messages that relayers submit: those of `handle_unsigned` and the arguments around them. Source:
 * polytope-labs/hyperbridge: modules/ismp/core/src/messaging.rs, modules/pallets/state-coprocessor.
 */
import { bytes, Enum, list, Struct } from "../encoding/scale.ts";
import { getRequestCodec, postRequestCodec } from "./message.ts";
import { proofCodec } from "./proof.ts";
import { consensusStateIdCodec } from "./state_machine.ts";
import { type CodecType, compact } from "scale-ts";
import { concatBytes } from "../encoding/bytes.ts";

/** An update of a light client. */
export const consensusMessageCodec = Struct({
  consensusProof: bytes,
  consensusStateId: consensusStateIdCodec,
  /** Up to 32 bytes are stored unchanged; longer ones must be a SCALE `Signature`. */
  signer: bytes,
});

/** Post requests with the proof that their source dispatched them; all share one proof height. */
export const requestMessageCodec = Struct({
  requests: list(postRequestCodec),
  proof: proofCodec,
  signer: bytes,
});

/** SCALE of {@link IsmpMessage}; the indexes are explicit upstream and never move. */
export const ismpMessageCodec = Enum({
  Consensus: consensusMessageCodec,
  Request: requestMessageCodec,
}, [0, 2]);

/** An element of the argument of `Ismp.handle_unsigned`, of the kinds that relayers send. */
export type IsmpMessage = Readonly<CodecType<typeof ismpMessageCodec>>;

/** SCALE `Vec<Message>`. */
export const ismpMessagesCodec = list(ismpMessageCodec);

/** SCALE of {@link GetRequestsWithProof}. */
export const getRequestsWithProofCodec = Struct({
  requests: list(getRequestCodec),
  /** Membership of the requests on their source. */
  source: proofCodec,
  /** Values of the keys on the chain that is read, at exactly the requests' height. */
  response: proofCodec,
  /** 32-byte account that is credited; other lengths get nothing. */
  address: bytes,
});

/** Get requests with proofs of their dispatch and of the requested values; the hub creates the responses. */
export type GetRequestsWithProof = Readonly<CodecType<typeof getRequestsWithProofCodec>>;

/** First byte of an unsigned extrinsic of format 4; the hub accepts no format 5 before its next runtimes. */
const bareVersion = 0x04;

/** Unsigned extrinsic of an encoded call: compact length, version byte, call. */
export function encodeBareExtrinsic(call: Uint8Array): Uint8Array {
  return concatBytes(compact.enc(call.length + 1), Uint8Array.of(bareVersion), call);
}
