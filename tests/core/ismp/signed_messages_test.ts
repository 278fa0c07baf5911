import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import evm from "../../vectors/evm-signatures.json" with { type: "json" };
import hub from "../../vectors/hub-scale.json" with { type: "json" };
import { fromHex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import { signatureCodec } from "../../../src/core/ismp/fees.ts";
import { postRequestCodec } from "../../../src/core/ismp/message.ts";
import {
  consensusClaimMessage,
  recoverEvmAddress,
  requestClaimMessage,
  requestSignerMessage,
  SignatureError,
  type SignatureErrorCode,
  type SignedMessage,
  signedMessage,
  sr25519PublicKey,
  sr25519Secret,
  storedSigner,
  toEvmAddress,
  withdrawMessage,
  withoutCofactor,
} from "../../../src/core/ismp/signed_messages.ts";
import { evmStateMachine, parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { evmSignature, signEvmDigest, verifySignature } from "../../../devnet/hub/signatures.ts";

const evm1 = evmStateMachine(1);
const evm56 = evmStateMachine(56);
const account = toHash256("2304e88f144ae9318c71b0fb9e0f44bd9e0c6c58fb1b5315a35fd8b4b2a444ab");
const payee = toHash256("0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20");
const beneficiary = fromHex("0x808182838485868788898a8b8c8d8e8f90919293");
const secretKey = fromHex(evm.private_key);

function refuses(run: () => unknown, code: SignatureErrorCode): void {
  throws(run, (error) => error instanceof SignatureError && error.code === code);
}

function scaleOf(name: string): Uint8Array {
  const vector = hub.vectors.find((other) => other.name === name);
  ok(vector !== undefined, name);
  return fromHex(vector.scale);
}

const evmMessages: Record<string, SignedMessage> = {
  "withdraw_fees, no beneficiary": withdrawMessage({ nonce: 3n, destChain: evm56 }),
  "withdraw_fees, with beneficiary": withdrawMessage({
    nonce: 3n,
    destChain: evm56,
    beneficiary: fromHex("0x000000000000000000000000000000000000beef"),
  }),
  "accumulate_fees beneficiary_details": withdrawMessage({
    nonce: 0n,
    destChain: parseStateMachine("POLKADOT-2030"),
    beneficiary: fromHex(account),
  }),
  "outbound consensus delivery claim": consensusClaimMessage({ setId: 42n, destChain: evm1, payee: account }),
  "outbound request delivery claim": requestClaimMessage({
    commitment: toHash256("14ebae795c26ff0bf28817f2c295b481a861176442ec410230e0417a74f35f37"),
    destChain: evm1,
    payee: account,
  }),
};

for (const vector of evm.signatures) {
  Deno.test(`EVM signature vector: ${vector.name}`, () => {
    const message = evmMessages[vector.name];
    ok(message !== undefined);
    equal(toHex(message.preimage), vector.preimage);
    equal(message.digest, vector.message_hash);
    equal(toHex(signEvmDigest(message.digest, secretKey)), vector.signature);
    equal(toHex(recoverEvmAddress(message.digest, fromHex(vector.signature))), evm.address.toLowerCase());
    const low = fromHex(vector.signature).with(64, Number(`0x${vector.signature.slice(-2)}`) - 27);
    equal(toHex(recoverEvmAddress(message.digest, low)), evm.address.toLowerCase());
    const signature = evmSignature(message.digest, secretKey);
    equal(toHex(signatureCodec.enc(signature)), vector.scale_signature);
    equal(decodeStrict(signatureCodec, fromHex(vector.scale_signature), "Signature"), signature);
    ok(verifySignature(message.digest, signature));
  });
}

const hubMessages: Record<string, SignedMessage> = {
  "withdraw.noBeneficiary": withdrawMessage({ nonce: 3n, destChain: evm56 }),
  "withdraw.beneficiary": withdrawMessage({ nonce: 3n, destChain: evm56, beneficiary }),
  "accumulate.beneficiary": withdrawMessage({ nonce: 3n, destChain: evm1, beneficiary }),
  "claim.consensus": consensusClaimMessage({ setId: 19044n, destChain: evm56, payee }),
  "claim.request": requestClaimMessage({ commitment: toHash256("33".repeat(32)), destChain: evm56, payee }),
  "message.Request.signer": requestSignerMessage([
    decodeStrict(postRequestCodec, scaleOf("PostRequest.evm"), "PostRequest"),
  ]),
  "message.Consensus.signer": signedMessage(fromHex("0x00112233")),
};

// Responses are delivered without a signer.
for (const vector of hub.signedMessages.filter(({ name }) => name !== "message.Response.signer")) {
  Deno.test(`signed message vector: ${vector.name}`, () => {
    const message = hubMessages[vector.name];
    ok(message !== undefined);
    equal(toHex(message.preimage), vector.preimage);
    equal(message.digest, vector.digest);
  });
}

Deno.test("EVM signature: wrong forms are refused by code", () => {
  const digest = toHash256("11".repeat(32));
  refuses(() => signEvmDigest(digest, new Uint8Array(32)), "bad_key");
  refuses(() => toEvmAddress(new Uint8Array(31)), "bad_key");
  refuses(() => recoverEvmAddress(digest, new Uint8Array(64)), "bad_signature");
  refuses(() => recoverEvmAddress(digest, new Uint8Array(65)), "bad_signature");
  refuses(() => recoverEvmAddress(digest, signEvmDigest(digest, secretKey).with(64, 29)), "bad_signature");
});

Deno.test("sr25519: a mini secret gives the well-known public key of the development account", () => {
  const alice = fromHex("0xe5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a");
  equal(toHex(sr25519PublicKey(alice)), "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d");
  // What polkadot-js calls Alice's secret key (polkadot-js/common: packages/util-crypto/src/sr25519).
  equal(
    toHex(sr25519Secret(alice)),
    "0x98319d4ff8a9508c4bb0cf0b5a78d760a0b2082c02775e6e82370816fedfff48925a225d97aa00682d6a59b95b18780c10d7032336e88f3442b42361f4a66011",
  );
  const expanded = withoutCofactor(sr25519Secret(alice));
  equal(expanded.length, 64);
  equal(sr25519PublicKey(expanded), sr25519PublicKey(alice));
  equal(sr25519Secret(expanded), sr25519Secret(alice));
  refuses(() => sr25519PublicKey(new Uint8Array(33)), "bad_key");
});

Deno.test("signer field: short ones are stored as they are, long ones by the signer inside", () => {
  equal(storedSigner(new Uint8Array(32)), new Uint8Array(32));
  const signature = evmSignature(toHash256("22".repeat(32)), secretKey);
  equal(storedSigner(signatureCodec.enc(signature)), toEvmAddress(secretKey));
  throws(() => storedSigner(new Uint8Array(33)), ScaleError);
});
