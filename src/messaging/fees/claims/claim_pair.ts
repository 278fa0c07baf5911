/**
 * Processes the unclaimed deliveries of one pair once: rows that end without a claim are recorded, and at most one
 * claim is sent. Works from the database alone, so a restart or another run continues where this one stopped.
 */
import type { Chain } from "../../../core/chains/port.ts";
import { onFault } from "../../../core/rpc/call.ts";
import { type Certain, UNSURE } from "../../../core/chains/reads.ts";
import { equalBytes, type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import {
  CLAIM_GROUP_SIZE,
  type ClaimedRequest,
  type ClaimFindings,
  claimFirst,
  type ClaimGroup,
  type ClaimWork,
  findBeneficiary,
  planClaims,
  type RaisedFee,
  type RefusedRow,
  type SettledClaim,
} from "./claim_attempt.ts";
import { type Deferred, type FeeContext } from "../fee_context.ts";
import type { KnownHeights } from "../../../core/chains/matured_heights.ts";
import type { ClaimPair, DeliveryRow } from "../../ledger/ledger.ts";
import { toFee18 } from "../../relay/decisions/profit.ts";
import { CONFIRM_AFTER_MS } from "../../relay/decisions/retry_schedule.ts";

/** Formats a pair for logs, e.g. `EVM-1 -> EVM-56`. */
export function routeName({ source, dest }: Pick<ClaimPair, "source" | "dest">): string {
  return `${source} -> ${dest}`;
}

/** Context of claims, for one run of rounds. */
export interface ClaimContext extends FeeContext {
  /** Rows that the hub refused. */
  readonly deferred: Deferred;
  /**
   * Rows whose fee was raised after the height of the source that the hub can verify: a claim now would only be paid the
   * old fee.
   */
  readonly raised: Deferred;
  /** What would end rows without a claim, and since when. */
  readonly doubts: Deferred;
}

/** Key of a row in the lists of rows that wait. */
export function rowKey({ commitment, dest }: Pick<DeliveryRow, "commitment" | "dest">): string {
  return `${commitment} ${dest}`;
}

/** Input for one pass over a pair. */
export interface PairInput {
  readonly pair: ClaimPair;
  readonly source: Chain;
  readonly dest: Chain;
  /** Heights of both chains known to the hub. */
  readonly sourceHeights: KnownHeights;
  readonly destHeights: KnownHeights;
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

/** Age of a delivery from which a fee counts that its source's endpoints do not agree on, ms. */
const MAX_UNSURE_MS = 3_600_000;

/** True while a signature with this nonce is pending: a claim for a beneficiary, or a withdrawal request. */
export function isNonceTaken(
  context: FeeContext,
  owner: { readonly address: Uint8Array; readonly chain: DeliveryRow["source"] },
): boolean {
  const isOwners = (address: Uint8Array): boolean => equalBytes(address, owner.address);
  return unblockedClaims(context).some((row) => row.source === owner.chain && isOwners(row.relayer)) ||
    context.ledger.withdrawals.listOpen(owner.chain).some((row) =>
      row.state === "requested" && isOwners(row.address)
    );
}

/** Lists one delivery of each claim that is not included yet. */
function unblockedClaims(context: FeeContext): readonly DeliveryRow[] {
  const { submissions, deliveries } = context.ledger;
  return context.calls.listOpen("accumulate").filter(({ state }) => state !== "included").flatMap(
    ({ id }) => {
      const [item] = submissions.itemsOf(id);
      const row = item && deliveries.find(item.commitment, item.target);
      return row === undefined ? [] : [row];
    },
  );
}

/** Longest wait for the hub to know a raised fee, ms: longer than any chain's height takes to reach it. */
const MAX_RAISED_MS = 86_400_000;

/** Reasons for which a row ends only when it is found again hours later. */
const doubtfulEnds: readonly SettledClaim["why"][] = ["fee_is_zero", "unknown_to_hub"];

/** One pass over a pair. */
export class PairPass {
  readonly #context: ClaimContext;
  readonly #input: PairInput;
  readonly #signal: AbortSignal;

  constructor(context: ClaimContext, input: PairInput, signal: AbortSignal) {
    this.#context = context;
    this.#input = input;
    this.#signal = signal;
  }

  /** Processes the pair once. */
  async run(): Promise<PairOutcome> {
    const { deferred, doubts, ledger, raised, units } = this.#context;
    const { pair, source, destHeights, sourceHeights } = this.#input;
    if (this.#isBusy()) return "busy";
    const { matured } = destHeights;
    if (matured === undefined || matured < pair.oldestBlock) {
      return destHeights.newest >= pair.oldestBlock ? "maturing" : "idle";
    }
    const provable = sourceHeights.matured;
    if (provable === undefined) return sourceHeights.newest > 0n ? "maturing" : "idle";
    const limit = CLAIM_GROUP_SIZE + deferred.size + raised.size;
    const rows = ledger.deliveries.listUnclaimed({ ...pair, maxBlock: matured, limit })
      .filter((row) => !deferred.has(rowKey(row)) && !raised.has(rowKey(row)))
      .slice(0, CLAIM_GROUP_SIZE);
    if (rows.length === 0) return "idle";
    await units.learn(source, this.#signal);
    const requests = await this.#readRequests(rows);
    const plan = planClaims(rows, requests);
    await this.#settle(plan.settled);
    const commitments = [...plan.fees.keys()];
    for (const commitment of commitments) {
      for (const why of doubtfulEnds) doubts.forget(`${rowKey({ commitment, dest: pair.dest })} ${why}`);
    }
    if (commitments.length > 0) {
      const beneficiary = findBeneficiary(this.#context, pair);
      const heights = { sourceHeight: provable, destHeight: matured };
      const minFees = this.#withoutOverdue(plan.fees);
      return await this.#claim({ ...pair, ...heights, commitments, beneficiary, minFees });
    }
    for (const row of plan.waiting) deferred.add(rowKey(row));
    return "settled";
  }

  /** True while a claim of the pair waits for a block: the next one would prove the same heights to no effect. */
  #isBusy(): boolean {
    const { pair } = this.#input;
    return unblockedClaims(this.#context).some((row) =>
      row.source === pair.source && row.dest === pair.dest && equalBytes(row.relayer, pair.relayer)
    );
  }

  /**
   * Drops the minimum fee of rows that have waited long enough for the hub to learn of a raised fee: they accept the fee
   * that the hub knows.
   */
  #withoutOverdue(fees: ReadonlyMap<Hash256, bigint>): ReadonlyMap<Hash256, bigint> {
    const { dest } = this.#input.pair;
    const isAwaited = ([commitment]: readonly [Hash256, bigint]): boolean =>
      this.#context.raised.ageMs(rowKey({ commitment, dest })) < MAX_RAISED_MS;
    return new Map([...fees].filter(isAwaited));
  }

  async #readRequests(rows: readonly DeliveryRow[]): Promise<ReadonlyMap<Hash256, ClaimedRequest>> {
    const { hub, ledger } = this.#context;
    const commitments = rows.map(({ commitment }) => commitment);
    const [fees, statuses] = await Promise.all([
      this.#readFees(rows),
      hub.accounts.fetchClaimStatus(commitments, this.#signal),
    ]);
    const requests = new Map<Hash256, ClaimedRequest>();
    ledger.transaction(() => {
      for (const [index, row] of rows.entries()) {
        const [fee, status] = [fees[index] ?? UNSURE, statuses[index]];
        if (fee.kind === "unsure" || status === undefined) continue;
        const value = fee.value ?? 0n;
        requests.set(row.commitment, { fee: value, onHub: status });
        if (fee.value !== undefined && value !== row.fee) {
          ledger.deliveries.setFee(row.commitment, row.dest, value);
        }
      }
    });
    return requests;
  }

  /**
   * Reads the latest fees. A node that lags behind a raise would have us claim the old fee, and one that lags behind
   * the request would end the row without any: a fee counts when the endpoints that are far enough agree on it. Where
   * they still do not after an hour, a fee counts that one of them reports; 0 never does.
   */
  async #readFees(rows: readonly DeliveryRow[]): Promise<readonly Certain<bigint | undefined>[]> {
    const { source, sourceHeights } = this.#input;
    const nowMs = this.#context.clock.now();
    const since = { height: sourceHeights.newest };
    const commitments = rows.map(({ commitment }) => commitment);
    const certain = await source.certain.fetchCertainFees(commitments, since, this.#signal);
    const overdue = rows.filter(({ createdAtMs }, index) =>
      (certain[index] ?? UNSURE).kind === "unsure" && nowMs - createdAtMs >= MAX_UNSURE_MS
    ).map(({ commitment }) => commitment);
    if (overdue.length === 0) return certain;
    const { units } = await source.fees.fetchFees(overdue, this.#signal);
    const toldOf = new Map(overdue.map((commitment, index) => [commitment, units[index] ?? 0n]));
    return commitments.map((commitment, index) => {
      const value = toldOf.get(commitment) ?? 0n;
      return value > 0n ? { kind: "certain", value } : certain[index] ?? UNSURE;
    });
  }

  /** Marks rows as under way with the fees that the source proves, which are what their transactions earn. */
  #noteClaiming({ commitments, dest }: ClaimGroup, fees: readonly bigint[]): void {
    const { ledger: { deliveries, spending }, units } = this.#context;
    for (const [index, commitment] of commitments.entries()) {
      deliveries.setClaimState({ commitment, dest }, "claiming");
      deliveries.setFee(commitment, dest, fees[index] ?? 0n);
    }
    for (const hash of new Set(commitments.map((each) => deliveries.find(each, dest)?.txHash))) {
      if (hash === undefined) continue;
      spending.learnRevenue(dest, hash, (source, fee) => {
        const decimals = units.find(source);
        return decimals === undefined ? undefined : toFee18(fee, decimals);
      });
    }
  }

  /**
   * Ends rows that a final block of the hub has as claimed, those for which the source proves that nothing was paid, and
   * those of which the same was found hours ago; the others are read again.
   */
  async #settle(settled: readonly SettledClaim[]): Promise<void> {
    if (settled.length === 0) return;
    const { deferred, doubts } = this.#context;
    const unpaid = settled.flatMap(({ commitment, to }) => to === "no_fee" ? [commitment] : []);
    const proven = await this.#proveUnpaid(unpaid);
    this.#applySettled(
      settled.filter(({ why, commitment }) => {
        const key = rowKey({ commitment, dest: this.#input.pair.dest });
        const isCertain = why === "claimed_already" || proven.has(commitment);
        if (isCertain || doubts.ageMs(`${key} ${why}`) >= CONFIRM_AFTER_MS) return true;
        doubts.add(`${key} ${why}`);
        deferred.add(key);
        return false;
      }),
    );
  }

  /** Requests of which the source proves that they paid nothing; none where it cannot prove anything now. */
  async #proveUnpaid(commitments: readonly Hash256[]): Promise<ReadonlySet<Hash256>> {
    const { source, sourceHeights: { matured } } = this.#input;
    if (commitments.length === 0 || matured === undefined) return new Set();
    const at = { id: source.id, height: matured };
    const proved = await this.#context.hub.reads.fetchStateRoot(at, this.#signal)
      .then((stateRoot) => source.proofs.proveFees(commitments, { height: matured, stateRoot }, this.#signal))
      .catch(onFault(() => undefined));
    return new Set(commitments.filter((_, index) => proved?.fees[index] === 0n));
  }

  /** Records what ends without a claim. */
  #applySettled(settled: readonly SettledClaim[]): void {
    const { ledger, log } = this.#context;
    const { pair } = this.#input;
    const { dest } = pair;
    ledger.transaction(() => {
      for (const { commitment, to } of settled) ledger.deliveries.setClaimState({ commitment, dest }, to);
    });
    for (const why of new Set(settled.map((each) => each.why))) {
      const ended = settled.filter((each) => each.why === why);
      const isUnknown = why === "unknown_to_hub";
      log[isUnknown ? "warn" : "info"]("claim_failed.unclaimable", {
        pair: routeName(pair),
        requests: ended.length,
        reason: why,
        ...isUnknown && { first: ended[0]?.commitment },
      });
    }
  }

  #claim(group: ClaimGroup): Promise<PairOutcome> {
    const { beneficiary } = group;
    if (beneficiary === undefined) return this.#claimNow(group);
    const whenFree = (): Promise<PairOutcome> =>
      isNonceTaken(this.#context, beneficiary.nonceOf) ? Promise.resolve("busy") : this.#claimNow(group);
    return this.#context.turns.run(beneficiary.nonceOf, whenFree, this.#signal);
  }

  async #claimNow(group: ClaimGroup): Promise<PairOutcome> {
    const findings: ClaimFindings = { refused: [], lost: [], raised: [] };
    const send: ClaimWork["send"] = (...claim) => this.#send(...claim);
    const end = await claimFirst({ context: this.#context, findings, send }, group, this.#signal);
    if (findings.lost.length > 0) this.#markLost(findings.lost);
    for (const refused of findings.refused) this.#defer(refused);
    this.#noteRaised(group, findings.raised);
    if (end.kind !== "not_ready") return end.kind === "sent" ? "sent" : "settled";
    this.#context.log.debug("claim_failed.postponed", {
      pair: routeName(this.#input.pair),
      detail: end.detail,
    });
    return "not_ready";
  }

  async #send(...[group, call, fees]: Parameters<ClaimWork["send"]>): ReturnType<ClaimWork["send"]> {
    const { calls, log, raised } = this.#context;
    const { commitments, dest } = group;
    const refusal = await calls.send({
      call,
      kind: "accumulate",
      items: commitments.map((commitment) => ({ commitment, requestCommitment: commitment, target: dest })),
      onJournal: () => this.#noteClaiming(group, fees),
    }, this.#signal);
    if (refusal !== undefined) return refusal;
    for (const commitment of commitments) raised.forget(rowKey({ commitment, dest }));
    log.info("claim_sent.fees", {
      pair: routeName(this.#input.pair),
      requests: commitments.length,
      provedAt: `${group.sourceHeight} and ${group.destHeight}`,
      ...(group.beneficiary === undefined ? {} : { beneficiary: toHex(group.beneficiary.account) }),
    });
    return undefined;
  }

  /** Marks rows as lost whose receipt of ours the destination cannot prove: they must be delivered again first. */
  #markLost(commitments: readonly Hash256[]): void {
    const { ledger, log } = this.#context;
    const { pair } = this.#input;
    ledger.transaction(() => {
      for (const commitment of commitments) {
        ledger.deliveries.setClaimState({ commitment, dest: pair.dest }, "lost");
      }
    });
    log.info("claim_failed.receipts_missing", {
      pair: routeName(pair),
      requests: commitments.length,
      first: commitments[0],
    });
  }

  #noteRaised({ sourceHeight: height }: ClaimGroup, fees: readonly RaisedFee[]): void {
    const { log, raised } = this.#context;
    const { pair } = this.#input;
    for (const fee of fees) {
      const level = raised.add(rowKey({ ...fee, dest: pair.dest })) === 1 ? "info" : "debug";
      log[level]("claim_failed.fee_raised", { pair: routeName(pair), ...fee, height });
    }
  }

  #defer({ commitment, refusal }: RefusedRow): void {
    const { deferred, log } = this.#context;
    const { pair } = this.#input;
    const { dest } = pair;
    const attempts = deferred.add(rowKey({ commitment, dest }));
    log[attempts === 1 ? "warn" : "debug"]("claim_failed.rejected", {
      pair: routeName(pair),
      commitment,
      detail: refusal.detail,
      attempts,
    });
  }
}
