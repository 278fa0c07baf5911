/** Encodes deliveries as unsigned extrinsics, by the indexes and layouts of the chain's metadata. */
import { concatBytes, type Hash256, toHash256 } from "../../encoding/bytes.ts";
import { type Signature, signatureCodec } from "../../ismp/fees.ts";
import { encodeBareExtrinsic, type IsmpMessage } from "../../ismp/ismp_message.ts";
import type { PostRequest } from "../../ismp/message.ts";
import type { Proof } from "../../ismp/proof.ts";
import { requestSignerMessage, sr25519PublicKey, sr25519Signature } from "../../ismp/signed_messages.ts";
import { calls, type TypedCall } from "../../rpc/substrate_calls.ts";
import type { Randomness } from "../../runtime/clock.ts";
import type { Delivery, SignedSubmission } from "../submission.ts";
import { runtimeCalls } from "./assumptions.ts";
import type { SubstrateNode } from "./node.ts";
import { hashFunction } from "../../merkle/substrate_proof.ts";
import type { Runtime } from "./runtime.ts";
import { constants, zstdCompressSync } from "node:zlib";

/** Maximum size of a `signer` that hosts store unchanged (docs/protocol/hub.md section 3.6). */
const MAX_PLAIN_SIGNER_BYTES = 32;

/** Signs messages as our relayer. */
export interface MessageSigner {
  /** Our relayer address in receipts; `undefined` for none. */
  readonly relayer: Uint8Array | undefined;
  /** The `signer` field of a message with these requests. */
  sign(requests: readonly PostRequest[]): Uint8Array;
  /** Signs a digest as the hub verifies it. @throws {Error} without a key: callers know whether there is one. */
  signDigest(digest: Hash256): Signature;
}

/** Creates a signer with an sr25519 key (32-byte mini secret or 64 bytes): receipts carry the public key. */
export function keySigner(key: Uint8Array, randomness: Randomness): MessageSigner {
  return {
    relayer: sr25519PublicKey(key),
    sign: (requests) => {
      const { digest } = requestSignerMessage(requests);
      return signatureCodec.enc(sr25519Signature(digest, key, randomness.bytes(32)));
    },
    signDigest: (digest) => sr25519Signature(digest, key, randomness.bytes(32)),
  };
}

/**
 * Creates a signer without a key: receipts carry `relayer` unchanged.
 * @throws {RangeError} above 32 bytes, which hosts would take for a signature.
 */
export function plainSigner(relayer: Uint8Array | undefined): MessageSigner {
  if ((relayer?.length ?? 0) > MAX_PLAIN_SIGNER_BYTES) {
    throw new RangeError(`A relayer's name has at most ${MAX_PLAIN_SIGNER_BYTES} bytes`);
  }
  return {
    relayer,
    sign: () => relayer ?? new Uint8Array(),
    signDigest: () => {
      throw new Error("There is no key to sign with");
    },
  };
}

/** How this relayer makes extrinsics for one chain. */
export interface ExtrinsicOptions {
  readonly signer: MessageSigner;
  /** Maximum size of an extrinsic, bytes. */
  readonly maxCallBytes: number;
}

/** Extrinsic and its hash. */
export interface BareExtrinsic {
  /** Bytes with the length prefix, as submitted and hashed. */
  readonly bytes: Uint8Array;
  readonly hash: Hash256;
}

/** Requests with their proof: one message of a Substrate host. */
export interface PostStep {
  readonly requests: readonly PostRequest[];
  readonly proof: Proof;
}

/**
 * The steps of a delivery in the form of a Substrate host; `undefined`: it accepts no such delivery. Heights arrive by
 * other means than deliveries, get requests are answered by the hub, and responses go to EVM hosts only
 * (docs/protocol/messaging.md sections 7.3 and 12).
 */
export function readDelivery({ steps }: Delivery): readonly PostStep[] | undefined {
  const read = steps.flatMap((step): readonly PostStep[] => {
    if (step.kind !== "messages" || step.proof.kind !== "state") return [];
    const { height, proof } = step.proof;
    const requests = step.messages.flatMap((message) => message.kind === "post" ? [message.request] : []);
    return requests.length < step.messages.length ? [] : [{ requests, proof: { height, proof } }];
  });
  return read.length < steps.length ? undefined : read;
}

/**
 * Encodes `Ismp.handle_unsigned` with one message per step, compressed if the hub supports it; the whole extrinsic
 * succeeds or fails.
 * @throws {RuntimeFault} when the runtime has another layout.
 */
export function deliveryExtrinsic(
  node: SubstrateNode,
  runtime: Runtime,
  steps: readonly PostStep[],
  signer: MessageSigner,
): BareExtrinsic {
  const messages = steps.map(({ requests, proof }): IsmpMessage => ({
    tag: "Request",
    value: { requests, proof, signer: signer.sign(requests) },
  }));
  const call = runtime.encodeCall(runtimeCalls.requests, messages);
  return bareExtrinsic(node, compressCall(node, runtime, call));
}

/** Creates an unsigned extrinsic with this call. */
export function bareExtrinsic(node: SubstrateNode, call: Uint8Array): BareExtrinsic {
  const bytes = encodeBareExtrinsic(call);
  return { bytes, hash: extrinsicHash(node, bytes) };
}

/** Hash of an extrinsic, length prefix included. */
export function extrinsicHash(node: SubstrateNode, extrinsic: Uint8Array): Hash256 {
  return toHash256(hashFunction(node.hashing)(extrinsic));
}

/** Converts an unsigned extrinsic to a submission. @param height best block when it was created. */
export function toSubmission(
  node: SubstrateNode,
  extrinsic: BareExtrinsic,
  height: bigint,
): SignedSubmission {
  return {
    hash: extrinsic.hash,
    chain: node.id.stateMachine,
    raw: extrinsic.bytes,
    account: undefined,
    nonce: undefined,
    gasPriceWei: undefined,
    gasLimit: undefined,
    madeAtHeight: height,
  };
}

/** Runtime API of the pool's own check. */
export const VALIDATE_METHOD = "TaggedTransactionQueue_validate_transaction";

/**
 * Call that checks whether the pool would accept an extrinsic now. The argument is: source External, the extrinsic,
 * and a block hash that only becomes the parent of the simulated block.
 */
export function validationCall(extrinsic: BareExtrinsic): TypedCall<Uint8Array> {
  const argument = concatBytes(Uint8Array.of(2), extrinsic.bytes, new Uint8Array(32));
  return calls.stateCall(VALIDATE_METHOD, argument);
}

/** Level used upstream; higher ones are slow for proofs, which hardly compress. */
const ZSTD_LEVEL = 3;
/** Below this saving the plain call is sent, as upstream does. */
const MIN_SAVING_PERCENT = 20;
/** Smaller calls are not worth compressing: they fit everywhere. */
const COMPRESSIBLE_FROM_BYTES = 1_024;
/** The runtime accepts smaller calls only: `MaxCallSize` of gargantua, 2 decimal megabytes (nexus: 3). */
const COMPRESSIBLE_BELOW_BYTES = 2_000_000;

/**
 * Returns the call, compressed if the chain supports it and it saves enough. Only `Ismp.handle_unsigned` and
 * `Relayer.accumulate_fees` may be compressed: the caller ensures that.
 */
export function compressCall(node: SubstrateNode, runtime: Runtime, call: Uint8Array): Uint8Array {
  const isTaken = node.isHub && runtime.has(runtimeCalls.decompress) &&
    call.length >= COMPRESSIBLE_FROM_BYTES && call.length < COMPRESSIBLE_BELOW_BYTES;
  if (!isTaken) return call;
  const compressed = new Uint8Array(
    zstdCompressSync(call, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } }),
  );
  const savedPercent = Math.floor(((call.length - compressed.length) * 100) / call.length);
  if (savedPercent < MIN_SAVING_PERCENT) return call;
  return runtime.encodeCall(runtimeCalls.decompress, { compressed, encodedCallSize: call.length });
}
