/**
 * The rules by which the hub keeps accounts for relayers: who is credited for which claim, and what is paid out.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{accumulate,withdrawal}.rs.
 */
import { verifySignature } from "../../devnet/hub/signatures.ts";
import { equalBytes, fromHex, type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { WithdrawalInputData, WithdrawalProof } from "../../src/core/ismp/fees.ts";
import type { PostRequest } from "../../src/core/ismp/message.ts";
import { toSignerBytes, withdrawMessage } from "../../src/core/ismp/signed_messages.ts";
import type { StateMachine, StateMachineHeight } from "../../src/core/ismp/state_machine.ts";
import { WITHDRAWAL_MODULE } from "../../src/messaging/fees/withdrawals/payment_scan.ts";
import type { HostState } from "./memory_host.ts";

/** What a claim's proofs show about the other chains. */
export interface Evidence {
  /** Fee at a height of the source; 0: none. */
  readonly feeOf: (source: StateMachineHeight, commitment: Hash256) => bigint;
  /** Who a receipt names at a height of the destination. */
  readonly receiptAt: (dest: StateMachineHeight, commitment: Hash256) => Uint8Array | undefined;
  /** False for proofs that do not say what they should. */
  readonly isProven: (proof: WithdrawalProof) => boolean;
}

/** What the pallet's rules depend on. */
export interface PalletView extends Evidence {
  readonly state: HostState;
  /** True when the hub knows the height and its challenge period is over. */
  readonly isMatured: (height: StateMachineHeight) => boolean;
}

type Books = HostState["accounts"];

/** Most commitments of one claim. */
const MAX_COMMITMENTS = 50;

/** Where the accounts of an address are found. */
export function accountKey(chain: StateMachine, address: Uint8Array): string {
  return `${chain} ${toHex(address)}`;
}

/** Adds to an account. */
export function credit(books: Books, account: string, amount: bigint): void {
  books.balances.set(account, (books.balances.get(account) ?? 0n) + amount);
}

/** Uses the next nonce of an account. */
export function raiseNonce(books: Books, account: string): void {
  books.nonces.set(account, (books.nonces.get(account) ?? 0n) + 1n);
}

/** Name of the error with which the hub refuses a claim; `undefined`: it takes it. */
export function claimError(view: PalletView, proof: WithdrawalProof): string | undefined {
  const { commitments, sourceProof, destProof } = proof;
  if (new Set(commitments).size < commitments.length) return "DuplicateCommitment";
  if (commitments.length > MAX_COMMITMENTS) return "TooMany";
  if (!view.isProven(proof)) return "ProofValidationError";
  const known = commitments.filter((each) => isClaimable(view.state, each));
  if (known.length === 0) return "MissingCommitments";
  if (![sourceProof, destProof].every(({ height }) => view.isMatured(height))) return "NotReady";
  const paid = known.filter((each) => view.feeOf(sourceProof.height, each) > 0n);
  const relayers = paid.map((each) => view.receiptAt(destProof.height, each));
  if (relayers.includes(undefined)) return "ProofValidationError";
  if (paid.length === 0) return "IncompleteProof";
  const [relayer] = relayers;
  if (relayer === undefined || relayers.some((each) => each === undefined || !equalBytes(each, relayer))) {
    return "MixedDeliveryAddressesInBatch";
  }
  if (proof.beneficiaryDetails === undefined) return undefined;
  const [beneficiary, signature] = proof.beneficiaryDetails;
  const chain = sourceProof.height.id.stateMachine;
  const nonce = view.state.accounts.nonces.get(accountKey(chain, relayer)) ?? 0n;
  const { digest } = withdrawMessage({ nonce, destChain: chain, beneficiary });
  const isGood = verifySignature(digest, signature) && equalBytes(toSignerBytes(signature), relayer);
  return isGood ? undefined : "InvalidSignature";
}

/** True when the hub has routed a request whose fee nobody has claimed. */
function isClaimable({ sent, accounts }: HostState, commitment: Hash256): boolean {
  return sent.has(commitment) && !accounts.claimed.has(commitment);
}

/** Credits what a claim proves; the rest of it is skipped. */
export function accumulate(
  { state, feeOf, receiptAt }: PalletView,
  { commitments, sourceProof, destProof, beneficiaryDetails }: WithdrawalProof,
): void {
  const chain = sourceProof.height.id.stateMachine;
  for (const each of commitments) {
    const fee = feeOf(sourceProof.height, each);
    const relayer = receiptAt(destProof.height, each);
    if (!isClaimable(state, each) || fee === 0n || relayer === undefined) continue;
    state.accounts.claimed.add(each);
    credit(state.accounts, accountKey(chain, beneficiaryDetails?.[0] ?? relayer), fee);
  }
  if (beneficiaryDetails !== undefined) {
    raiseNonce(state.accounts, accountKey(chain, toSignerBytes(beneficiaryDetails[1])));
  }
}

/** Name of the error with which the hub refuses to pay out; `undefined`: it takes the order. */
export function orderError(
  { balances, nonces }: Books,
  { signature, destChain, beneficiary }: WithdrawalInputData,
  minimum: bigint,
): string | undefined {
  const account = accountKey(destChain, toSignerBytes(signature));
  const nonce = nonces.get(account) ?? 0n;
  if (!verifySignature(withdrawMessage({ nonce, destChain, beneficiary }).digest, signature)) {
    return "InvalidSignature";
  }
  return (balances.get(account) ?? 0n) < minimum ? "NotEnoughBalance" : undefined;
}

/** Empties an account; returns what was on it. */
export function withdraw(books: Books, { signature, destChain }: WithdrawalInputData): bigint {
  const account = accountKey(destChain, toSignerBytes(signature));
  const amount = books.balances.get(account) ?? 0n;
  books.balances.set(account, 0n);
  raiseNonce(books, account);
  return amount;
}

/** The request with which the hub pays out on an EVM chain. */
export function paymentRequest(facts: {
  readonly hub: StateMachine;
  readonly chain: StateMachine;
  readonly nonce: bigint;
  readonly payee: Uint8Array;
  readonly amount: bigint;
}): PostRequest {
  const word = (value: string): string => value.padStart(64, "0");
  const token = word("11".repeat(20));
  const body = fromHex(`00${word(toHex(facts.payee).slice(2))}${word(facts.amount.toString(16))}${token}`);
  return {
    source: facts.hub,
    dest: facts.chain,
    nonce: facts.nonce,
    from: WITHDRAWAL_MODULE,
    to: new Uint8Array(20).fill(0xcc),
    timeoutTimestampSec: 0n,
    body,
  };
}
