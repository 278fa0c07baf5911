/**
 * `Relayer.withdraw_fees`: the whole credit of an address goes out as a request to the chain where it was paid.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/withdrawal.rs, evm/rust/src/host_params.rs.
 */
import { encodeAbiParameters, parseAbiParameters } from "viem";
import { concatBytes, equalBytes, fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import type { WithdrawalInputData } from "../../../src/core/ismp/fees.ts";
import { toSignerBytes, withdrawMessage } from "../../../src/core/ismp/signed_messages.ts";
import { type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { u256 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import { feePayoutModuleId } from "./chain_router.ts";
import { recovered } from "./relayer_accumulate.ts";
import {
  accountOf,
  defaultMinimumWithdrawal,
  eventAddress,
  orRefuse,
  refuse,
  type RelayerParts,
} from "./relayer_storage.ts";
import { palletIsmpMessageCodec } from "./fee_payout.ts";
import { verifySignature } from "../signatures.ts";
import { isSubstrate } from "./is_substrate.ts";

/** Sender of the requests that pay fees out. */
export const relayerModuleId: Uint8Array = new TextEncoder().encode("ISMP-RLYR");

const payoutAbi = parseAbiParameters("address beneficiary, uint256 amount, address token");
/** Action byte of the host manager: withdraw. */
const withdrawAction = 0;

/** Pays out. @throws {DispatchError} with an error of the pallet, checks in upstream's order. */
export function withdrawFees(parts: RelayerParts, execution: Execution, data: WithdrawalInputData): void {
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
