/**
 * What this program assumes of a runtime: calls that it makes, storage that it reads by keys of its own, events that it
 * decodes. Indexes come from the metadata; layouts are those of this program's codecs. Pure. Sources:
 * polytope-labs/hyperbridge: modules/pallets/{ismp,relayer,state-coprocessor,bandwidth,beefy-consensus-proofs}.
 */
import { bytes, type Codec, type Layout, layoutOf, Struct, u32 } from "../../encoding/scale.ts";
import { messageHandledCodec, stateMachineUpdatedCodec } from "../../ismp/event.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  withdrawalInputDataCodec,
  withdrawalProofCodec,
} from "../../ismp/fees.ts";
import {
  consensusMessageCodec,
  getRequestsWithProofCodec,
  type IsmpMessage,
  ismpMessagesCodec,
  requestMessageCodec,
} from "../../ismp/ismp_message.ts";
import {
  bandwidthKeys,
  beefyProofsKeys,
  hostExecutiveKeys,
  ismpKeys,
  type KnownItem,
  mmrKeys,
  otherKeys,
  relayerKeys,
} from "../../ismp/storage_keys.ts";
import { contractRecordKey } from "../../substrate/contract_state.ts";
import type { Assumed, Runtime, RuntimeCall } from "./runtime.ts";

function callOf<Arguments>(call: string, codec: Codec<Arguments>): RuntimeCall<Arguments> {
  return { call, codec, layout: layoutOf(codec) };
}

/** `Ismp.handle_unsigned` with messages of one kind: the others are not sent there, so they may differ. */
function messages(variant: number, of: object): RuntimeCall<readonly IsmpMessage[]> {
  const layout: Layout = [{ list: [{ variants: { [variant]: layoutOf(of) } }] }];
  return { call: "Ismp.handle_unsigned", codec: ismpMessagesCodec, layout };
}

/** Calls that relayers send, by content. */
export const runtimeCalls = {
  consensus: messages(0, consensusMessageCodec),
  requests: messages(2, requestMessageCodec),
  getRequests: callOf("StateCoprocessor.handle_unsigned", getRequestsWithProofCodec),
  accumulateFees: callOf("Relayer.accumulate_fees", withdrawalProofCodec),
  withdrawFees: callOf("Relayer.withdraw_fees", withdrawalInputDataCodec),
  claimRotation: callOf(
    "Relayer.claim_outbound_consensus_delivery_reward",
    outboundConsensusDeliveryClaimCodec,
  ),
  claimRequest: callOf("Relayer.claim_outbound_request_delivery_reward", outboundRequestDeliveryClaimCodec),
  decompress: callOf("CallDecompressor.decompress_call", Struct({ compressed: bytes, encodedCallSize: u32 })),
};

/** Assumptions that one purpose needs. */
export interface Assumptions {
  /** What does not work where one of them does not hold. */
  readonly without: string;
  /** A list holds alternatives: older releases keep the value elsewhere. */
  readonly needs: readonly (Assumed | readonly KnownItem[])[];
  /** True: the rest works without it. */
  readonly isOptional: boolean;
  /** True: what the runtime lacks altogether is no difference: older ones do without. */
  readonly mayLack: boolean;
}

function needed(without: string, needs: Assumptions["needs"]): Assumptions {
  return { without, needs, isOptional: false, mayLack: false };
}

function optional(without: string, needs: Assumptions["needs"]): Assumptions {
  return { without, needs, isOptional: true, mayLack: true };
}

/** To tell what an extrinsic did. */
const outcomes: Assumptions = {
  ...needed("deliveries to it could not be recognised", [
    { event: "System.ExtrinsicFailed" },
    { event: "Ismp.PostRequestHandled", codec: messageHandledCodec },
    { event: "Ismp.GetRequestHandled", codec: messageHandledCodec },
    { event: "Ismp.StateMachineUpdated", codec: stateMachineUpdatedCodec },
  ]),
  mayLack: true,
};

/** What is known of another chain, and of the client that follows it. */
const clients: Assumptions["needs"] = [
  otherKeys.timestampNow,
  ismpKeys.latestStateMachineHeight,
  ismpKeys.challengePeriod,
  ismpKeys.consensusStateClient,
  ismpKeys.frozenConsensusClients,
];

/** To deliver messages to any Substrate chain. */
const relaying = needed("no message can be delivered to it", [
  runtimeCalls.requests,
  ...clients,
  [ismpKeys.boundedStateCommitments, ismpKeys.stateCommitments],
  [ismpKeys.boundedStateMachineUpdateTime, ismpKeys.stateMachineUpdateTime],
]);

/** To answer GET requests, and to be paid. */
const earning = needed("GET requests cannot be answered, or fees not claimed", [
  runtimeCalls.getRequests,
  runtimeCalls.accumulateFees,
  runtimeCalls.withdrawFees,
  relayerKeys.fees,
  relayerKeys.nonce,
  relayerKeys.minimumWithdrawalAmount,
  mmrKeys.numberOfLeaves,
  ismpKeys.nonce,
]);

const rewards = optional("rewards of the hub are not claimed", [
  runtimeCalls.claimRotation,
  runtimeCalls.claimRequest,
  relayerKeys.outboundConsensusDeliveryReward,
  relayerKeys.outboundConsensusRotationsClaimed,
  relayerKeys.outboundRequestDeliveryReward,
  relayerKeys.outboundRequestsClaimed,
]);

const bandwidth = optional("the bandwidth of senders is not known before their messages are proved", [
  bandwidthKeys.bandwidthManager,
  bandwidthKeys.allowance,
  bandwidthKeys.allowlist,
]);

const acceptedProofs = optional("consensus proofs cannot be delivered together with messages", [
  beefyProofsKeys.messagingProofs,
  beefyProofsKeys.rotationProofs,
]);

const hosts = optional("the host contracts of chains are not compared with the hub's list", [
  hostExecutiveKeys.evmHosts,
]);

/** To submit consensus updates. */
const updating = needed("no consensus update can be submitted to it", [
  runtimeCalls.consensus,
  ...clients,
  ismpKeys.consensusStates,
  ismpKeys.unbondingPeriod,
  ismpKeys.consensusClientUpdateTime,
]);

/** To prove the state of EVM contracts as the hub reads it: `core/substrate/contract_state.ts`. */
const contracts = needed("the hub cannot read the state of its contracts", [
  otherKeys.timestampNow,
  contractRecordKey,
]);

/**
 * What is done with a chain: messages are relayed from and to the hub or another chain, updates are submitted, or the
 * state of EVM contracts is proved.
 */
export type ChainUse = "hub" | "relayed" | "updated" | "contracts";

/** Assumptions by what is done with the chain. */
export const assumptions: Readonly<Record<ChainUse, readonly Assumptions[]>> = {
  hub: [relaying, outcomes, earning, rewards, bandwidth, acceptedProofs, hosts],
  relayed: [relaying, outcomes],
  updated: [updating, outcomes],
  contracts: [contracts],
};

/** A purpose that a runtime does not serve, with the reason for the operator. */
export interface Unmet {
  readonly isOptional: boolean;
  readonly text: string;
}

/** Lists the purposes that a runtime does not serve. */
export function findUnmet(runtime: Runtime, use: ChainUse): readonly Unmet[] {
  const { specName, specVersion } = runtime.version;
  return assumptions[use].flatMap((each) => {
    const differences = findDifferences(runtime, each);
    if (differences.length === 0) return [];
    const text =
      `runtime ${specName} ${specVersion} is another than this program knows, so ${each.without}: ` +
      `${differences.join("; ")}; update this program`;
    return [{ isOptional: each.isOptional, text }];
  });
}

/** Lists what a runtime does not fit, e.g. `Relayer.Fees: value: expected u128, found list`. */
export function findDifferences(runtime: Runtime, { needs, mayLack }: Assumptions): readonly string[] {
  return needs.flatMap((need) => {
    const choices: readonly Assumed[] = Array.isArray(need) ? need : [need];
    const assumed = choices.find((each) => runtime.has(each)) ?? (mayLack ? undefined : choices[0]);
    return (assumed && runtime.findDifference(assumed)) ?? [];
  });
}
