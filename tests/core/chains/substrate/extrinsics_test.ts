import assert from "node:assert/strict";
import type { Delivery } from "../../../../src/core/chains/submission.ts";
import type { SubstrateNode } from "../../../../src/core/chains/substrate/node.ts";
import {
  compressCall,
  deliveryExtrinsic,
  keySigner,
  plainSigner,
  readDelivery,
} from "../../../../src/core/chains/substrate/extrinsics.ts";
import { loadRuntime } from "../../../../src/core/chains/substrate/runtime.ts";
import { equalBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { signatureCodec } from "../../../../src/core/ismp/fees.ts";
import {
  requestSignerMessage,
  SignatureError,
  sr25519PublicKey,
  storedSigner,
} from "../../../../src/core/ismp/signed_messages.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import { scriptContext } from "./scripted_hub.ts";
import { hubMetadata, hubScale } from "../../../support/hub_vectors.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { verifySignature } from "../../../../devnet/hub/signatures.ts";

function nodeOf(hashing: SubstrateNode["hashing"]): SubstrateNode {
  return scriptContext({}, { isHub: true, use: "hub" }, { hashing }).chain.node;
}

/** The delivery of the vector `call.*.Ismp.handle_unsigned.Request`. */
const request = {
  source: parseStateMachine("EVM-1"),
  dest: parseStateMachine("EVM-56"),
  nonce: 42n,
  from: fromHex("0x0102030405060708090a0b0c0d0e0f1011121314"),
  to: fromHex("0x404142434445464748494a4b4c4d4e4f50515253"),
  timeoutTimestampSec: 1_755_003_600n,
  body: fromHex("0xdeadbeef"),
};
const delivery: Delivery = {
  steps: [{
    kind: "messages",
    messages: [postMessage(request)],
    proof: {
      kind: "state",
      height: {
        id: { stateMachine: parseStateMachine("EVM-1"), consensusStateId: toConsensusStateId("ETH0") },
        height: 21_000_000n,
      },
      proof: fromHex("0x0a0b0c"),
    },
  }],
};
const signer = plainSigner(fromHex("0x0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"));

for (const hub of ["nexus", "gargantua"] as const) {
  Deno.test(`extrinsics: a delivery to ${hub} has the bytes and the hash of the known answer`, () => {
    const { specName, specVersion, metadata } = hubMetadata(`${hub}-head`);
    const runtime = loadRuntime("hub", { specName, specVersion }, metadata);
    const steps = readDelivery(delivery);
    assert.ok(steps !== undefined);
    const extrinsic = deliveryExtrinsic(nodeOf("Keccak"), runtime, steps, signer);
    const known = hubScale(`call.${hub}.Ismp.handle_unsigned.Request`);
    assert.equal(toHex(extrinsic.bytes), known.bareExtrinsicV4);
    assert.equal(extrinsic.hash, known.bareExtrinsicHashKeccak);
    const blake = deliveryExtrinsic(nodeOf("Blake2"), runtime, steps, signer);
    assert.equal(equalBytes(blake.bytes, extrinsic.bytes), true);
    assert.notEqual(blake.hash, extrinsic.hash);
  });
}

Deno.test("extrinsics: a key signs the requests, and hosts store its public key", () => {
  const key = new Uint8Array(32).fill(3);
  const field = keySigner(key, seededRandomness(1)).sign([request]);
  const signature = decodeStrict(signatureCodec, field, "Signature");
  assert.equal(verifySignature(requestSignerMessage([request]).digest, signature), true);
  assert.deepEqual(storedSigner(field), sr25519PublicKey(key));
});

Deno.test("extrinsics: without a key the name is used as it is, up to 32 bytes", () => {
  const name = new Uint8Array(32).fill(1);
  assert.deepEqual(plainSigner(name).sign([request]), name);
  assert.deepEqual(plainSigner(undefined).sign([request]), new Uint8Array());
  assert.throws(() => plainSigner(new Uint8Array(33)), RangeError);
});

Deno.test("extrinsics: a key of another length is refused without being shown", () => {
  assert.throws(() => keySigner(new Uint8Array(31).fill(0xab), seededRandomness(1)), (error: unknown) => {
    assert.ok(error instanceof SignatureError);
    assert.equal(error.code, "bad_key");
    assert.equal(error.message.includes("ab"), false);
    return true;
  });
});

Deno.test("extrinsics: calls are compressed for the hub alone, which is sure to read them", () => {
  const { specName, specVersion, metadata } = hubMetadata("nexus-head");
  const runtime = loadRuntime("hub", { specName, specVersion }, metadata);
  const call = new Uint8Array(5_000);
  const other = scriptContext({}, { isHub: false, use: "hub" }, {}).chain.node;
  assert.ok(compressCall(nodeOf("Keccak"), runtime, call).length < 500);
  assert.equal(compressCall(other, runtime, call), call);
});
