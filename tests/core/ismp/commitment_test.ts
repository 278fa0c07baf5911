import { deepStrictEqual as equal, throws } from "node:assert/strict";
import commitments from "../../vectors/evm-commitments.json" with { type: "json" };
import hub from "../../vectors/hub-scale.json" with { type: "json" };
import fc from "fast-check";
import { encodeAbiParameters } from "viem";
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { type Codec, decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import {
  abiEncodeGet,
  abiEncodePost,
  abiEncodeResponse,
  commitmentOfGet,
  commitmentOfPost,
  commitmentOfResponse,
  getRequestCodec,
  getResponseCodec,
  type Leaf,
  leafCodec,
  postRequestCodec,
  postToAbi,
  requestCodec,
  toMessage,
} from "../../../src/core/ismp/message.ts";
import { evmStateMachine, parseStateMachine } from "../../../src/core/ismp/state_machine.ts";

/** A codec, and what is made of its values: ABI encoding, commitment, and SCALE again. */
function encoder<T>(
  codec: Codec<T>,
  abi: (value: T) => Uint8Array,
  commit: (value: T) => string,
): (scale: string) => readonly string[] {
  return (scale) => {
    const value = decodeStrict(codec, fromHex(scale), "sample");
    return [toHex(abi(value)), commit(value), toHex(codec.enc(value))];
  };
}

const encoders: Readonly<Record<string, ReturnType<typeof encoder>>> = {
  post: encoder(postRequestCodec, abiEncodePost, commitmentOfPost),
  get: encoder(getRequestCodec, abiEncodeGet, commitmentOfGet),
  response: encoder(getResponseCodec, abiEncodeResponse, commitmentOfResponse),
};

for (const { name, kind, scale, abi_encoded, commitment } of commitments.samples) {
  Deno.test(`commitment: ${name}`, () => {
    equal((encoders[kind] ?? encoders.response)?.(scale), [abi_encoded, commitment, scale]);
  });
}

for (const vector of hub.commitments) {
  Deno.test(`commitment: the hub's ${vector.name}`, () => {
    const scale = hub.vectors.find((other) => JSON.stringify(other.value) === JSON.stringify(vector.value));
    if (scale === undefined) throw new Error(`No SCALE form of ${vector.name}`);
    const bytes = fromHex(scale.scale);
    const leaf: Leaf = scale.type === "GetResponse"
      ? { tag: "GetResponse", value: decodeStrict(getResponseCodec, bytes, scale.type) }
      : scale.type === "GetRequest"
      ? { tag: "Request", value: { tag: "Get", value: decodeStrict(getRequestCodec, bytes, scale.type) } }
      : { tag: "Request", value: { tag: "Post", value: decodeStrict(postRequestCodec, bytes, scale.type) } };
    equal(toMessage(leaf).commitment, vector.keccak256);
    equal(decodeStrict(leafCodec, leafCodec.enc(leaf), "Leaf"), leaf);
  });
}

Deno.test("commitment: a request enum of an unknown variant is invalid", () => {
  throws(
    () => decodeStrict(requestCodec, Uint8Array.of(2), "Request"),
    (error) => error instanceof ScaleError && error.code === "invalid" && error.typeName === "Request",
  );
});

const u64 = fc.bigInt(0n, 2n ** 64n - 1n);
const chain = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }).map(evmStateMachine),
  fc.constantFrom("SUBSTRATE-cere", "KUSAMA-4009", "POLKADOT-3367", "RELAY-para-1").map(parseStateMachine),
);
const bytes = fc.uint8Array({ maxLength: 200 });

Deno.test("commitment: a post is encoded as viem encodes the struct, whatever its lengths", () => {
  const struct = {
    type: "tuple",
    components: [
      "bytes source",
      "bytes dest",
      "uint64 nonce",
      "bytes from",
      "bytes to",
      "uint64 timeoutTimestamp",
      "bytes body",
    ]
      .map((field) => field.split(" ")).map(([type = "", name = ""]) => ({ type, name })),
  };
  const post = fc.record({
    source: chain,
    dest: chain,
    nonce: u64,
    from: bytes,
    to: bytes,
    timeoutTimestampSec: u64,
    body: bytes,
  });
  fc.assert(fc.property(post, (request) => {
    equal(toHex(abiEncodePost(request)), encodeAbiParameters([struct], [postToAbi(request)]));
  }));
});

Deno.test("commitment: a number beyond u64 has none", () => {
  const request = {
    source: evmStateMachine(1),
    dest: evmStateMachine(2),
    from: new Uint8Array(20),
    to: new Uint8Array(20),
    body: new Uint8Array(),
  };
  for (const wrong of [-1n, 2n ** 64n]) {
    throws(() => commitmentOfPost({ ...request, nonce: wrong, timeoutTimestampSec: 0n }), RangeError);
    throws(() => commitmentOfPost({ ...request, nonce: 0n, timeoutTimestampSec: wrong }), RangeError);
  }
});
