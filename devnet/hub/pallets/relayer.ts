/**
 * Pallet Relayer: credits, pays out and rewards what relayers deliver. Fees are credited in `relayer_accumulate.ts`.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/lib.rs.
 */
import { concatBytes, equalBytes, fromHex, type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { contractSlotKey, epochRelayerSlot } from "../../../src/core/evm/host_storage.ts";
import { commitmentOfPost } from "../../../src/core/ismp/message.ts";
import {
  type OutboundConsensusDeliveryClaim,
  outboundConsensusDeliveryClaimCodec,
  type OutboundRequestDeliveryClaim,
  outboundRequestDeliveryClaimCodec,
  type WithdrawalInputData,
  withdrawalInputDataCodec,
  withdrawalProofCodec,
} from "../../../src/core/ismp/fees.ts";
import {
  consensusClaimMessage,
  requestClaimMessage,
  toSignerBytes,
  withdrawMessage,
} from "../../../src/core/ismp/signed_messages.ts";
import { type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../../src/core/ismp/storage_keys.ts";
import { bytes, type Codec, hash256, u128, u256, u64 } from "../../../src/core/encoding/scale.ts";
import { type Execution, orInvalid, type SimulatedRuntime, type ValidTransaction } from "../runtime.ts";
import { treasuryAccount } from "./balances.ts";
import { creditFees, recovered } from "./relayer_accumulate.ts";
import {
  accountOf,
  defaultMinimumWithdrawal,
  eventAddress,
  orRefuse,
  readHostState,
  receiptRelayer,
  refuse,
  type RelayerParts,
  slotAddress,
  verifierOf,
} from "./relayer_storage.ts";
import { verifySignature } from "../signatures.ts";
import { encodeAbiParameters, parseAbiParameters } from "viem";
import { feePayoutModuleId, palletIsmpMessageCodec } from "./chain_router.ts";
import { isSubstrate } from "./state_machines.ts";
import { relayerCallTag } from "../pool_tags.ts";

/**
 * Rewards for what relayers deliver from the hub: rotations of its authority sets, and requests of its modules.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{outbound_consensus,outbound_request}.rs.
 */

/** Longest module id that can have a reward, bytes. */
const maxModuleIdBytes = 64;

/** Pays for the delivery of a rotation. @throws {DispatchError} checks in upstream's order. */
function claimConsensusReward(
  parts: RelayerParts,
  execution: Execution,
  { stateProof, setId, payee, signature }: OutboundConsensusDeliveryClaim,
): void {
  const { overlay } = execution;
  const dest = stateProof.height.id.stateMachine;
  const { rotationsClaimed, consensusReward } = parts.storage;
  if (signature.tag !== "Evm") refuse("OutboundSignatureNotEvm");
  if (rotationsClaimed.has(overlay, dest, setId)) refuse("OutboundRotationAlreadyClaimed");
  const host = parts.hostExecutive.evmHosts.get(overlay, dest) ?? refuse("OutboundHostNotKnown");
  const key = contractSlotKey(host, epochRelayerSlot(setId));
  const found = orRefuse("OutboundDestinationStateNotKnown", () => {
    const client = verifierOf(parts, execution, stateProof);
    return readHostState(parts, execution, { client, proof: stateProof, keys: [key] });
  }).get(toHex(key)) ?? refuse("OutboundDeliveryNotProven");
  const deliverer = slotAddress(parts, dest, found) ?? refuse("OutboundDeliveryNotProven");
  const { digest } = consensusClaimMessage({ setId, destChain: dest, payee });
  if (!equalBytes(recovered(digest, signature.value.signature), deliverer)) refuse("OutboundSignerMismatch");
  const reward = consensusReward.get(overlay, dest) ?? 0n;
  if (reward === 0n) refuse("OutboundNoRewardConfigured");
  pay(parts, execution, { payee, reward }, "OutboundRewardTransferFailed");
  rotationsClaimed.put(overlay, undefined, dest, setId);
  execution.emit("Relayer", "OutboundConsensusDeliveryRewarded", {
    state_machine: stateMachineCodec.enc(dest),
    set_id: u64.enc(setId),
    relayer: hash256.enc(payee),
    amount: u128.enc(reward),
  });
}

/** Pays for the delivery of a request of the hub. @throws {DispatchError} checks in upstream's order. */
function claimRequestReward(
  parts: RelayerParts,
  execution: Execution,
  { request, stateProof, payee, signature }: OutboundRequestDeliveryClaim,
): void {
  const { overlay } = execution;
  const dest = stateProof.height.id.stateMachine;
  const commitment = commitmentOfPost(request);
  const { requestsClaimed, requestReward } = parts.storage;
  if (request.source !== parts.ismp.host(execution).stateMachine) {
    refuse("OutboundRequestSourceNotHyperbridge");
  }
  if (overlay.getChild(childTrieKeys.requestCommitment(commitment)) === undefined) {
    refuse("OutboundRequestNotKnown");
  }
  if (requestsClaimed.has(overlay, commitment)) refuse("OutboundRequestAlreadyClaimed");
  if (request.from.length > maxModuleIdBytes) refuse("OutboundRequestModuleIdTooLong");
  const reward = requestReward.get(overlay, request.from) ?? 0n;
  if (reward === 0n) refuse("OutboundRequestNoRewardConfigured");
  if (dest !== request.dest) refuse("MismatchedStateMachine");
  const receipt = orRefuse("OutboundDestinationStateNotKnown", () => {
    const client = verifierOf(parts, execution, stateProof);
    const key = client.receiptKey(commitment);
    return readHostState(parts, execution, { client, proof: stateProof, keys: [key] }).get(toHex(key));
  }) ?? refuse("OutboundDeliveryNotProven");
  const deliverer = receiptRelayer(parts, dest, receipt);
  const { digest } = requestClaimMessage({ commitment, destChain: dest, payee });
  const isEvmSignature = signature.tag === "Evm";
  if (!isEvmSignature && !verifySignature(digest, signature)) refuse("InvalidSignature");
  const signer = isEvmSignature ? recovered(digest, signature.value.signature) : toSignerBytes(signature);
  if (!equalBytes(signer, deliverer)) refuse("OutboundRequestSignerMismatch");
  pay(parts, execution, { payee, reward }, "OutboundRequestRewardTransferFailed");
  requestsClaimed.put(overlay, undefined, commitment);
  execution.emit("Relayer", "OutboundRequestDeliveryRewarded", {
    commitment: hash256.enc(commitment),
    state_machine: stateMachineCodec.enc(dest),
    module_id: bytes.enc(request.from),
    relayer: hash256.enc(payee),
    amount: u128.enc(reward),
  });
}

function pay(
  { balances }: RelayerParts,
  execution: Execution,
  { payee, reward }: { readonly payee: Hash256; readonly reward: bigint },
  failure: string,
): void {
  const move = { from: treasuryAccount, to: payee, amount: reward };
  if (!balances.transfer(execution, move, true)) refuse(failure);
}

/**
 * `Relayer.withdraw_fees`: the whole credit of an address goes out as a request to the chain where it was paid.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/withdrawal.rs, evm/rust/src/host_params.rs.
 */

/** Sender of the requests that pay fees out. */
const relayerModuleId: Uint8Array = new TextEncoder().encode("ISMP-RLYR");

const payoutAbi = parseAbiParameters("address beneficiary, uint256 amount, address token");
/** Action byte of the host manager: withdraw. */
const withdrawAction = 0;

/** Pays out. @throws {DispatchError} with an error of the pallet, checks in upstream's order. */
function withdrawFees(parts: RelayerParts, execution: Execution, data: WithdrawalInputData): void {
  const { overlay } = execution;
  const { destChain } = data;
  const { fees, nonce: nonces, minimumWithdrawal } = parts.storage;
  const address = toSignerBytes(data.signature);
  const nonce = nonces.get(overlay, address, destChain) ?? 0n;
  checkSignature(data, nonce);
  const amount = fees.get(overlay, destChain, address) ?? 0n;
  if (amount < (minimumWithdrawal.get(overlay, destChain) ?? defaultMinimumWithdrawal)) {
    refuse("NotEnoughBalance");
  }
  nonces.put(overlay, nonce + 1n, address, destChain);
  const beneficiary = data.beneficiary ?? address;
  const { to, body } = payout(parts, execution, { destChain, beneficiary, amount });
  const post = { dest: destChain, from: relayerModuleId, to, body, timeoutSec: 0n };
  orRefuse("DispatchFailed", () => parts.ismp.dispatchPost(execution, post));
  fees.put(overlay, 0n, destChain, address);
  execution.emit("Relayer", "Withdraw", {
    address: eventAddress(address),
    beneficiary_address: eventAddress(beneficiary),
    state_machine: stateMachineCodec.enc(destChain),
    amount: u256.enc(amount),
  });
}

function checkSignature({ signature, destChain, beneficiary }: WithdrawalInputData, nonce: bigint): void {
  const { digest } = withdrawMessage({ nonce, destChain, beneficiary });
  if (signature.tag === "Evm") {
    const signer = recovered(digest, signature.value.signature);
    if (!equalBytes(signer, signature.value.address)) refuse("InvalidPublicKey");
  } else if (!verifySignature(digest, signature)) {
    refuse("InvalidSignature");
  }
}

function payout(
  parts: RelayerParts,
  { overlay }: Execution,
  { destChain, beneficiary, amount }: {
    readonly destChain: StateMachine;
    readonly beneficiary: Uint8Array;
    readonly amount: bigint;
  },
): { readonly to: Uint8Array; readonly body: Uint8Array } {
  if (isSubstrate(destChain)) {
    const account = accountOf(beneficiary) ?? refuse("InvalidPublicKey");
    const value = { amount: BigInt.asUintN(128, amount), account };
    return { to: feePayoutModuleId, body: palletIsmpMessageCodec.enc({ tag: "WithdrawRelayerFees", value }) };
  }
  const params = parts.hostExecutive.hostParams.get(overlay, destChain) ?? refuse("MissingMangerAddress");
  if (beneficiary.length !== 20) refuse("InvalidPublicKey");
  const { feeToken, hostManager } = params.value;
  const payment = encodeAbiParameters(payoutAbi, [toHex(beneficiary), amount, toHex(feeToken)]);
  return { to: hostManager, body: concatBytes(Uint8Array.of(withdrawAction), fromHex(payment)) };
}

/** `TransactionLongevity::MAX`. */
const forever = (1n << 64n) - 1n;

/** Adds the unsigned calls to the table. The pool runs a call, and tells calls apart by all of their argument. */
export function registerRelayer(runtime: SimulatedRuntime, parts: RelayerParts): void {
  const add = <T>(
    call: string,
    codec: Codec<T>,
    run: (parts: RelayerParts, execution: Execution, argument: T) => void,
  ): void =>
    runtime.register("Relayer", call, codec, {
      validate: (execution, argument): ValidTransaction => {
        orInvalid("Call", () => run(parts, execution, argument));
        const tag = fromHex(relayerCallTag(codec.enc(argument)));
        return { priority: 100n, provides: [tag], longevity: forever };
      },
      dispatch: (execution, argument): void => run(parts, execution, argument),
    });
  add("accumulate_fees", withdrawalProofCodec, creditFees);
  add("withdraw_fees", withdrawalInputDataCodec, withdrawFees);
  add(
    "claim_outbound_consensus_delivery_reward",
    outboundConsensusDeliveryClaimCodec,
    claimConsensusReward,
  );
  add("claim_outbound_request_delivery_reward", outboundRequestDeliveryClaimCodec, claimRequestReward);
}
