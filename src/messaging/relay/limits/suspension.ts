/**
 * What is known of pairs of modules: strangers are pairs without a delivery of ours, and travel apart at a bounded risk;
 * pairs whose deliveries cost gas without effect are suspended, since a module may succeed in every simulation and fail
 * in every block. Call what changes something within a ledger transaction.
 */
import type { MessageRow, SubmissionRow, SuspensionKey, SuspensionRow } from "../../ledger/ledger.ts";
import * as z from "zod";
import { equalBytes, type Hash256, keccak256, toHex } from "../../../core/encoding/bytes.ts";
import type { AcceptedSimulation } from "../../../core/chains/submission.ts";
import type { Message } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { NEVER_MS } from "../decisions/retry_schedule.ts";
import { toReceiver, toRequest } from "../decisions/route.ts";
import { lowest } from "../../../core/chains/evm/gas.ts";
import { costUsd18 } from "../decisions/profit.ts";
import { DAY_MS } from "../../../core/pricing/loss_bound.ts";
import { keepOn } from "./spending.ts";
import type { Leg, LegRun, RelayDeps, TargetContext } from "../leg.ts";
import { type Candidate, findOwnPayment, type Judge, parseRow, toCandidate } from "../messages.ts";
import type { Gate } from "../../../core/chains/reads.ts";

/** Pause before each automatic retry, by the number of failures so far, ms. */
const PAUSES_MS: readonly number[] = [DAY_MS, 3 * DAY_MS];

/** Time without a failure after which a released pair starts over, ms. */
const MEMORY_MS = 30 * DAY_MS;

/** History of a pair. */
export type PairHistory = Omit<SuspensionRow, "target" | "sender" | "receiver" | "updatedAtMs">;

/**
 * Updates the history after a transaction that was mined without effect for messages of the pair. A transaction counts
 * once, however many messages of the pair it carries and however often a reorganisation moves it.
 */
export function afterFailure(
  before: SuspensionRow | undefined,
  { transaction, nowMs }: { readonly transaction: Hash256; readonly nowMs: number },
): PairHistory {
  if (before?.lastTransaction === transaction && before.isActive) return before;
  const isForgotten = before === undefined || (!before.isActive && nowMs - before.updatedAtMs > MEMORY_MS);
  const failures = isForgotten ? 1 : before.failures + 1;
  const pauseMs = PAUSES_MS[failures - 1];
  return {
    failures,
    isActive: true,
    nextTryAtMs: pauseMs === undefined ? NEVER_MS : nowMs + pauseMs,
    lastTransaction: transaction,
  };
}

/** Pause of a pair while one of its messages is being retried, ms. */
const BEHIND_TRY_MS = 3_600_000;

/**
 * End of the pause of a receiver towards senders that we have delivered nothing of: a day after its last failure at
 * most, since anybody may make it fail. 0: it has none.
 */
function receiverPauseEndMs(
  active: readonly Pick<SuspensionRow, "receiver" | "nextTryAtMs" | "updatedAtMs">[],
  receiver: Uint8Array,
): number {
  return active.filter((pair) => equalBytes(pair.receiver, receiver))
    .reduce((end, pair) => Math.max(end, Math.min(pair.nextTryAtMs, pair.updatedAtMs + DAY_MS)), 0);
}

/** What strangers lost and may lose on a chain, and what the next transaction of theirs may cost. */
export interface Risk {
  /** Lost within a day, millionths of a dollar. */
  readonly lostMicroUsd: bigint;
  /** Maximum cost of their transactions under way, wei. */
  readonly pendingWei: bigint;
  readonly plannedWei: bigint;
  /** `undefined`: the price is unknown. */
  readonly price27: bigint | undefined;
  /** `maximum_daily_loss`, of which proven pairs keep most; `undefined`: none, or there is no such pair yet. */
  readonly sharedMicroUsd: bigint | undefined;
}

/** Most that strangers may lose on a chain within a day, millionths of a dollar: 10 dollars. */
const STRANGER_RISK_MICRO_USD = 10_000_000n;

/**
 * True when strangers may lose this too: together at most {@link STRANGER_RISK_MICRO_USD}, and a quarter of what they
 * share with proven pairs. One transaction of any cost may be under way while nothing was lost.
 */
export function isWithinRisk({ lostMicroUsd, pendingWei, plannedWei, ...rule }: Risk): boolean {
  if (lostMicroUsd === 0n && pendingWei === 0n) return true;
  const planned18 = costUsd18({ gas: 0n, dataCostWei: pendingWei + plannedWei }, {
    gasPriceWei: 0n,
    price27: rule.price27,
  });
  if (planned18 === undefined) return false;
  const share = rule.sharedMicroUsd === undefined ? undefined : rule.sharedMicroUsd / 4n;
  return lostMicroUsd * 10n ** 12n + planned18 <= lowest(STRANGER_RISK_MICRO_USD, share) * 10n ** 12n;
}

/** Derives the pair that a message belongs to. */
export function toSuspensionKey(message: Message, target: StateMachine): SuspensionKey {
  return { target, sender: toRequest(message).from, receiver: toReceiver(message) };
}

/** Names a pair on its chain. */
export function pairName({ sender, receiver }: Pick<SuspensionKey, "sender" | "receiver">): string {
  return `${toHex(sender)} ${toHex(receiver)}`;
}

/** Pairs with a delivery of ours, as digests, the newest last; at most {@link MAX_PROVEN}. */
const proven = keepOn("proven_pairs", z.array(z.string()));

/** Who pushes a pair out has paid for that many deliveries; the pair is a stranger again, and no more. */
const MAX_PROVEN = 1_000;

/** Finds the strangers among the candidates: the pair of each, by commitment. Own payments are none. */
export function findStrangers(
  context: TargetContext,
  candidates: readonly Candidate[],
): ReadonlyMap<Hash256, string> {
  if (!context.target.capabilities.losesGasOnRace) return new Map();
  const known = new Set(proven.read(context));
  return new Map(candidates.flatMap(({ row, message }) => {
    const name = pairName(toSuspensionKey(message, row.target));
    const pair = toHex(keccak256(new TextEncoder().encode(name))).slice(2, 18);
    return known.has(pair) || findOwnPayment(context, row) !== undefined ? [] : [[row.commitment, pair]];
  }));
}

/**
 * True when a batch may be sent: strangers may lose a small sum per chain and day, together with what is under way of
 * them, so that their losses close the chain to nobody else. May throw an `RpcFault`.
 */
export async function mayRisk(
  leg: LegRun,
  { candidates, simulation }: {
    readonly candidates: readonly Candidate[];
    readonly simulation: AcceptedSimulation;
  },
): Promise<boolean> {
  if (leg.profit === undefined || findStrangers(leg, candidates).size === 0) return true;
  const risk = sumRisk(leg);
  if (risk.lostMicroUsd === 0n && risk.pendingWei === 0n) return true;
  const price = await leg.profit.price.fetchPrice(leg.signal);
  const { gasLimit, gasPriceWei, dataCostWei, maxDataCostWei = dataCostWei } = simulation;
  return isWithinRisk({
    ...risk,
    plannedWei: gasLimit * gasPriceWei + maxDataCostWei,
    price27: price.price27,
    sharedMicroUsd: proven.read(leg)?.length ? leg.settings.maxDailyLossMicroUsd : undefined,
  });
}

/** Sums what strangers lost within a day and may still lose; who makes us lose a race pays as much as we do. */
function sumRisk(leg: Leg): Pick<Risk, "lostMicroUsd" | "pendingWei"> {
  const { ledger: { submissions, spending, messages }, target: { id: { stateMachine: chain } }, clock } = leg;
  const mined = spending.listMined(chain, clock.now() - DAY_MS)
    .filter(({ result }) => result === "reverted" || result === "not_executed");
  const inFlight = submissions.listInFlight(chain);
  // Strangers share no transaction with others: its first message shows whose it is.
  const firsts = new Map([...mined, ...inFlight].map(({ id }) => {
    const [item] = submissions.itemsOf(id);
    const row = item && messages.find(item.commitment, item.target);
    return [id, row === undefined ? [] : toCandidate(row)];
  }));
  const strangers = findStrangers(leg, [...firsts.values()].flat());
  const isOfStrangers = ({ id }: { readonly id: number }): boolean =>
    firsts.get(id)?.some(({ row }) => strangers.has(row.commitment)) ?? false;
  const lost = mined.filter(isOfStrangers);
  return {
    lostMicroUsd: lost.reduce((sum, { lossMicroUsd = 0n }) => sum + lossMicroUsd, 0n),
    pendingWei: [
      ...inFlight.filter(isOfStrangers).map(({ id }) => spending.find(id)?.maxCostWei ?? 0n),
      ...lost.map(({ lossMicroUsd, costWei = 0n }) => lossMicroUsd === undefined ? costWei : 0n),
    ].reduce((sum, wei) => sum + wei, 0n),
  };
}

/**
 * Suspends the pair of a message for which our transaction was mined without effect; returns when one of its messages
 * may be retried, Unix milliseconds. `undefined` when failures cost nothing, and for our own payments.
 */
export function noteNotExecuted(
  context: TargetContext,
  failed: { readonly row: MessageRow; readonly transaction: Hash256 },
): number | undefined {
  if (
    !context.target.capabilities.losesGasOnRace || findOwnPayment(context, failed.row) !== undefined
  ) return undefined;
  const { suspensions } = context.ledger;
  const key = toSuspensionKey(parseRow(failed.row), context.target.id.stateMachine);
  const before = suspensions.find(key);
  const { transaction } = failed;
  const after = afterFailure(before, { transaction, nowMs: context.clock.now() });
  if (after === before) return after.nextTryAtMs;
  suspensions.write({ ...key, ...after });
  context.log.warn("modules_suspended", {
    chain: key.target,
    from: toHex(key.sender),
    to: toHex(key.receiver),
    transaction,
    failures: after.failures,
    next: after.nextTryAtMs === NEVER_MS
      ? "no further automatic retry"
      : `one message is retried after ${new Date(after.nextTryAtMs).toISOString()}`,
  });
  return after.nextTryAtMs;
}

/** Records that messages of suspended pairs are retried: the others wait for the outcome. */
export function noteRetried(context: TargetContext, rows: readonly MessageRow[]): void {
  const nextTryAtMs = context.clock.now() + BEHIND_TRY_MS;
  for (const pair of listSuspended(context, rows)) context.ledger.suspensions.write({ ...pair, nextTryAtMs });
}

/** Lists the suspended pairs of messages; our own payments are sent regardless, and say nothing about them. */
function listSuspended(context: TargetContext, rows: readonly MessageRow[]): readonly SuspensionRow[] {
  const active = context.ledger.suspensions.listActive(context.target.id.stateMachine);
  if (active.length === 0) return [];
  const others = rows.filter((row) => findOwnPayment(context, row) === undefined);
  const names = new Set(
    others.flatMap(toCandidate).map(({ row, message }) => pairName(toSuspensionKey(message, row.target))),
  );
  return active.filter((pair) => names.has(pairName(pair)));
}

/**
 * Remembers the pairs of messages that we delivered, and releases those that were retried; the failures of these are
 * kept for a while.
 * @param sentAtMs time at which the transaction was signed: one signed before a failure says nothing about it
 */
export function noteExecuted(context: TargetContext, rows: readonly MessageRow[], sentAtMs: number): void {
  const { suspensions } = context.ledger;
  const pairs = new Set(findStrangers(context, rows.flatMap(toCandidate)).values());
  if (pairs.size > 0) proven.write(context, [...proven.read(context) ?? [], ...pairs].slice(-MAX_PROVEN));
  for (const pair of listSuspended(context, rows)) {
    if (sentAtMs < pair.updatedAtMs) continue;
    suspensions.write({ ...pair, isActive: false, nextTryAtMs: 0 });
    context.ledger.messages.wake(context.settings.hub, pair.target, "suspended");
    context.log.info("modules_resumed", {
      chain: pair.target,
      from: toHex(pair.sender),
      to: toHex(pair.receiver),
    });
  }
}

/** Reverts a first failure: the block of its transaction was reorganised, and the outcome may change. */
export function forgetFailure(context: RelayDeps, { submission, legSource }: SubmissionRow): void {
  const { suspensions, messages } = context.ledger;
  for (const pair of suspensions.listActive(submission.chain)) {
    if (pair.lastTransaction !== submission.hash || pair.failures > 1) continue;
    suspensions.remove(pair);
    if (legSource !== undefined) messages.wake(legSource, pair.target, "suspended");
  }
}

/** Judges messages of suspended pairs, of which one each may be retried now, and what strangers send to such receivers. */
export function judgeSuspended(leg: Leg, candidates: readonly Candidate[]): Judge | undefined {
  if (!leg.target.capabilities.losesGasOnRace) return undefined;
  const active = leg.ledger.suspensions.listActive(leg.target.id.stateMachine);
  if (active.length === 0) return undefined;
  const pairs = new Map(active.map((pair) => [pairName(pair), pair]));
  const strangers = findStrangers(leg, candidates);
  const retried = new Set<string>();
  const nowMs = leg.clock.now();
  return ({ row, message }) => {
    if (findOwnPayment(leg, row) !== undefined) return undefined;
    const name = pairName(toSuspensionKey(message, row.target));
    const pair = pairs.get(name);
    const pauseEndMs = pair?.nextTryAtMs ??
      (strangers.has(row.commitment) ? receiverPauseEndMs(active, toReceiver(message)) : 0);
    const untilMs = retried.has(name) ? nowMs + BEHIND_TRY_MS : pauseEndMs;
    if (untilMs > nowMs) {
      const whose = pair === undefined ? "" : "from this sender ";
      const detail = `earlier deliveries ${whose}to this receiver cost gas and had no effect`;
      return { reason: "suspended", detail, untilMs };
    }
    if (pair !== undefined) retried.add(name);
    return undefined;
  };
}

/**
 * Explains that another account alone may deliver to a module (docs/protocol/evm-host.md section 13); `undefined`: we
 * may. A module may name whom it likes at any time: that concerns the messages to it, and no others.
 */
export function explainClosed(gate: Gate | undefined, { target }: TargetContext): string | undefined {
  const account = gate?.account;
  if (account === undefined || (target.relayer !== undefined && equalBytes(account, target.relayer))) {
    return undefined;
  }
  return `the receiving module accepts deliveries of ${toHex(account)} only`;
}

/** Reads which modules have another relayer, and judges messages by that. May throw an `RpcFault`. */
export async function judgeGates(leg: LegRun, candidates: readonly Candidate[]): Promise<Judge | undefined> {
  const { gates } = leg.target;
  if (gates === undefined || candidates.length === 0) return undefined;
  // Its gate may have closed since it was read: see `hold`.
  const failed = candidates.filter(({ row: { reason } }) =>
    reason === "simulation_failed" || reason === "not_executed"
  );
  for (const { message } of failed) gates.forget(toReceiver(message));
  const found = await gates.fetchGates(candidates.map(({ message }) => toReceiver(message)), leg.signal);
  const gateOf = new Map(candidates.map(({ message }, index) => [message, found[index]]));
  return ({ message }) => {
    const gate = gateOf.get(message);
    const detail = explainClosed(gate, leg);
    return detail === undefined ? undefined : { reason: "gated", detail, untilMs: gate?.untilMs ?? 0 };
  };
}

/** Modules to which transactions of ours are under way: what they take next is known when those are mined. */
export function listReceiversUnderWay(
  { target, ledger: { submissions, messages } }: LegRun,
): ReadonlySet<string> {
  if (!target.capabilities.losesGasOnRace) return new Set();
  const chain = target.id.stateMachine;
  const items = submissions.listInFlight(chain).flatMap(({ id }) => submissions.itemsOf(id));
  const rows = messages.findAll(items.map(({ commitment }) => commitment), chain);
  return new Set(rows.flatMap((row) => row === undefined ? [] : toCandidate(row)).map(receiverOf));
}

/** Receiving module of a message, hex. */
export function receiverOf({ message }: Pick<Candidate, "message">): string {
  return toHex(toReceiver(message));
}

/** True for a message that failed in company, and is judged alone. */
export function isAlone({ row }: Candidate): boolean {
  return row.state === "held" && row.batchLimit === 1;
}

/**
 * Leaves messages that failed in company until nothing of ours to their modules is under way; one a module goes.
 * Candidates that may go with others must come first in the list.
 */
export function judgeAlone(leg: LegRun, candidates: readonly Candidate[]): Judge | undefined {
  if (!leg.target.capabilities.losesGasOnRace || !candidates.some(isAlone)) return undefined;
  const busy = new Set(listReceiversUnderWay(leg));
  const untilMs = leg.clock.now() + leg.pollIntervalMs;
  return (candidate) => {
    const isTurn = !isAlone(candidate) || !busy.has(receiverOf(candidate));
    busy.add(receiverOf(candidate));
    return isTurn ? undefined : { reason: candidate.row.reason ?? "reverted", untilMs };
  };
}
