/**
 * Processes the unclaimed deliveries of one pair once: rows that end without a claim are recorded, and at most one
 * claim is sent. Works from the database alone, so a restart or another run continues where this one stopped.
 */
import type { FeeChain } from "../../../core/chains/fees.ts";
import type { ClaimStatus } from "../../../core/chains/hub_accounts.ts";
import { type Refusal, UNSURE } from "../../../core/chains/port.ts";
import { equalBytes, type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import { bisectClaims, type ReadyClaim } from "./claim_attempt.ts";
import {
  CLAIM_GROUP_SIZE,
  type ClaimedRequest,
  type ClaimGroup,
  type ClaimPlanInput,
  planClaims,
  type SettledClaim,
} from "./claim_plan.ts";
import { applyClaimAnswer, type RaisedFee } from "./claim_results.ts";
import { type ClaimEvent, type ClaimResult, type RaisedFees, routeName } from "./claim_context.ts";
import type { Deferred } from "../deferred.ts";
import { type FeeDeps, findKey } from "../fee_context.ts";
import type { KnownHeights } from "../matured_heights.ts";
import type { ClaimPair, DeliveryRow } from "../../ledger/ledger.ts";
import { toFee18 } from "../../relay/decisions/money.ts";

/** Input for one pass over a pair, besides the shared context. */
export interface PairInput {
  readonly pair: ClaimPair;
  readonly source: FeeChain;
  readonly dest: FeeChain;
  /** Heights of both chains known to the hub. */
  readonly sourceHeights: KnownHeights;
  readonly destHeights: KnownHeights;
  readonly aside: Deferred;
  readonly raised: RaisedFees;
  readonly onEvent: (event: ClaimEvent) => void;
}

/** Outcome of one pass over a pair. */
export type PairOutcome =
  /** A claim was sent. */
  | "sent"
  /** Rows were settled or deferred; there may be more to do. */
  | "settled"
  /** An earlier claim must be included first, or the nonce is in use. */
  | "busy"
  /** The hub knows the heights, but their challenge period is not over. */
  | "maturing"
  /** The hub accepts no claim of this pair now. */
  | "not_ready"
  /** Nothing can be claimed now. */
  | "idle";

/** Key of a row in the list of deferred rows. */
export function deferredKey(row: { readonly commitment: Hash256; readonly dest: string }): string {
  return `${row.commitment} ${row.dest}`;
}

/** Processes a pair once. */
export async function claimPair(deps: FeeDeps, work: PairInput, signal: AbortSignal): Promise<PairOutcome> {
  const { pair, destHeights, sourceHeights } = work;
  if (isPairBusy(deps, pair)) return "busy";
  const { matured } = destHeights;
  if (matured === undefined || matured < pair.oldestBlock) {
    return destHeights.newest >= pair.oldestBlock ? "maturing" : "idle";
  }
  const provable = sourceHeights.matured;
  if (provable === undefined) return sourceHeights.newest > 0n ? "maturing" : "idle";
  const limit = CLAIM_GROUP_SIZE + work.aside.size + work.raised.size;
  const rows = deps.ledger.deliveries.listUnclaimed({ ...pair, maxBlock: matured, limit })
    .filter((row) => !work.aside.has(deferredKey(row)) && !work.raised.waits(deferredKey(row), provable))
    .slice(0, CLAIM_GROUP_SIZE);
  if (rows.length === 0) return "idle";
  await deps.units.learn(work.source, signal);
  const requests = await readRequests(deps, work, rows, signal);
  const plan = planClaims(rows, factsOf(deps, work, requests));
  if (plan.settled.length > 0) applySettled(deps, work, requests, plan.settled);
  const [group] = plan.groups;
  if (group !== undefined) return await claimGroup(deps, work, withoutOverdue(work, group), signal);
  for (const row of plan.waiting) work.aside.add(deferredKey(row));
  return "settled";
}

/**
 * Drops the minimum fee of rows that have waited long enough for the hub to learn of a raised fee: they accept the fee
 * that the hub knows.
 */
function withoutOverdue({ pair: { dest }, raised }: PairInput, group: ClaimGroup): ClaimGroup {
  const isAwaited = ([commitment]: readonly [Hash256, bigint]): boolean =>
    !raised.isOverdue(deferredKey({ commitment, dest }));
  return { ...group, minFees: new Map([...group.minFees].filter(isAwaited)) };
}

/** True while a claim of the pair waits for a block: the next one would prove the same heights to no effect. */
function isPairBusy(deps: FeeDeps, pair: ClaimPair): boolean {
  return unblockedClaims(deps).some((row) =>
    row.source === pair.source && row.dest === pair.dest && equalBytes(row.relayer, pair.relayer)
  );
}

/** Lists one delivery of each claim that is not included yet. */
function unblockedClaims(deps: FeeDeps): readonly DeliveryRow[] {
  const { submissions, deliveries } = deps.ledger;
  return deps.calls.listOpen("accumulate").filter(({ state }) => state !== "included").flatMap(({ id }) => {
    const [item] = submissions.itemsOf(id);
    const row = item && deliveries.find(item.commitment, item.target);
    return row === undefined ? [] : [row];
  });
}

/** True while a signature with this nonce is pending: a claim for a beneficiary, or a withdrawal request. */
export function isNonceTaken(
  deps: FeeDeps,
  owner: { readonly address: Uint8Array; readonly chain: DeliveryRow["source"] },
): boolean {
  const isOwners = (address: Uint8Array): boolean => equalBytes(address, owner.address);
  return unblockedClaims(deps).some((row) => row.source === owner.chain && isOwners(row.relayer)) ||
    deps.ledger.withdrawals.listOpen(owner.chain).some((row) =>
      row.state === "requested" && isOwners(row.address)
    );
}

async function readRequests(
  deps: FeeDeps,
  { source, sourceHeights }: PairInput,
  rows: readonly DeliveryRow[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Hash256, ClaimedRequest>> {
  const commitments = rows.map(({ commitment }) => commitment);
  const [fees, statuses] = await Promise.all([
    source.fetchFees(commitments, signal),
    deps.hub.fetchClaimStatus(commitments, signal),
  ]);
  // Without a fee a row ends for good, so that is confirmed first: a node may lag behind the request or its raised fee.
  const feeless = commitments.filter((_, index) => (fees[index] ?? 0n) === 0n);
  const since = { height: sourceHeights.newest };
  const certain = feeless.length === 0 ? [] : await source.fetchCertainFees(feeless, since, signal);
  const certainOf = new Map(feeless.map((commitment, index) => [commitment, certain[index] ?? UNSURE]));
  const requests = new Map<Hash256, ClaimedRequest>();
  deps.ledger.transaction(() => {
    for (const [index, row] of rows.entries()) {
      const confirmed = certainOf.get(row.commitment);
      const isUnsure = confirmed?.kind === "unsure";
      const fee = confirmed?.kind === "certain" ? confirmed.value ?? 0n : isUnsure ? undefined : fees[index];
      const status = statuses[index];
      if (fee === undefined || status === undefined) continue;
      requests.set(row.commitment, { fee, onHub: onHubOf(status) });
      const isKnown = confirmed?.kind === "certain" ? confirmed.value !== undefined : true;
      if (isKnown && fee !== row.fee) {
        deps.ledger.deliveries.setFee(row.commitment, row.dest, fee);
        noteRevenue(deps, row);
      }
    }
  });
  return requests;
}

/** Adds the fee that was just recorded to the revenue of the delivery's transaction. */
function noteRevenue(deps: FeeDeps, { dest, txHash }: DeliveryRow): void {
  if (txHash === undefined) return;
  deps.ledger.spending.learnRevenue(dest, txHash, (source, fee) => {
    const decimals = deps.units.find(source);
    return decimals === undefined ? undefined : toFee18(fee, decimals);
  });
}

function onHubOf(status: ClaimStatus): ClaimedRequest["onHub"] {
  return status === "unclaimed" ? "open" : status;
}

function factsOf(
  deps: FeeDeps,
  work: PairInput,
  requests: ReadonlyMap<Hash256, ClaimedRequest>,
): ClaimPlanInput {
  return {
    isConfigured: (chain) => deps.chains.has(chain),
    maturedHeight: (chain) =>
      chain === work.pair.dest ? work.destHeights.matured : work.sourceHeights.matured,
    request: (commitment) => requests.get(commitment),
    ownAddress: (source) => deps.chains.get(source)?.relayer,
    canSignAs: (relayer) => findKey(deps, relayer) !== undefined,
  };
}

const resultOf: Readonly<Record<SettledClaim["why"], ClaimResult>> = {
  claimed_already: "claimed_already",
  fee_is_zero: "no_fee",
  unknown_to_hub: "unclaimable",
};

/** Records what ends without a claim. */
function applySettled(
  deps: FeeDeps,
  work: PairInput,
  requests: ReadonlyMap<Hash256, ClaimedRequest>,
  settled: readonly SettledClaim[],
): void {
  const { source, dest } = work.pair;
  deps.ledger.transaction(() => {
    for (const { commitment, to } of settled) deps.ledger.deliveries.setClaimState({ commitment, dest }, to);
  });
  for (const why of new Set(settled.map((each) => each.why))) {
    const ended = settled.filter((each) => each.why === why);
    const fee = ended.reduce((sum, { commitment }) => sum + (requests.get(commitment)?.fee ?? 0n), 0n);
    const result = resultOf[why];
    const level = result === "unclaimable" ? "warn" : "info";
    deps.log[level]("requests_unclaimed", {
      pair: routeName(work.pair),
      requests: ended.length,
      reason: why,
      ...(result === "unclaimable" ? { first: ended[0]?.commitment } : {}),
    });
    work.onEvent({ source, dest, result, count: ended.length, fee });
  }
}

function claimGroup(
  deps: FeeDeps,
  work: PairInput,
  group: ClaimGroup,
  signal: AbortSignal,
): Promise<PairOutcome> {
  const { beneficiary } = group;
  if (beneficiary === undefined) return bisectAndSend(deps, work, group, signal);
  return deps.turns.run(
    beneficiary.nonceOf,
    () =>
      isNonceTaken(deps, beneficiary.nonceOf)
        ? Promise.resolve<PairOutcome>("busy")
        : bisectAndSend(deps, work, group, signal),
    signal,
  );
}

async function bisectAndSend(
  deps: FeeDeps,
  work: PairInput,
  group: ClaimGroup,
  signal: AbortSignal,
): Promise<PairOutcome> {
  const bisected = await bisectClaims(deps, group, signal);
  if (bisected.lost.length > 0) markLost(deps, work, bisected.lost.map(({ commitment }) => commitment));
  for (const { commitment, refusal } of bisected.refused) defer(deps, work, commitment, refusal);
  noteRaised(work, group, bisected.raised);
  if (await sendFirst(deps, work, bisected.ready, signal)) return "sent";
  if (bisected.wait === undefined) return "settled";
  deps.log.debug("claim_postponed", {
    pair: routeName(work.pair),
    detail: bisected.wait.detail,
  });
  return "not_ready";
}

/** Sends the first claim that the hub's transaction pool accepts; the others are planned again once it is included. */
async function sendFirst(
  deps: FeeDeps,
  work: PairInput,
  ready: readonly ReadyClaim[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const claim of ready) if (await sendOne(deps, work, claim, signal)) return true;
  return false;
}

async function sendOne(
  deps: FeeDeps,
  work: PairInput,
  claim: ReadyClaim,
  signal: AbortSignal,
): Promise<boolean> {
  const { group } = claim;
  const { deliveries } = deps.ledger;
  const setAll = (to: "claiming" | "unclaimed"): void => {
    for (const commitment of group.commitments) {
      deliveries.setClaimState({ commitment, dest: group.dest }, to);
    }
  };
  const sent = await deps.calls.send({
    call: claim.call,
    kind: "accumulate",
    items: group.commitments.map((commitment) => ({
      commitment,
      requestCommitment: commitment,
      target: group.dest,
    })),
    onJournal: () => setAll("claiming"),
    onRefused: () => setAll("unclaimed"),
  }, signal);
  if (sent.kind === "sent") {
    for (const commitment of group.commitments) {
      work.raised.forget(deferredKey({ commitment, dest: group.dest }));
    }
    deps.log.info("claim_sent", {
      pair: routeName(work.pair),
      requests: group.commitments.length,
      provedAt: `${group.sourceHeight} and ${group.destHeight}`,
      ...(group.beneficiary === undefined ? {} : { beneficiary: toHex(group.beneficiary.account) }),
    });
    return true;
  }
  return await afterRefusal(deps, work, claim, sent.refusal, signal);
}

/**
 * Handles a claim that the transaction pool refused although the dry run accepted it: it is halved until one part is
 * accepted.
 */
async function afterRefusal(
  deps: FeeDeps,
  work: PairInput,
  { group, nonce }: ReadyClaim,
  refusal: Refusal,
  signal: AbortSignal,
): Promise<boolean> {
  const { beneficiary } = group;
  const now = beneficiary &&
    await deps.hub.fetchRelayerNonce(beneficiary.nonceOf.address, beneficiary.nonceOf.chain, signal);
  const moved = nonce === undefined || now === undefined ? undefined : { signed: nonce, now };
  const next = applyClaimAnswer(group, { kind: "refused", nonce: moved });
  if (next.kind === "defer") defer(deps, work, next.commitment, refusal);
  if (next.kind !== "submit" || next.why === "nonce_moved") return false;
  for (const part of next.groups) {
    const { ready, raised } = await bisectClaims(deps, part, signal);
    noteRaised(work, part, raised);
    if (await sendFirst(deps, work, ready, signal)) return true;
  }
  return false;
}

/** Marks rows as lost whose receipt of ours the destination cannot prove: they must be delivered again first. */
function markLost(deps: FeeDeps, work: PairInput, commitments: readonly Hash256[]): void {
  const { source, dest } = work.pair;
  deps.ledger.transaction(() => {
    for (const commitment of commitments) deps.ledger.deliveries.setClaimState({ commitment, dest }, "lost");
  });
  deps.log.warn("receipts_missing", {
    pair: routeName(work.pair),
    requests: commitments.length,
    first: commitments[0],
  });
  work.onEvent({ source, dest, result: "lost", count: commitments.length, fee: 0n });
}

function noteRaised({ pair, raised }: PairInput, group: ClaimGroup, fees: readonly RaisedFee[]): void {
  for (const fee of fees) {
    raised.add(deferredKey({ ...fee, dest: pair.dest }), fee, { pair, height: group.sourceHeight });
  }
}

function defer(deps: FeeDeps, work: PairInput, commitment: Hash256, refusal: Refusal): void {
  const { source, dest } = work.pair;
  const attempts = work.aside.add(deferredKey({ commitment, dest }));
  const level = attempts === 1 ? "warn" : "debug";
  deps.log[level]("claim_rejected", {
    pair: routeName(work.pair),
    commitment,
    detail: refusal.detail,
    attempts,
  });
  const fee = deps.ledger.deliveries.find(commitment, dest)?.fee ?? 0n;
  work.onEvent({ source, dest, result: "refused", count: 1, fee });
}
