/** Every decoder that sees bytes, texts or JSON from outside. */
import * as z from "zod";
import {
  decodeArbitrumState,
  decodeArbitrumUpdate,
} from "../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { decodeAuthorities } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { findBscNetwork, parseExtraData } from "../../src/consensus/clients/bsc/spec/extra_data.ts";
import { parseCometTime } from "../../src/consensus/clients/polygon/spec/comet_header.ts";
import {
  joinCommitmentProofs,
  requireProven,
} from "../../src/consensus/clients/polygon/spec/commitment_proof.ts";
import { heimdallAnswers } from "../../src/consensus/clients/polygon/spec/heimdall_json.ts";
import { decodeMilestone } from "../../src/consensus/clients/polygon/spec/milestone.ts";
import {
  decodePolygonState,
  decodePolygonUpdate,
} from "../../src/consensus/clients/polygon/spec/verify_update.ts";
import { decodeBscState, decodeBscUpdate } from "../../src/consensus/clients/bsc/spec/verify_update.ts";
import { decodeGrandpaJustification } from "../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import {
  decodeGrandpaMessage,
  decodeGrandpaState,
} from "../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { decodeDetails } from "../../src/consensus/clients/op_stack/spec/claim_events.ts";
import { decodeGameRules } from "../../src/consensus/clients/op_stack/spec/update.ts";
import { readSuperRoot } from "../../src/consensus/clients/op_stack/spec/output_root.ts";
import {
  decodeOpStackState,
  decodeOpStackUpdate,
} from "../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { decodeParachainProof } from "../../src/consensus/clients/parachain/spec/parachain_proof.ts";
import {
  decodeBeaconConsensusState,
  decodeBeaconUpdate,
} from "../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import {
  beaconHeaderJson,
  bootstrapJson,
  finalityUpdateJson,
  lightClientUpdateJson,
  signingBlockJson,
} from "../../src/consensus/clients/sync_committee/spec/light_client_data.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import {
  authoritySetCodec,
  decodeBeefyJustification,
  mmrLeafCodec,
} from "../../src/core/beefy/commitment.ts";
import { decodeNaiveProof, readProofSubject } from "../../src/core/beefy/naive_proof.ts";
import { readMetadata, UnreadableMetadata } from "../../src/core/chains/substrate/metadata.ts";
import { readValidation } from "../../src/core/chains/substrate/dry_run.ts";
import { parseToml } from "../../src/core/config/toml.ts";
import { parseDecimal, toHex } from "../../src/core/encoding/bytes.ts";
import { type Codec, decodeStrict } from "../../src/core/encoding/scale.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { decodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { parseBlockHeader, parseHashedBlock } from "../../src/core/evm/block_header.ts";
import { decodeArbPrices, decodeOracleWei } from "../../src/core/evm/fee_oracles.ts";
import { namesOfCalls } from "../../src/core/evm/handler_calls.ts";
import { hostEventTopics } from "../../src/core/evm/host_abi.ts";
import { decodeHostLog } from "../../src/core/evm/host_events.ts";
import { decodeRouterPrice, decodeWrappedNative } from "../../src/core/evm/native_price.ts";
import { decodeRevert } from "../../src/core/evm/reverts.ts";
import { readTrace } from "../../src/core/evm/trace.ts";
import { subscriptionCodec } from "../../src/core/ismp/storage_keys.ts";
import { messageHandledCodec, stateMachineUpdatedCodec } from "../../src/core/ismp/event.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  signatureCodec,
  withdrawalInputDataCodec,
  withdrawalProofCodec,
} from "../../src/core/ismp/fees.ts";
import {
  consensusDigestCodec,
  requestMetadataCodec,
  responseReceiptCodec,
  timestampDigestCodec,
} from "../../src/core/ismp/host_state.ts";
import { getRequestsWithProofCodec, ismpMessagesCodec } from "../../src/core/ismp/ismp_message.ts";
import {
  evmStateProofCodec,
  mmrProofCodec,
  parachainConsensusProofCodec,
  proofCodec,
  stateMachineProofCodec,
} from "../../src/core/ismp/proof.ts";
import {
  getRequestCodec,
  getResponseCodec,
  leafCodec,
  postRequestCodec,
} from "../../src/core/ismp/message.ts";
import { parseEvents } from "../../devnet/hub/rpc/ismp_json.ts";
import { parseIsmpEvent, parseProofAnswer } from "../../src/core/ismp/rpc_json.ts";
import {
  parseStateMachine,
  stateCommitmentCodec,
  stateMachineHeightCodec,
} from "../../src/core/ismp/state_machine.ts";
import { decodeRlp } from "../../src/core/merkle/patricia.ts";
import { decodeSubstrateNode } from "../../src/core/merkle/substrate_proof.ts";
import { parseJson } from "../../src/core/rpc/json.ts";
import { decodeDigestItem, substrateHeaderCodec } from "../../src/core/substrate/header.ts";
import { decodeHeadData } from "../../src/core/substrate/parachain_heads.ts";
import { parseListenAddress } from "../../src/core/telemetry/http/listen_address.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { parseEtherscanPrice } from "../../src/core/pricing/etherscan.ts";

/** What every target has. */
interface TargetFacts {
  readonly name: string;
  /** Classes of errors that say no, beside those of this program that have a code. */
  readonly refusals?: readonly (abstract new (...args: never[]) => Error)[];
}

/** What is fuzzed; the values do not matter, only whether there is one and how long it takes. */
export type Target =
  & TargetFacts
  & TargetInput;

type TargetInput =
  | {
    readonly kind: "bytes";
    readonly decode: (bytes: Uint8Array) => unknown;
  }
  | { readonly kind: "json"; readonly decode: (json: unknown) => unknown }
  | {
    readonly kind: "text";
    readonly decode: (text: string) => unknown;
    readonly samples: readonly string[];
  };

const HOST = toAddress(`0x${"11".repeat(20)}`);
const BSC = findBscNetwork(56);
const POLYGON_ENTRY = { store: "milestone", key: Uint8Array.of(1), value: Uint8Array.of(2) };
const NO_FILES = {
  readFile: (): never => {
    throw new Deno.errors.NotFound();
  },
};

/** A SCALE codec: strict, so that what it takes has no other encoding. */
function scale<T>(name: string, codec: Codec<T>): Target {
  return {
    kind: "bytes",
    name,
    decode: (bytes) => {
      const value = decodeStrict(codec, bytes, name);
      const again = codec.enc(value);
      if (toHex(again) !== toHex(bytes)) throw new Error(`encodes as ${toHex(again)}`);
      return value;
    },
  };
}

function ofBytes(name: string, decode: (bytes: Uint8Array) => unknown): Target {
  return { kind: "bytes", name, decode };
}

function ofJson(name: string, decode: (json: unknown) => unknown): Target {
  return { kind: "json", name, decode };
}

function ofText(name: string, decode: (text: string) => unknown, samples: readonly string[]): Target {
  return { kind: "text", name, decode, samples };
}

function example(name: string): string {
  return Deno.readTextFileSync(new URL(`../../${name}`, import.meta.url));
}

/** All of them, each once. */
export const TARGETS: readonly Target[] = [
  scale("ismpMessages", ismpMessagesCodec),
  scale("getRequestsWithProof", getRequestsWithProofCodec),
  scale("postRequest", postRequestCodec),
  scale("getRequest", getRequestCodec),
  scale("getResponse", getResponseCodec),
  scale("leaf", leafCodec),
  scale("proof", proofCodec),
  scale("stateMachineProof", stateMachineProofCodec),
  scale("evmStateProof", evmStateProofCodec),
  scale("mmrProof", mmrProofCodec),
  scale("parachainConsensusProof", parachainConsensusProofCodec),
  scale("signature", signatureCodec),
  scale("withdrawalProof", withdrawalProofCodec),
  scale("withdrawalInputData", withdrawalInputDataCodec),
  scale("outboundConsensusDeliveryClaim", outboundConsensusDeliveryClaimCodec),
  scale("outboundRequestDeliveryClaim", outboundRequestDeliveryClaimCodec),
  scale("requestMetadata", requestMetadataCodec),
  scale("responseReceipt", responseReceiptCodec),
  scale("consensusDigest", consensusDigestCodec),
  scale("timestampDigest", timestampDigestCodec),
  scale("stateMachineUpdated", stateMachineUpdatedCodec),
  scale("messageHandled", messageHandledCodec),
  scale("subscription", subscriptionCodec),
  scale("stateCommitment", stateCommitmentCodec),
  scale("stateMachineHeight", stateMachineHeightCodec),
  scale("authoritySet", authoritySetCodec),
  scale("mmrLeaf", mmrLeafCodec),
  scale("substrateHeader", substrateHeaderCodec),
  ofBytes("decodeDigestItem", (bytes) => decodeDigestItem(bytes)),
  ofBytes("decodeHeadData", (bytes) => decodeHeadData(bytes)),
  { ...ofBytes("readMetadata", (bytes) => readMetadata(bytes)), refusals: [UnreadableMetadata] },
  ofBytes("decodeBeefyJustification", (bytes) => decodeBeefyJustification(bytes)),
  ofBytes("decodeNaiveProof", (bytes) => decodeNaiveProof(bytes)),
  ofBytes("readProofSubject", (bytes) => readProofSubject(bytes)),
  ofBytes("decodeBeefyClientState", (bytes) => decodeBeefyClientState(bytes)),
  ofBytes("decodeParachainProof", (bytes) => decodeParachainProof(bytes)),
  ofBytes("decodeOpStackState", (bytes) => decodeOpStackState(bytes)),
  ofBytes("decodeOpStackUpdate", (bytes) => decodeOpStackUpdate(bytes)),
  ofBytes("decodeArbitrumState", (bytes) => decodeArbitrumState(bytes)),
  ofBytes("decodeArbitrumUpdate", (bytes) => decodeArbitrumUpdate(bytes)),
  ofBytes("decodeGrandpaJustification", (bytes) => decodeGrandpaJustification(bytes)),
  ofBytes("decodeGrandpaMessage", (bytes) => decodeGrandpaMessage(bytes)),
  ofBytes("decodeGrandpaState", (bytes) => decodeGrandpaState(bytes)),
  ofBytes("decodeBscState", (bytes) => decodeBscState(bytes)),
  ofBytes("decodeBscUpdate", (bytes) => decodeBscUpdate(bytes)),
  ofBytes("decodePolygonState", (bytes) => decodePolygonState(bytes)),
  ofBytes("decodePolygonUpdate", (bytes) => decodePolygonUpdate(bytes)),
  ofBytes("joinCommitmentProofs", (bytes) => joinCommitmentProofs([bytes])),
  ofBytes("requireProven", (bytes) => requireProven(bytes, `0x${"11".repeat(32)}`, POLYGON_ENTRY)),
  { ...ofBytes("decodeMilestone", (bytes) => decodeMilestone(bytes)), refusals: [RangeError] },
  ofBytes("decodeBeaconConsensusState", (bytes) => decodeBeaconConsensusState(bytes)),
  ofBytes("decodeBeaconUpdate", (bytes) => decodeBeaconUpdate(bytes)),
  ofBytes("decodeRlp", (bytes) => decodeRlp(bytes)),
  ofBytes("decodeSubstrateNode", (bytes) => decodeSubstrateNode(bytes)),
  ofBytes("decodeRevert", (bytes) => decodeRevert(toHex(bytes))),
  ofBytes("namesOfCalls", (bytes) => namesOfCalls(toHex(bytes))),
  ofBytes("decodeWrappedNative", (bytes) => decodeWrappedNative(toHex(bytes))),
  ofBytes("decodeRouterPrice", (bytes) => decodeRouterPrice(toHex(bytes), 18)),
  ofBytes("decodeOracleWei", (bytes) => decodeOracleWei(toHex(bytes))),
  ofBytes("decodeArbPrices", (bytes) => decodeArbPrices(toHex(bytes))),
  ofBytes("decodeDetails", (bytes) => decodeDetails(toHex(bytes), toHex(bytes.subarray(0, 32)))),
  ofBytes("decodeGameRules", (bytes) => decodeGameRules(bytes)),
  ofBytes("readSuperRoot", (bytes) => readSuperRoot(bytes, parseStateMachine("EVM-10"))),
  ofBytes("decodeAuthorities", (bytes) => decodeAuthorities(bytes)),
  ofBytes("readValidation", (bytes) => readValidation(bytes)),
  ofBytes(
    "parseExtraData",
    (bytes) => BSC && parseExtraData(BSC, { extraData: bytes, timestampSec: 1_700_000_000n }),
  ),
  ...Object.values(hostEventTopics).map((topic, at) =>
    ofBytes(`decodeHostLog of event ${at}`, (bytes) => {
      const data = toHex(bytes);
      return decodeHostLog({
        address: HOST,
        topics: [topic, topic, topic].slice(0, 1 + bytes.length % 3),
        data,
      }, HOST);
    })
  ),
  ofJson("readTrace", (json) => readTrace(json, HOST)),
  ofJson("parseBlockHeader", (json) => parseBlockHeader(json)),
  ofJson("parseHashedBlock", (json) => parseHashedBlock(json)),
  ofJson("parseIsmpEvent", (json) => parseIsmpEvent(json)),
  ofJson("parseProofAnswer", (json) => parseProofAnswer(json)),
  ofJson("parseEvents", (json) => parseEvents(json)),
  { ...ofJson("finalityUpdateJson", (json) => finalityUpdateJson.parse(json)), refusals: [z.ZodError] },
  { ...ofJson("lightClientUpdateJson", (json) => lightClientUpdateJson.parse(json)), refusals: [z.ZodError] },
  { ...ofJson("bootstrapJson", (json) => bootstrapJson.parse(json)), refusals: [z.ZodError] },
  { ...ofJson("beaconHeaderJson", (json) => beaconHeaderJson.parse(json)), refusals: [z.ZodError] },
  ...Object.entries(heimdallAnswers).map(([method, schema]) => ({
    ...ofJson(`answer to ${method}`, (json) => schema.parse(json)),
    refusals: [z.ZodError],
  })),
  { ...ofJson("signingBlockJson", (json) => signingBlockJson.parse(json)), refusals: [z.ZodError] },
  ofText("parseCometTime", parseCometTime, ["2026-04-20T15:10:48.60553605Z", "1970-01-01T00:00:01Z"]),
  ofText("parseStateMachine", parseStateMachine, ["EVM-1", "KUSAMA-4009", "SUBSTRATE-cere", "TNDRMINT-kava"]),
  ofText("parseDecimal", (text) => parseDecimal(text, 18), ["1.5", "0", "-0.000000000000000001", "1000000"]),
  {
    ...ofText("parseJson", parseJson, [
      '{"jsonrpc":"2.0","id":1,"result":["0x1",{"a":null}]}',
      '[1e5,"\\u00e9"]',
    ]),
    refusals: [SyntaxError],
  },
  ofText("parseToml", parseToml, [example("config.example.toml"), example("consensus.example.toml")]),
  ofText("parseMessagingConfig", (text) => parseMessagingConfig(NO_FILES, text), [
    example("config.example.toml"),
  ]),
  ofText("parseConsensusConfig", (text) => parseConsensusConfig(NO_FILES, text), [
    example("consensus.example.toml"),
  ]),
  ofText("parseEtherscanPrice of ether", (text) => parseEtherscanPrice({ kind: "ether" }, text), [
    '{"status":"1","message":"OK","result":{"ethbtc":"0.05","ethusd":"2500.12","ethusd_timestamp":"1"}}',
  ]),
  ofText("parseListenAddress", parseListenAddress, ["127.0.0.1:9180", "[::1]:80", "localhost:1"]),
];
