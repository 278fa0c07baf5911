/**
 * The `provides` tags of the hub's transaction pool: two extrinsics with one tag exclude each other.
 * Source: polytope-labs/hyperbridge: modules/pallets/{ismp,relayer,state-coprocessor}/src/lib.rs (validate_unsigned).
 */
import { type Hash256, keccak256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { bytes, compareHex, hash256, list, Tuple } from "../../src/core/encoding/scale.ts";
import { commitmentOfGet, commitmentOfPost, type GetRequest } from "../../src/core/ismp/message.ts";
import type { consensusMessageCodec, IsmpMessage } from "../../src/core/ismp/ismp_message.ts";
import type { StateMachineId } from "../../src/core/ismp/state_machine.ts";
import { consensusStateIdCodec, stateMachineIdCodec } from "../../src/core/ismp/state_machine.ts";
import type { CodecType } from "scale-ts";

const hashes = list(hash256);

function hashOf(preimage: Uint8Array): Hash256 {
  return toHash256(keccak256(preimage));
}

function consensusHash(message: CodecType<typeof consensusMessageCodec>): Hash256 {
  return hashOf(
    Tuple(consensusStateIdCodec, bytes).enc([message.consensusStateId, message.consensusProof]),
  );
}

function identity(message: IsmpMessage): readonly Hash256[] {
  switch (message.tag) {
    case "Consensus":
      return [consensusHash(message.value)];
    case "Request":
      return message.value.requests.map(commitmentOfPost);
  }
}

function compareLists(a: readonly Hash256[], b: readonly Hash256[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const [left, right] = [a[index], b[index]];
    if (left !== undefined && right !== undefined && left !== right) return compareHex(left, right);
  }
  return a.length - b.length;
}

/** What is hashed into {@link messagesTag}: one list of hashes per message, the lists in ascending order. */
export function messagesTagPreimage(messages: readonly IsmpMessage[]): Uint8Array {
  return list(hashes).enc(messages.map(identity).sort(compareLists));
}

/** Tag of `Ismp.handle_unsigned` when it advances no state machine. The signer and the proofs are not in it. */
export function messagesTag(messages: readonly IsmpMessage[]): Hash256 {
  return hashOf(messagesTagPreimage(messages));
}

/** Tag of `Ismp.handle_unsigned` when it advances a state machine (the first one advanced counts). */
export function stateMachineUpdatedTag(id: StateMachineId): Hash256 {
  return hashOf(stateMachineIdCodec.enc(id));
}

/** What is hashed into {@link getRequestsTag}. */
export function getRequestsTagPreimage(requests: readonly GetRequest[]): Uint8Array {
  return hashes.enc(requests.map(commitmentOfGet).sort(compareHex));
}

/** Tag of `StateCoprocessor.handle_unsigned`. */
export function getRequestsTag(requests: readonly GetRequest[]): Hash256 {
  return hashOf(getRequestsTagPreimage(requests));
}

/** Tag of the unsigned `Relayer` calls, from the SCALE of their argument. */
export function relayerCallTag(argument: Uint8Array): Hash256 {
  return hashOf(argument);
}
