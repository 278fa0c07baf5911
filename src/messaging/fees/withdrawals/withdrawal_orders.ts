/**
 * Withdrawal requests: reads the balances of our accounts on the hub, decides whether to withdraw, and sends the
 * request. The row is on disk before the request is sent (I8). Rules: docs/protocol/messaging.md sections 16.1, 16.2
 * and 16.4. Rows are independent; a failing one never blocks another.
 */
import type { RelayerHubCall } from "../../../core/chains/hub.ts";
import { equalBytes, toHex } from "../../../core/encoding/bytes.ts";
import { withdrawMessage } from "../../../core/ismp/signed_messages.ts";
import { isNonceTaken } from "../claims/claim_pair.ts";
import { type FeeContext, findKey, type PayingChain } from "../fee_context.ts";
import { type HubCallStatus, type NonceOwner } from "../hub_calls.ts";
import type { HoldReason, MessageRow, WithdrawalRow } from "../../ledger/ledger.ts";
import { toTokenUnits } from "../../../core/encoding/bytes.ts";

/** Outcome for one account. */
export type OrderResult =
  | "ordered"
  /** Below the minimum, or no balance. */
  | "skipped"
  /** The hub refuses the request. */
  | "refused"
  /** Another signature with the same nonce is pending: retry soon. */
  | "busy";

/** Withdrawals to request on one chain. */
export interface OrderInput {
  readonly paying: PayingChain;
  /** True on the operator's command. */
  readonly isAskedFor: boolean;
}

/** Requests withdrawals from all our accounts for one chain, one after the other. */
export async function orderWithdrawals(
  context: FeeContext,
  { paying, isAskedFor }: OrderInput,
  signal: AbortSignal,
): Promise<readonly OrderResult[]> {
  const recorded = context.ledger.deliveries.listRelayers(paying.name);
  const accounts = listFeeAccounts(paying.ownAddress, [context.hubKey?.address, ...recorded]);
  const canSignAs = ({ address }: FeeAccount): boolean => findKey(context, address) !== undefined;
  const results: OrderResult[] = [];
  for (const account of accounts.filter(canSignAs)) {
    results.push(await orderOne(context, { paying, account, isAskedFor }, signal));
  }
  for (const { address } of accounts.filter((account) => !canSignAs(account))) {
    await logWithoutKey(context, { address, chain: paying.name }, signal);
  }
  return results;
}

interface Order extends OrderInput {
  readonly account: FeeAccount;
}

function orderOne(context: FeeContext, order: Order, signal: AbortSignal): Promise<OrderResult> {
  const { paying: { name: chain, chain: payer }, account: { address }, isAskedFor } = order;
  const owner = { address, chain };
  return context.turns.run(owner, async () => {
    const [available, hubMinimum, feeTokenDecimals] = await Promise.all([
      context.hub.accounts.fetchFeeBalance(chain, address, signal),
      context.hub.accounts.fetchMinimumWithdrawal(chain, signal),
      context.units.learn(payer, signal),
    ]);
    const { minimumAmount } = context.withdrawals;
    const decision = decideWithdrawal({ available, feeTokenDecimals, minimumAmount, hubMinimum, isAskedFor });
    if (decision.skip !== undefined) {
      logSkip(context, order, decision);
      return "skipped";
    }
    if (isNonceTaken(context, owner)) return "busy";
    return await sendOrder(context, { ...order, amount: decision.available }, signal);
  }, signal);
}

async function sendOrder(
  context: FeeContext,
  { paying, account, amount }: Order & { readonly amount: bigint },
  signal: AbortSignal,
): Promise<OrderResult> {
  const { address, beneficiary } = account;
  const key = findKey(context, address);
  if (key === undefined) throw new Error("A fee account has no key");
  const [nonce, hubBlock] = await Promise.all([
    context.hub.accounts.fetchRelayerNonce(address, paying.name, signal),
    context.hub.reads.fetchHeight(signal),
  ]);
  const message = withdrawMessage({ nonce, destChain: paying.name, beneficiary });
  const signature = await key.signMessage(message, signal);
  const call: RelayerHubCall = { kind: "withdraw", data: { signature, destChain: paying.name, beneficiary } };
  const fields = {
    chain: paying.name,
    account: toHex(address),
    amount: context.units.text(paying.name, amount),
  };
  const refusal = await context.hub.hubCalls.dryRunCall(call, signal);
  if (refusal !== undefined) {
    context.log.warn("withdrawal_failed.rejected", { ...fields, detail: refusal.detail });
    return "refused";
  }
  const { withdrawals } = context.ledger;
  let row = 0;
  const refused = await context.calls.send({
    call,
    kind: "withdraw",
    items: [],
    onJournal: (submissionId) => {
      const order = { address, nonce, beneficiary, amount, hubBlock };
      row = withdrawals.record({ chain: paying.name, ...order, state: "requested" });
      withdrawals.update(row, { state: "requested", submissionId });
    },
  }, signal);
  if (refused !== undefined) {
    const { detail } = refused;
    context.ledger.transaction(() => void withdrawals.update(row, { state: "void", detail }));
    context.log.warn("withdrawal_failed.rejected", { ...fields, detail });
    return "refused";
  }
  context.log.info("withdrawal_made.requested", { ...fields, withdrawal: row });
  return "ordered";
}

function logSkip(
  context: FeeContext,
  { paying: { name }, account, isAskedFor }: Order,
  { skip, ...numbers }: WithdrawalDecision,
): void {
  if (skip === "empty") return;
  const fields = {
    chain: name,
    account: toHex(account.address),
    available: context.units.text(name, numbers.available),
  };
  if (skip === "below_configured") {
    const minimum = context.units.text(name, numbers.configuredMinimum);
    context.log.info("withdrawal_failed.below_minimum", { ...fields, minimum, isAskedFor });
    return;
  }
  context.log.info("withdrawal_failed.below_hub_minimum", {
    ...fields,
    hubMinimum: context.units.text(name, numbers.hubMinimum),
  });
}

/** Logs fees of an address that delivered for us and whose key is no longer configured. */
async function logWithoutKey(
  context: FeeContext,
  { address, chain }: NonceOwner,
  signal: AbortSignal,
): Promise<void> {
  const available = await context.hub.accounts.fetchFeeBalance(chain, address, signal);
  if (available === 0n) return;
  context.log.warn("withdrawal_failed.key_missing", {
    chain,
    account: toHex(address),
    available: context.units.text(chain, available),
  });
}

/** Lower bound of the operator's minimum, whole currency units. */
const MIN_WITHDRAWAL = 10;

/** Default of `Relayer.MinimumWithdrawalAmount`, in the token's smallest units, whatever its decimals. */
const HUB_MINIMUM_UNITS = 10n ** 19n;

/** Pause between the start of the program and the first withdrawals, ms. */
const FIRST_WITHDRAWAL_MS = 60_000;

/**
 * Computes when the next round of withdrawals is due, Unix milliseconds: a minute after the start at the earliest, and
 * a full period after the last completed round, so that restarts neither delay nor repeat it.
 * @param facts.lastCompletedMs of this or an earlier run; a time in the future counts as now
 */
export function nextWithdrawalMs(facts: {
  readonly startedMs: number;
  readonly lastCompletedMs: number | undefined;
  readonly frequencySec: number;
  readonly nowMs: number;
}): number {
  const earliestMs = facts.startedMs + FIRST_WITHDRAWAL_MS;
  if (facts.lastCompletedMs === undefined) return earliestMs;
  const lastMs = Math.min(facts.lastCompletedMs, facts.nowMs);
  return Math.max(earliestMs, lastMs + facts.frequencySec * 1000);
}

/** Decision on one balance. */
export interface WithdrawalDecision {
  /** Units of the chain's fee token, like the minimums. */
  readonly available: bigint;
  readonly configuredMinimum: bigint;
  readonly hubMinimum: bigint;
  /**
   * Why it stays where it is; `undefined`: it is withdrawn. `below_hub_minimum`: above the operator's minimum, but the
   * hub would refuse it.
   */
  readonly skip: "empty" | "below_configured" | "below_hub_minimum" | undefined;
}

/**
 * Compares a balance with both minimums; equal is enough.
 * @param facts.minimumAmount whole currency units; ignored (10 counts) when the operator asked with `--withdraw`
 * @param facts.hubMinimum the hub's entry for the chain; `undefined`: it has none, so its default counts
 */
export function decideWithdrawal(facts: {
  readonly available: bigint;
  readonly feeTokenDecimals: number;
  readonly minimumAmount: number;
  readonly hubMinimum: bigint | undefined;
  readonly isAskedFor: boolean;
}): WithdrawalDecision {
  const whole = facts.isAskedFor ? MIN_WITHDRAWAL : Math.max(facts.minimumAmount, MIN_WITHDRAWAL);
  const { available, hubMinimum = HUB_MINIMUM_UNITS } = facts;
  const configuredMinimum = toTokenUnits(whole, facts.feeTokenDecimals);
  const decide = (): WithdrawalDecision["skip"] => {
    if (available === 0n) return "empty";
    if (available < configuredMinimum) return "below_configured";
    return available < hubMinimum ? "below_hub_minimum" : undefined;
  };
  return { available, configuredMinimum, hubMinimum, skip: decide() };
}

/** Account on the hub that may hold fees of a chain. */
export interface FeeAccount {
  readonly address: Uint8Array;
  /** Recipient of the payment; `undefined`: the address itself. */
  readonly beneficiary: Uint8Array | undefined;
}

/**
 * Lists the accounts to which fees of a chain may have been credited, each once: our address there first, the hub
 * account, and other addresses that delivered for us. All pay out to our address on the chain.
 * @param others the hub account, if there is one, and relayers found in delivery records for requests of that chain
 */
export function listFeeAccounts(
  ownAddress: Uint8Array,
  others: readonly (Uint8Array | undefined)[],
): readonly FeeAccount[] {
  const accounts: FeeAccount[] = [{ address: ownAddress, beneficiary: undefined }];
  for (const address of others) {
    const isKnown = accounts.some((account) => address === undefined || equalBytes(account.address, address));
    if (address !== undefined && !isKnown) accounts.push({ address, beneficiary: ownAddress });
  }
  return accounts;
}

/** What is known of a request for which no payment was found yet. */
export interface OrderObservation {
  readonly nowMs: number;
  /** Status of its call; `dropped`: no transaction pool has it. */
  readonly order: HubCallStatus["state"];
  /** `Relayer.Nonce` at the hub's final head. */
  readonly hubNonce: bigint;
  /** True when the hub's final blocks were scanned up to the one in which the request took effect, or lost its nonce. */
  readonly isScanned: boolean;
}

/** What follows for a request. */
export type OrderAction =
  /** Broadcast the journalled bytes (again): the nonce makes a duplicate harmless. */
  | { readonly kind: "send" }
  | { readonly kind: "wait" }
  /** The hub never takes it, and pays nothing. */
  | { readonly kind: "void"; readonly detail: string };

/** Time after which a request that the hub does not know is dropped, ms. */
export const ORDER_PATIENCE_MS = 600_000;

/** Decides what follows for a request. */
export function decideOrder(
  row: Pick<WithdrawalRow, "nonce" | "createdAtMs">,
  { nowMs, order, hubNonce, isScanned }: OrderObservation,
): OrderAction {
  const isNonceUsed = row.nonce !== undefined && hubNonce > row.nonce;
  if (order === "final" || isNonceUsed) {
    if (!isScanned) return { kind: "wait" };
    // The nonce is also used by claims with a beneficiary; a request that lost it can never be included.
    const detail = order === "final" ? "the hub refused the order" : "its nonce was used otherwise";
    return { kind: "void", detail };
  }
  if (order === "failed") return { kind: "void", detail: "the hub refused the order" };
  if (order === "included" || order === "open") return { kind: "wait" };
  if (nowMs - row.createdAtMs >= ORDER_PATIENCE_MS) {
    return { kind: "void", detail: "the hub has not accepted the order for ten minutes" };
  }
  return { kind: "send" };
}

/**
 * Prospect of a payment that has no receipt yet. `soon`: it is on its way, or waits for what comes by itself within
 * minutes. `gated`: only another account delivers it. `later`: it waits for a better price, or for the operator.
 * `refused`: its delivery has failed and is tried again now and then.
 */
export type PaymentProspect = "soon" | "gated" | "later" | "refused";

/** Reasons for which a payment waits; the others are `refused`. */
const prospects: Partial<Record<HoldReason, Exclude<PaymentProspect, "refused">>> = {
  gated: "gated",
  unprofitable: "later",
  price_unknown: "later",
  fee_unknown: "later",
  consensus_proofs_unprofitable: "later",
  held_by_operator: "later",
  loss_limit: "later",
  race: "soon",
  reverted: "soon",
  stuck: "soon",
  waiting_for_update: "soon",
  challenge_period: "soon",
  proof_unavailable: "soon",
  not_final: "soon",
  handler_replaced: "soon",
};

/** Judges the prospect of a payment by the row of its message. */
export function judgePayment({ state, reason }: Pick<MessageRow, "state" | "reason">): PaymentProspect {
  if (state !== "held" && state !== "not_executed") return "soon";
  return reason === undefined ? "soon" : prospects[reason as HoldReason] ?? "refused";
}
