/**
 * Building blocks of tests about fees: two EVM chains with paid and delivered requests, proofs of both, and the
 * unsigned calls of pallet Relayer.
 */
import { concatBytes, type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import {
  contractSlotKey,
  requestFeeSlot,
  requestReceiptSlot,
  requestSenderSlot,
  word,
} from "../../src/core/evm/host_storage.ts";
import {
  commitmentOfGet,
  commitmentOfPost,
  type GetRequest,
  type PostRequest,
} from "../../src/core/ismp/message.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  type WithdrawalInputData,
  withdrawalInputDataCodec,
  type WithdrawalProof,
  withdrawalProofCodec,
} from "../../src/core/ismp/fees.ts";
import {
  encodeBareExtrinsic,
  type GetRequestsWithProof,
  getRequestsWithProofCodec,
} from "../../src/core/ismp/ismp_message.ts";
import { toEvmAddress, withdrawMessage } from "../../src/core/ismp/signed_messages.ts";
import type { StateMachineId } from "../../src/core/ismp/state_machine.ts";
import type { Codec } from "../../src/core/encoding/scale.ts";
import {
  commitSource,
  EvmSource,
  extrinsicOf,
  paidRequest,
  post,
  receiver,
  requestMessage,
  sender,
  senderHost,
  type SlotValue,
  startTestHub,
  submit,
} from "./deliveries.ts";
import type { Hub, HubOptions } from "./hub.ts";
import { type JsonRpcAnswer, resultHttp } from "./json_rpc_client.ts";
import { RuntimeMetadata } from "./runtime_metadata.ts";
import type { EvmHostParam } from "./pallets/host_executive.ts";
import { evmSignature } from "./signatures.ts";

/** Address of the receiving chain's ISMP host. */
export const receiverHost: Uint8Array = new Uint8Array(20).fill(0xbb);

/** A relayer's key, and its address. */
export const relayerKey: Uint8Array = new Uint8Array(32).fill(0x41);
/** See {@link relayerKey}. */
export const relayerAddress: Uint8Array = toEvmAddress(relayerKey);

/** Parameters of the sender's host, for withdrawals. */
export const senderHostParams: EvmHostParam = {
  feeToken: new Uint8Array(20).fill(0x11),
  admin: new Uint8Array(20).fill(0x12),
  handler: new Uint8Array(20).fill(0x13),
  hostManager: new Uint8Array(20).fill(0x14),
  uniswapV2: new Uint8Array(20).fill(0x15),
  unStakingPeriodSec: 1000n,
  challengePeriodSec: 0n,
  consensusClient: new Uint8Array(20).fill(0x16),
  stateMachines: [4009],
  hyperbridge: new TextEncoder().encode("KUSAMA-4009"),
};

const gargantua = RuntimeMetadata.load("gargantua");

function extrinsic<T>(pallet: string, call: string, codec: Codec<T>): (argument: T) => Uint8Array {
  return (argument) =>
    encodeBareExtrinsic(concatBytes(gargantua.callIndex(pallet, call), codec.enc(argument)));
}

/** Unsigned extrinsics of gargantua. */
export const relayerCalls = {
  accumulateFees: extrinsic("Relayer", "accumulate_fees", withdrawalProofCodec),
  withdrawFees: extrinsic("Relayer", "withdraw_fees", withdrawalInputDataCodec),
  claimConsensus: extrinsic(
    "Relayer",
    "claim_outbound_consensus_delivery_reward",
    outboundConsensusDeliveryClaimCodec,
  ),
  claimRequest: extrinsic(
    "Relayer",
    "claim_outbound_request_delivery_reward",
    outboundRequestDeliveryClaimCodec,
  ),
  answerGets: extrinsic("StateCoprocessor", "handle_unsigned", getRequestsWithProofCodec),
} as const;

/** Makes the hub know a block of an EVM chain. */
export async function commitBlock(
  hub: Hub,
  id: StateMachineId,
  height: bigint,
  slots: readonly SlotValue[],
): Promise<EvmSource> {
  const host = id.stateMachine === sender.stateMachine ? senderHost : receiverHost;
  return await commitSource(hub, id, height, await EvmSource.storing(host, slots));
}

/** Requests on their way: paid on the sender (its height 10), known to the hub, delivered to the receiver (20). */
interface PaidWork {
  readonly requests: readonly PostRequest[];
  readonly commitments: readonly Hash256[];
  readonly source: EvmSource;
  readonly dest: EvmSource;
  /** The proof of these requests (all of them by default), to be changed at will. */
  prove(commitments?: readonly Hash256[], change?: Partial<WithdrawalProof>): Promise<WithdrawalProof>;
}

/** One request per fee; who delivered each, the relayer unless given. `undefined`: nobody did. */
export async function paidWork(
  hub: Hub,
  fees: readonly bigint[],
  relayers: readonly (Uint8Array | undefined)[] = fees.map(() => relayerAddress),
): Promise<PaidWork> {
  const requests = fees.map((_, index) => post(BigInt(index)));
  const commitments = requests.map(commitmentOfPost);
  const paid = commitments.flatMap((commitment, index) => paidRequest(commitment, fees[index] ?? 0n));
  const source = await commitBlock(hub, sender, 10n, paid);
  const delivery = await submit(hub, extrinsicOf(requestMessage(requests, await source.prove(requests))));
  if (delivery.kind !== "result") throw new Error("The hub did not take the requests");
  const receipts = commitments.flatMap((commitment, index): SlotValue[] => {
    const relayer = relayers[index];
    return relayer === undefined ? [] : [[requestReceiptSlot(commitment), relayer]];
  });
  const dest = await commitBlock(hub, receiver, 20n, receipts);
  return {
    requests,
    commitments,
    source,
    dest,
    prove: async (wanted = commitments, change = {}) => ({
      commitments: wanted,
      sourceProof: {
        height: { id: sender, height: 10n },
        proof: await source.proveSlots(wanted.map(requestFeeSlot)),
      },
      destProof: {
        height: { id: receiver, height: 20n },
        proof: await dest.proveSlots(wanted.map(requestReceiptSlot)),
      },
      beneficiaryDetails: undefined,
      ...change,
    }),
  };
}

/** A withdrawal from the sender's chain, signed by the relayer. */
export function withdrawal(nonce: bigint, change: Partial<WithdrawalInputData> = {}): WithdrawalInputData {
  const { beneficiary } = change;
  const { digest } = withdrawMessage({ nonce, destChain: sender.stateMachine, beneficiary });
  return {
    signature: evmSignature(digest, relayerKey),
    destChain: sender.stateMachine,
    beneficiary,
    ...change,
  };
}

/** Outcome of an extrinsic: `undefined` when the pool took it, else the `Pallet.Error` that it fails with. */
export async function fetchRefusal(hub: Hub, bytes: Uint8Array): Promise<string | undefined> {
  const answer: JsonRpcAnswer = await submit(hub, bytes);
  if (answer.kind === "result") return undefined;
  const { code, data } = answer.error;
  if (code !== 1010 || data !== "Transaction call is not expected") return `${code} ${String(data)}`;
  const last = hub.rejections.at(-1);
  const dryRun = await resultHttp(hub.httpUrl, "system_dryRun", [toHex(bytes)]);
  const [pallet = "", error = ""] = last?.dispatch?.split(".") ?? [];
  const expected = toHex(concatBytes(Uint8Array.of(0, 1), gargantua.moduleError(pallet, error)));
  return dryRun === expected ? last?.dispatch : `dry run ${String(dryRun)}, pool ${last?.dispatch}`;
}

/** Who answers. */
export const address = new Uint8Array(32).fill(0x51);
/** Slots that are asked for. */
export const slots = [word(3n), word(4n)];
/** The only one that holds a value, 77. */
export const heldSlot = word(3n);

/** A hub that knows the hosts of the sender and of the receiver. */
export function startGetHub(options: HubOptions = {}): Promise<Hub> {
  return startTestHub({
    hosts: new Map([[sender.stateMachine, senderHost], [receiver.stateMachine, receiverHost]]),
    now: () => 1_800_000_000_000,
    // A refused extrinsic may be tried again once the reason is gone.
    pool: { banMs: 0 },
    ...options,
  });
}

/** A question about two slots, the higher key first: the answer is in the order of keys. */
export function question(nonce: bigint, change: Partial<GetRequest> = {}): GetRequest {
  return {
    source: sender.stateMachine,
    dest: receiver.stateMachine,
    nonce,
    from: new Uint8Array(20).fill(1),
    keys: slots.map((slot) => contractSlotKey(receiverHost, slot)).reverse(),
    height: 20n,
    context: new Uint8Array(),
    timeoutTimestampSec: 0n,
    ...change,
  };
}

/**
 * Asks on the sender (its height 10); the receiver holds one slot (20).
 * @param proved slots that the answer is about
 */
export async function askQuestions(
  hub: Hub,
  requests: readonly GetRequest[],
  proved: readonly Hex[] = slots,
): Promise<GetRequestsWithProof> {
  const asked = requests.map((get) => requestSenderSlot(commitmentOfGet(get)));
  const source = await commitBlock(hub, sender, 10n, asked.map((slot) => [slot, senderHost]));
  const dest = await commitBlock(hub, receiver, 20n, [[heldSlot, 77n]]);
  return {
    requests,
    source: { height: { id: sender, height: 10n }, proof: await source.proveSlots(asked) },
    response: { height: { id: receiver, height: 20n }, proof: await dest.proveSlots(proved) },
    address,
  };
}
