import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import hub from "../../vectors/hub-scale.json" with { type: "json" };
import evm from "../../vectors/evm-ismp-scale.json" with { type: "json" };
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  type Codec,
  decodeStrict,
  Enum,
  hash256,
  list,
  ScaleError,
  Struct,
  u32,
} from "../../../src/core/encoding/scale.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  signatureCodec,
  withdrawalInputDataCodec,
  withdrawalProofCodec,
} from "../../../src/core/ismp/fees.ts";
import {
  consensusDigestCodec,
  requestMetadataCodec,
  responseReceiptCodec,
  timestampDigestCodec,
} from "../../../src/core/ismp/host_state.ts";
import {
  encodeBareExtrinsic,
  getRequestsWithProofCodec,
  ismpMessageCodec,
  ismpMessagesCodec,
} from "../../../src/core/ismp/ismp_message.ts";
import {
  evmStateProofCodec,
  mmrProofCodec,
  parachainConsensusProofCodec,
  proofCodec,
  stateMachineProofCodec,
} from "../../../src/core/ismp/proof.ts";
import {
  getRequestCodec,
  getResponseCodec,
  leafCodec,
  postRequestCodec,
  requestCodec,
} from "../../../src/core/ismp/message.ts";
import {
  stateCommitmentCodec,
  stateMachineCodec,
  stateMachineHeightCodec,
  stateMachineIdCodec,
} from "../../../src/core/ismp/state_machine.ts";
import { plainValue, plainVector } from "./vector_form.ts";
import { ismpEventCodec, ismpPalletEventCodec } from "../../../devnet/hub/pallets/ismp_events.ts";
import { palletIsmpMessageCodec } from "../../../devnet/hub/pallets/chain_router.ts";
import { hostParamCodec } from "../../../devnet/hub/pallets/host_executive.ts";
import { subscriptionCodec } from "../../../src/core/ismp/storage_keys.ts";
import { decodeBareExtrinsic, hubExtrinsicHash } from "../../../devnet/hub/extrinsic.ts";

/** A codec whose value type does not matter to the checks below. */
interface Check {
  (scale: string, expected: unknown, name: string): void;
}

function check<T>(codec: Codec<T>, expectedForm: (value: unknown) => unknown = plainVector): Check {
  return (scale, expected, name) => {
    const bytes = fromHex(scale);
    const value = decodeStrict(codec, bytes, name);
    equal(plainValue(value), expectedForm(expected));
    equal(toHex(codec.enc(value)), scale);
    for (let length = 0; length < bytes.length; length++) {
      throws(
        () => decodeStrict(codec, bytes.subarray(0, length), name),
        (error) => error instanceof ScaleError && error.code === "truncated",
        `prefix of ${length} bytes`,
      );
    }
    throws(
      () => decodeStrict(codec, new Uint8Array([...bytes, 0]), name),
      (error) => error instanceof ScaleError && error.code === "trailing",
    );
  };
}

const checks: Record<string, Check> = {
  StateMachine: check(stateMachineCodec),
  StateMachineId: check(stateMachineIdCodec),
  StateMachineHeight: check(stateMachineHeightCodec),
  StateCommitment: check(stateCommitmentCodec),
  PostRequest: check(postRequestCodec),
  GetRequest: check(getRequestCodec),
  GetResponse: check(getResponseCodec),
  Request: check(requestCodec),
  Leaf: check(leafCodec),
  Proof: check(proofCodec),
  Message: check(ismpMessageCodec),
  Signature: check(signatureCodec),
  WithdrawalProof: check(withdrawalProofCodec),
  WithdrawalInputData: check(withdrawalInputDataCodec),
  OutboundConsensusDeliveryClaim: check(outboundConsensusDeliveryClaimCodec),
  OutboundRequestDeliveryClaim: check(outboundRequestDeliveryClaimCodec),
  GetRequestsWithProof: check(getRequestsWithProofCodec),
  HostParam: check(hostParamCodec),
  Subscription: check(subscriptionCodec),
  RequestMetadata: check(requestMetadataCodec),
  ResponseReceipt: check(responseReceiptCodec),
  StateMachineProof: check(stateMachineProofCodec),
  EvmStateProof: check(evmStateProofCodec),
  MmrProof: check(mmrProofCodec),
  ConsensusDigest: check(consensusDigestCodec),
  TimestampDigest: check(timestampDigestCodec),
  PalletIsmpMessage: check(palletIsmpMessageCodec),
  IsmpEvent: check(ismpEventCodec),
  ParachainConsensusProof: check(parachainConsensusProofCodec),
  "Vec<Message>": check(ismpMessagesCodec),
  MMR: check(mmrProofCodec),
};

/** Types of the hub that neither a program nor the devnet's hub speaks. */
const unspoken = new Set([
  "CreateConsensusState",
  "UpdateConsensusState",
  "FundMessageParams",
  "HostParamUpdate",
  "WithdrawalParams",
  "ForceCreditParams",
  "ProofKeys",
  "(Vec<u8>",
]);

/** Messages that no relayer sends. */
const UNSENT = /^Message(?:\.|::)(?:FraudProof|Response|Timeout)/;

/** Calls are encoded by a runtime's metadata: see the tests of hub_calls.ts and runtime.ts. */
function checkExtrinsic(
  { scale, bareExtrinsicV4, bareExtrinsicHashKeccak }: typeof hub.vectors[number],
): void {
  const extrinsic = encodeBareExtrinsic(fromHex(scale));
  equal(toHex(extrinsic), bareExtrinsicV4);
  equal(hubExtrinsicHash(extrinsic), bareExtrinsicHashKeccak);
  equal(toHex(decodeBareExtrinsic(extrinsic)), scale);
}

/** `System.Events` with one event of pallet `Ismp`, which has index 41 in every runtime. */
const ismpEventRecordsCodec = list(Struct({
  phase: Enum({ ApplyExtrinsic: u32 }),
  event: Enum({ Ismp: ismpPalletEventCodec }, [41]),
  topics: list(hash256),
}));

function ismpEventForm(value: unknown): unknown {
  ok(typeof value === "object" && value !== null && "event" in value && "fields" in value);
  const fields: unknown = value.fields;
  ok(typeof fields === "object" && fields !== null);
  const payload = "0" in fields ? fields[0] : fields;
  return [{
    phase: { ApplyExtrinsic: "2" },
    event: { Ismp: { [String(value.event)]: plainVector(payload) } },
    topics: [],
  }];
}

for (const vector of hub.vectors) {
  const { name, type, scale, value } = vector;
  if (
    unspoken.has(type) || UNSENT.test(name) ||
    (name.startsWith("call.") && vector.bareExtrinsicV4 === undefined)
  ) continue;
  // Events of other pallets are read by a runtime's metadata: see the tests of runtime.ts and accepted_proofs.ts.
  if (name.startsWith("event.") && name.split(".")[2] !== "Ismp") continue;
  Deno.test(`hub SCALE vector: ${name}`, () => {
    if (name.startsWith("call.")) return checkExtrinsic(vector);
    if (name.startsWith("event.")) return check(ismpEventRecordsCodec, ismpEventForm)(scale, value, name);
    const checker = checks[type];
    if (checker === undefined) throw new Error(`No codec for ${type}`);
    checker(scale, value, type);
  });
}

for (const vector of evm.types) {
  const typeName = vector.name.split(/ |::/)[0] ?? "";
  if (unspoken.has(typeName) || UNSENT.test(vector.name)) continue;
  Deno.test(`EVM side SCALE vector: ${vector.name}`, () => {
    const checker = checks[typeName];
    if (checker === undefined) throw new Error(`No codec for ${vector.name}`);
    checker(vector.scale, vector.value, typeName);
  });
}
