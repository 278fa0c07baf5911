import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import hub from "../../vectors/hub-scale.json" with { type: "json" };
import evm from "../../vectors/evm-ismp-scale.json" with { type: "json" };
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { type Codec, decodeStrict, list, ScaleError } from "../../../src/core/encoding/scale.ts";
import { ismpEventCodec } from "../../../src/core/ismp/event.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  palletIsmpMessageCodec,
  signatureCodec,
  withdrawalInputDataCodec,
  withdrawalParamsCodec,
  withdrawalProofCodec,
} from "../../../src/core/ismp/fees.ts";
import {
  forceCreditParamsCodec,
  hostParamCodec,
  hostParamUpdateCodec,
  subscriptionCodec,
} from "../../../src/core/ismp/host_params.ts";
import {
  consensusDigestCodec,
  requestMetadataCodec,
  responseReceiptCodec,
  timestampDigestCodec,
} from "../../../src/core/ismp/host_state.ts";
import {
  decodeBareExtrinsic,
  encodeBareExtrinsic,
  type HubCall,
  hubCallCodec,
  type HubCallPallets,
  hubExtrinsicHash,
} from "../../../src/core/ismp/hub_calls.ts";
import { hubEventRecordsCodec } from "../../../src/core/ismp/hub_events.ts";
import {
  createConsensusStateCodec,
  fundMessageParamsCodec,
  getRequestsWithProofCodec,
  ismpMessageCodec,
  ismpMessagesCodec,
  updateConsensusStateCodec,
} from "../../../src/core/ismp/ismp_message.ts";
import {
  evmStateProofCodec,
  mmrProofCodec,
  parachainConsensusProofCodec,
  proofCodec,
  proofKeysCodec,
  responsesWithMmrProofCodec,
  stateMachineProofCodec,
} from "../../../src/core/ismp/proof.ts";
import {
  getRequestCodec,
  getResponseCodec,
  leafCodec,
  postRequestCodec,
  requestCodec,
} from "../../../src/core/ismp/request.ts";
import { stateCommitmentCodec } from "../../../src/core/ismp/state_commitment.ts";
import {
  stateMachineCodec,
  stateMachineHeightCodec,
  stateMachineIdCodec,
} from "../../../src/core/ismp/state_machine.ts";
import { plainValue, plainVector } from "./vector_form.ts";

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
  CreateConsensusState: check(createConsensusStateCodec),
  UpdateConsensusState: check(updateConsensusStateCodec),
  FundMessageParams: check(fundMessageParamsCodec),
  Signature: check(signatureCodec),
  WithdrawalProof: check(withdrawalProofCodec),
  WithdrawalInputData: check(withdrawalInputDataCodec),
  OutboundConsensusDeliveryClaim: check(outboundConsensusDeliveryClaimCodec),
  OutboundRequestDeliveryClaim: check(outboundRequestDeliveryClaimCodec),
  GetRequestsWithProof: check(getRequestsWithProofCodec),
  HostParam: check(hostParamCodec),
  HostParamUpdate: check(hostParamUpdateCodec),
  WithdrawalParams: check(withdrawalParamsCodec),
  ForceCreditParams: check(forceCreditParamsCodec),
  Subscription: check(subscriptionCodec),
  RequestMetadata: check(requestMetadataCodec),
  ResponseReceipt: check(responseReceiptCodec),
  StateMachineProof: check(stateMachineProofCodec),
  EvmStateProof: check(evmStateProofCodec),
  MmrProof: check(mmrProofCodec),
  ProofKeys: check(proofKeysCodec),
  ConsensusDigest: check(consensusDigestCodec),
  TimestampDigest: check(timestampDigestCodec),
  PalletIsmpMessage: check(palletIsmpMessageCodec),
  IsmpEvent: check(ismpEventCodec),
  ParachainConsensusProof: check(parachainConsensusProofCodec),
  "Vec<Message>": check(ismpMessagesCodec),
  "(Vec<u8>": check(responsesWithMmrProofCodec),
  MMR: check(mmrProofCodec),
};

const pallets: Record<string, HubCallPallets> = {
  nexus: {
    Ismp: 41,
    IsmpParachain: 50,
    Relayer: 52,
    HostExecutive: 53,
    CallDecompressor: 54,
    StateCoprocessor: 58,
    Fishermen: 59,
    Bandwidth: 96,
    BeefyConsensusProofs: 97,
  },
  gargantua: {
    Ismp: 41,
    IsmpParachain: 50,
    Relayer: 53,
    HostExecutive: 55,
    CallDecompressor: 56,
    StateCoprocessor: 60,
    Fishermen: 61,
    Bandwidth: 87,
    BeefyConsensusProofs: 90,
  },
};

function runtimeOf(name: string): HubCallPallets {
  const found = pallets[name.split(".")[1] ?? ""];
  if (found === undefined) throw new Error(`No runtime in ${name}`);
  return found;
}

function checkCall(vector: typeof hub.vectors[number]): void {
  const [pallet, call] = (vector.type.split(" ")[1] ?? "").split(".");
  const codec: Codec<HubCall> = hubCallCodec(runtimeOf(vector.name));
  check(codec, (value) => ({ [pallet ?? ""]: { [call ?? ""]: plainVector(value) } }))(
    vector.scale,
    vector.value,
    vector.name,
  );
  if (vector.bareExtrinsicV4 === undefined) return;
  const extrinsic = encodeBareExtrinsic(fromHex(vector.scale));
  equal(toHex(extrinsic), vector.bareExtrinsicV4);
  equal(hubExtrinsicHash(extrinsic), vector.bareExtrinsicHashKeccak);
  equal(toHex(decodeBareExtrinsic(extrinsic)), vector.scale);
}

function eventForm(value: unknown): unknown {
  ok(
    typeof value === "object" && value !== null && "pallet" in value && "event" in value && "fields" in value,
  );
  const fields: unknown = value.fields;
  ok(typeof fields === "object" && fields !== null);
  const payload = "0" in fields ? fields[0] : fields;
  return [{
    phase: { ApplyExtrinsic: "2" },
    event: { [String(value.pallet)]: { [String(value.event)]: plainVector(payload) } },
    topics: [],
  }];
}

for (const vector of hub.vectors) {
  Deno.test(`hub SCALE vector: ${vector.name}`, () => {
    if (vector.name.startsWith("call.")) return checkCall(vector);
    if (vector.name.startsWith("event.")) {
      const codec = hubEventRecordsCodec(runtimeOf(vector.name));
      return check(codec, eventForm)(vector.scale, vector.value, vector.name);
    }
    const checker = checks[vector.type];
    if (checker === undefined) throw new Error(`No codec for ${vector.type}`);
    checker(vector.scale, vector.value, vector.type);
  });
}

for (const vector of evm.types) {
  Deno.test(`EVM side SCALE vector: ${vector.name}`, () => {
    const typeName = vector.name.split(/ |::/)[0] ?? "";
    const checker = checks[typeName];
    if (checker === undefined) throw new Error(`No codec for ${vector.name}`);
    checker(vector.scale, vector.value, typeName);
  });
}

Deno.test("extrinsic: a signed one is not taken for an unsigned one", () => {
  throws(
    () => decodeBareExtrinsic(fromHex("0x0884ff")),
    (error) => error instanceof ScaleError && error.code === "invalid",
  );
});

Deno.test("SCALE: a map in descending key order is refused", () => {
  const proof = evmStateProofCodec.enc({
    contractProof: [],
    storageProof: new Map([["0x01", []], ["0x02", []]]),
  });
  equal(toHex(proof), "0x0008040100040200");
  throws(
    () => decodeStrict(evmStateProofCodec, fromHex("0x0008040200040100"), "EvmStateProof"),
    (error) => error instanceof ScaleError && error.code === "non_canonical",
  );
});

Deno.test("SCALE: a list of events decodes one by one", () => {
  const bytes = list(ismpEventCodec).enc([]);
  equal(decodeStrict(list(ismpEventCodec), bytes, "Vec<Event>"), []);
});
