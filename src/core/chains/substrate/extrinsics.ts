/** From a delivery to the bytes of an unsigned extrinsic, by the indexes and layouts of the chain's metadata. */
import { concatBytes, type Hash256, toHash256 } from "../../protocol/bytes.ts";
import { signatureCodec } from "../../protocol/ismp/fees.ts";
import { encodeBareExtrinsic } from "../../protocol/ismp/hub_calls.ts";
import { type IsmpMessage, ismpMessagesCodec } from "../../protocol/ismp/ismp_message.ts";
import type { Message, PostRequest } from "../../protocol/ismp/message.ts";
import {
  requestSignerMessage,
  sr25519PublicKey,
  sr25519Signature,
} from "../../protocol/ismp/signed_messages.ts";
import type { Randomness } from "../../runtime/randomness.ts";
import type { Delivery, DeliveryStep } from "../chain.ts";
import { callLayouts } from "./layout.ts";
import { hashFunctionOf, type SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";

/** Upper limit of a `signer` that hosts store as it is (protocol notes 03, section 3.6). */
export const MAX_PLAIN_SIGNER_BYTES = 32;

/** Puts our name on messages. */
export interface MessageSigner {
  /** How receipts name us; `undefined` when nobody is to be named. */
  readonly relayer: Uint8Array | undefined;
  /** The `signer` field of a message with these requests. */
  sign(requests: readonly PostRequest[]): Uint8Array;
}

/** Signs with an sr25519 key (32-byte mini secret or 64 bytes): receipts carry the public key. */
export function keySigner(key: Uint8Array, randomness: Randomness): MessageSigner {
  return {
    relayer: sr25519PublicKey(key),
    sign: (requests) => {
      const { digest } = requestSignerMessage(requests);
      return signatureCodec.enc(sr25519Signature(digest, key, randomness.bytes(32)));
    },
  };
}

/**
 * Without a key: receipts carry `relayer` as it is.
 * @throws {RangeError} above 32 bytes, which hosts would take for a signature.
 */
export function plainSigner(relayer: Uint8Array | undefined): MessageSigner {
  if ((relayer?.length ?? 0) > MAX_PLAIN_SIGNER_BYTES) {
    throw new RangeError(`A relayer's name has at most ${MAX_PLAIN_SIGNER_BYTES} bytes`);
  }
  return { relayer, sign: () => relayer ?? new Uint8Array() };
}

/** An extrinsic and the hash by which the chain knows it. */
export interface BareExtrinsic {
  /** With its length prefix, as it is submitted and hashed. */
  readonly bytes: Uint8Array;
  readonly hash: Hash256;
}

/** All messages of a delivery, over all steps in order. */
export function messagesOf(delivery: Delivery): readonly Message[] {
  return delivery.steps.flatMap((step) => step.kind === "messages" ? step.messages : []);
}

/**
 * `Ismp.handle_unsigned` with one message per step; the whole extrinsic succeeds or fails.
 * @throws {RuntimeFault} when the runtime has another layout.
 */
export function deliveryExtrinsic(
  node: SubstrateNode,
  runtime: Runtime,
  delivery: Delivery,
  signer: MessageSigner,
): BareExtrinsic {
  const messages = delivery.steps.map((step) => toIsmpMessage(step, signer));
  return bareExtrinsic(node, runtime.encodeCall(callLayouts.requests, ismpMessagesCodec.enc(messages)));
}

/** An unsigned extrinsic with this call. */
export function bareExtrinsic(node: SubstrateNode, call: Uint8Array): BareExtrinsic {
  const bytes = encodeBareExtrinsic(call);
  return { bytes, hash: extrinsicHash(node, bytes) };
}

/** Hash of an extrinsic, length prefix included. */
export function extrinsicHash(node: SubstrateNode, extrinsic: Uint8Array): Hash256 {
  return toHash256(hashFunctionOf(node.hashing)(extrinsic));
}

/**
 * Argument of `TaggedTransactionQueue_validate_transaction`: source External, the extrinsic, a block hash that
 * only becomes the parent of the block in which the runtime pretends to be.
 */
export function validationArgument(extrinsic: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(2), extrinsic, new Uint8Array(32));
}

function toIsmpMessage(step: DeliveryStep, signer: MessageSigner): IsmpMessage {
  if (step.kind === "consensus") {
    throw new Error("Substrate chains learn of heights by themselves, not as part of a delivery");
  }
  if (step.proof.kind !== "state") throw new Error("A Substrate chain takes state proofs");
  const requests = step.messages.map((message) => {
    if (message.kind !== "post") throw new Error(`A Substrate chain takes no ${message.kind} as a delivery`);
    return message.request;
  });
  const { height, proof } = step.proof;
  return {
    tag: "Request",
    value: { requests, proof: { height, proof }, signer: signer.sign(requests) },
  };
}
