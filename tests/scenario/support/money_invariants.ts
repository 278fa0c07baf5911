/**
 * Invariants of the money: what the ledger says of claims and withdrawals is what the hub says, and every unit of credit
 * is accounted for. Source: docs/architecture/messaging.md, I7 and I8.
 */
import { creditKey, type HubBooks, type HubPayment, namesOf, paymentsIn } from "./hub_books.ts";
import type { Facts } from "./invariant_facts.ts";

/** I7: a row is claimed when, and only after, the hub says so; and what it has paid for is not given up. */
export function* claimsUntrue({ trace, money, hub, histories }: Facts): Iterable<string> {
  const final = histories.get(hub)?.final ?? 0n;
  for (const { commitment, dest, claimState, claimHubBlock } of trace.ledger.deliveries) {
    if (dest === hub) continue; // what the hub takes earns nothing
    const key = `${commitment} ${dest}`;
    const isClaimed = money.claimed.get(commitment);
    if (claimState === "claimed" && isClaimed !== true) {
      yield `I7: ${key} counts as claimed, the hub has not paid for it`;
    }
    if (claimState === "claimed" && claimHubBlock !== undefined && claimHubBlock > final) {
      yield `I7: ${key} counts as claimed in block ${claimHubBlock}, which is not final`;
    }
    if (isClaimed === true && ["no_fee", "lost", "unclaimable"].includes(claimState)) {
      yield `I7: ${key} is ${claimState}, the hub has paid for it`;
    }
  }
}

/** I8: credit only leaves through withdrawals that were recorded before, and every unit of it is somewhere. */
export function* creditGone(facts: Facts): Iterable<string> {
  const payments = ownPayments(facts);
  const { withdrawals } = facts.trace.ledger;
  for (const { commitment, chain, height, amount } of payments) {
    const row = withdrawals.find((each) => each.commitment === commitment) ??
      // A process that ended before it found the payment of its order.
      withdrawals.find((each) => each.state === "requested" && each.chain === chain);
    if (row === undefined) yield `I8: ${amount} of ${chain} were paid out without a withdrawal on record`;
    else if (row.nonce !== undefined && row.hubBlock >= height) {
      yield `I8: withdrawal ${row.id} of ${chain} was recorded at ${row.hubBlock}, its payment was ordered at ${height}`;
    }
  }
  const chains = new Set([...facts.money.credit.keys()].map((key) => key.split(" ")[0] ?? ""));
  for (const chain of chains) yield* unbalanced(facts, chain, payments);
}

/** Credit now and what was paid out, against credit before and what was earned since. */
function* unbalanced(facts: Facts, chain: string, payments: readonly HubPayment[]): Iterable<string> {
  const { money, trace } = facts;
  const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);
  const names = [...ourNames(facts)];
  const creditIn = (credit: HubBooks["credit"]): bigint =>
    sum(names.map((name) => credit.get(creditKey(chain, name)) ?? 0n));
  const earned = sum(
    trace.ledger.deliveries
      .filter(({ source, dest, commitment }) =>
        source === chain && dest !== facts.hub && money.claimed.get(commitment) === true
      )
      .map(({ fee }) => fee ?? 0n),
  );
  const paid = sum(payments.filter((payment) => payment.chain === chain).map(({ amount }) => amount));
  const [before, now] = [creditIn(money.before), creditIn(money.credit)];
  if (before + earned !== now + paid) {
    yield `I8: on ${chain} ${before} of credit and ${earned} of fees became ${now} of credit and ${paid} paid out`;
  }
}

/** Payments to accounts of ours up to the block of the books. */
function ownPayments(facts: Facts): readonly HubPayment[] {
  const history = facts.histories.get(facts.hub);
  const names = ourNames(facts);
  return (history === undefined ? [] : paymentsIn(history))
    .filter(({ beneficiary, height }) => names.has(beneficiary) && height <= facts.money.at);
}

/** Every name of the relayer on any chain. */
function ourNames({ trace, accounts }: Facts): ReadonlySet<string> {
  return new Set([...namesOf(trace.role), ...accounts?.values() ?? []]);
}
