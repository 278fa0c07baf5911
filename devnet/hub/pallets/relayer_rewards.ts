/**
 * Rewards for what relayers deliver from the hub: rotations of its authority sets, and requests of its modules.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{outbound_consensus,outbound_request}.rs.
 */
import { equalBytes, type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { contractSlotKey, epochRelayerSlot } from "../../../src/core/evm/host_storage.ts";
import { commitmentOfPost } from "../../../src/core/ismp/message.ts";
import type {
  OutboundConsensusDeliveryClaim,
  OutboundRequestDeliveryClaim,
} from "../../../src/core/ismp/fees.ts";
import {
  consensusClaimMessage,
  requestClaimMessage,
  toSignerBytes,
} from "../../../src/core/ismp/signed_messages.ts";
import { stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../../src/core/ismp/storage_keys.ts";
import { bytes, hash256, u128, u64 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import { treasuryAccount } from "./balances.ts";
import { recovered } from "./relayer_accumulate.ts";
import {
  orRefuse,
  readHostState,
  receiptRelayer,
  refuse,
  type RelayerParts,
  slotAddress,
  verifierOf,
} from "./relayer_storage.ts";
import { verifySignature } from "../signatures.ts";

/** Longest module id that can have a reward, bytes. */
export const maxModuleIdBytes = 64;

/** Pays for the delivery of a rotation. @throws {DispatchError} checks in upstream's order. */
export function claimConsensusReward(
  parts: RelayerParts,
  execution: Execution,
  { stateProof, setId, payee, signature }: OutboundConsensusDeliveryClaim,
): void {
  const { overlay } = execution;
  const dest = stateProof.height.id.stateMachine;
  const { rotationsClaimed, consensusReward } = parts.storage;
  if (signature.tag !== "Evm") refuse("OutboundSignatureNotEvm");
  if (overlay.get(rotationsClaimed.key(dest, setId)) !== undefined) refuse("OutboundRotationAlreadyClaimed");
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
export function claimRequestReward(
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
  if (overlay.get(requestsClaimed.key(commitment)) !== undefined) refuse("OutboundRequestAlreadyClaimed");
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
