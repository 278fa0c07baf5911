/**
 * Withdrawal requests: reads the balances of our accounts on the hub, decides whether to withdraw, and sends the
 * request. The row is on disk before the request is sent (I8). Rules: docs/protocol/messaging.md sections 16.1 and
 * 16.2.
 */
import type { RelayerHubCall } from "../../core/chains/hub_accounts.ts";
import { fromHex, toHex } from "../../core/encoding/bytes.ts";
import { withdrawMessage } from "../../core/ismp/signed_messages.ts";
import {
  decideWithdrawal,
  type FeeAccount,
  listFeeAccounts,
  type WithdrawalDecision,
} from "./decisions/withdrawal.ts";
import { isNonceTaken } from "./claim_pair.ts";
import { findKey } from "./fee_context.ts";
import type { PayingChain, PaymentDeps } from "./payment_context.ts";

/** Outcome for one account. */
export type OrderResult =
  | "ordered"
  /** Below the minimum, or no balance. */
  | "skipped"
  /** The hub refuses the request. */
  | "refused"
  /** Another signature with the same nonce is pending: retry soon. */
  | "busy";

/** Requests withdrawals from all our accounts for one chain, one after the other. */
export async function orderWithdrawals(
  deps: PaymentDeps,
  paying: PayingChain,
  options: { readonly isAskedFor: boolean },
  signal: AbortSignal,
): Promise<readonly OrderResult[]> {
  const { accounts, withoutKey } = listFeeAccounts({
    ownAddress: paying.ownAddress,
    hubAccount: deps.hubKey?.address,
    recorded: deps.ledger.deliveries.listRelayers(paying.name),
    canSignAs: (address) => findKey(deps, address) !== undefined,
  });
  await deps.units.learn(paying.chain, signal);
  const results: OrderResult[] = [];
  for (const account of accounts) results.push(await orderOne(deps, { paying, account, ...options }, signal));
  for (const address of withoutKey) await logWithoutKey(deps, paying, address, signal);
  return results;
}

interface Order {
  readonly paying: PayingChain;
  readonly account: FeeAccount;
  readonly isAskedFor: boolean;
}

function orderOne(deps: PaymentDeps, order: Order, signal: AbortSignal): Promise<OrderResult> {
  const owner = { address: order.account.address, chain: order.paying.name };
  return deps.turns.run(owner, async () => {
    const decision = await decide(deps, order, signal);
    if (decision.kind === "skip") {
      logSkip(deps, order, decision);
      return "skipped";
    }
    if (isNonceTaken(deps, owner)) return "busy";
    return await sendOrder(deps, order, decision.numbers.available, signal);
  }, signal);
}

async function decide(
  deps: PaymentDeps,
  { paying, account, isAskedFor }: Order,
  signal: AbortSignal,
): Promise<WithdrawalDecision> {
  const [available, hubMinimum, feeTokenDecimals] = await Promise.all([
    deps.hub.fetchFeeBalance(paying.name, account.address, signal),
    deps.hub.fetchMinimumWithdrawal(paying.name, signal),
    deps.units.learn(paying.chain, signal),
  ]);
  const { minimumAmount } = deps.withdrawals;
  return decideWithdrawal({ available, feeTokenDecimals, minimumAmount, hubMinimum, isAskedFor });
}

async function sendOrder(
  deps: PaymentDeps,
  { paying, account }: Order,
  amount: bigint,
  signal: AbortSignal,
): Promise<OrderResult> {
  const { address, beneficiary } = account;
  const key = findKey(deps, address);
  if (key === undefined) throw new Error("A fee account has no key");
  const [nonce, hubBlock] = await Promise.all([
    deps.hub.fetchRelayerNonce(address, paying.name, signal),
    deps.hub.fetchHeight(signal),
  ]);
  const { digest } = withdrawMessage({ nonce, destChain: paying.name, beneficiary });
  const signature = await key.signDigest(fromHex(digest));
  const call: RelayerHubCall = { kind: "withdraw", data: { signature, destChain: paying.name, beneficiary } };
  const fields = {
    chain: paying.name,
    account: toHex(address),
    amount: deps.units.text(paying.name, amount),
  };
  const refusal = await deps.hub.dryRunCall(call, signal);
  if (refusal !== undefined) {
    deps.log.warn("withdrawal_rejected", { ...fields, detail: refusal.detail });
    return "refused";
  }
  const { withdrawals } = deps.ledger;
  let row = 0;
  const sent = await deps.calls.send({
    call,
    kind: "withdraw",
    items: [],
    onJournal: (submissionId) => {
      const order = { address, nonce, beneficiary, amount, hubBlock };
      row = withdrawals.record({ chain: paying.name, ...order, state: "requested" });
      withdrawals.update(row, { state: "requested", submissionId });
    },
    onRefused: ({ detail }) => void withdrawals.update(row, { state: "void", detail }),
  }, signal);
  if (sent.kind === "refused") {
    deps.log.warn("withdrawal_rejected", { ...fields, detail: sent.refusal.detail });
    return "refused";
  }
  deps.log.info("withdrawal_requested", { ...fields, withdrawal: row });
  return "ordered";
}

function logSkip(
  deps: PaymentDeps,
  { paying: { name }, account, isAskedFor }: Order,
  { reason, numbers }: Extract<WithdrawalDecision, { kind: "skip" }>,
): void {
  if (reason === "empty") return;
  const fields = {
    chain: name,
    account: toHex(account.address),
    available: deps.units.text(name, numbers.available),
  };
  if (reason === "below_configured") {
    const minimum = deps.units.text(name, numbers.configuredMinimum);
    deps.log.info("withdrawal_below_minimum", { ...fields, minimum, isAskedFor });
    return;
  }
  deps.log.warn("withdrawal_below_hub_minimum", {
    ...fields,
    hubMinimum: deps.units.text(name, numbers.hubMinimum),
  });
}

/** Logs fees of an address that delivered for us and whose key is no longer configured. */
async function logWithoutKey(
  deps: PaymentDeps,
  { name }: PayingChain,
  address: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  const available = await deps.hub.fetchFeeBalance(name, address, signal);
  if (available === 0n) return;
  deps.log.warn("fee_account_unconfigured", {
    chain: name,
    account: toHex(address),
    available: deps.units.text(name, available),
  });
}
