/**
 * Claims the fees of deliveries on the hub. A round settles pending claims, checks lost receipts, and processes each
 * pair: the worker repeats it indefinitely, the command `accumulate-fees` until nothing is left. At most four pairs run
 * concurrently; claims of one pair are sequential (docs/protocol/messaging.md section 14.2). Rounds are driven by the
 * database, so nothing is lost if one stops at any point.
 */
import { toHex } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { mapLimited } from "../../../core/runtime/limit.ts";
import { WaitNotices } from "../../../core/runtime/waiting.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import { type ClaimContext, type PairOutcome, PairPass, routeName, rowKey } from "./claim_pair.ts";
import { Deferred, type FeeContext, feeWorker } from "../fee_context.ts";
import type { HubCallEnd } from "../hub_calls.ts";
import type { Chain } from "../../../core/chains/port.ts";
import { type KnownHeights, MaturedHeights } from "../../../core/chains/matured_heights.ts";
import type { ClaimPair, DeliveryRow, SubmissionRow } from "../../ledger/ledger.ts";

/** Creates the worker that claims fees. @param everyMs pause between rounds */
export function claimsWorker(context: FeeContext, everyMs: number): Worker {
  const notices = new WaitNotices(context);
  return feeWorker(context, "claims", () => {
    const rounds = new ClaimsRounds(context);
    return async (signal) => {
      const { underWay } = await rounds.run(signal);
      if (underWay === 0) notices.done("claims");
      else notices.waiting("claims", { event: "long_wait.claims", fields: { underWay } });
      return everyMs;
    };
  });
}

/** Maximum number of pairs processed concurrently. */
const PAIRS_AT_ONCE = 4;

/** Outcome of one pair in a round. */
type PairResult = PairOutcome | "not_configured" | "down" | "unreachable" | "backing_off";

/** A pair with its outcome. */
export interface PairReport {
  readonly pair: ClaimPair;
  readonly result: PairResult;
}

/** Result of one round. */
export interface RoundReport {
  /** True when something was sent, settled or deferred: another round may find more. */
  readonly hasChanges: boolean;
  /** Number of claims whose outcome is open. */
  readonly underWay: number;
  readonly pairs: readonly PairReport[];
}

/**
 * Claim rounds and the state kept between them: heights in their challenge period, refused rows, unreachable chains.
 */
export class ClaimsRounds {
  readonly #context: ClaimContext;
  readonly #heights: MaturedHeights;
  readonly #pairs: Deferred;
  readonly #reported = new Set<string>();

  constructor(context: FeeContext) {
    const list = (): Deferred => new Deferred(context, "hub_waiting");
    this.#context = { ...context, deferred: list(), raised: list(), doubts: list() };
    this.#heights = new MaturedHeights(context.hub);
    this.#pairs = new Deferred(context, "transient");
  }

  /** Number of consecutive times that the chains of a pair did not answer or the hub refused it. */
  failuresOf(pair: ClaimPair): number {
    return this.#pairs.attempts(pairKey(pair));
  }

  /** Number of times that the hub refused to pay for a delivery. */
  refusalsOf(row: Parameters<typeof rowKey>[0]): number {
    return this.#context.deferred.attempts(rowKey(row));
  }

  /** Runs one pass. Faults of the hub while claims are looked up are thrown; faults of a pair affect only that pair. */
  run(signal: AbortSignal): Promise<RoundReport> {
    return this.#context.claimTurn.run(() => this.#runInTurn(signal), signal);
  }

  async #runInTurn(signal: AbortSignal): Promise<RoundReport> {
    const context = this.#context;
    const settled = await settleClaims(context, signal);
    const pairs = context.ledger.deliveries.listClaimPairs();
    const heights = new Map<StateMachine, Promise<KnownHeights>>();
    const reports = await mapLimited(
      pairs,
      { max: PAIRS_AT_ONCE, signal },
      (pair, inner) => this.#runPair(pair, heights, inner),
    );
    const isNews = ({ result }: PairReport): boolean => result === "sent" || result === "settled";
    return {
      hasChanges: settled || reports.some(isNews),
      underWay: context.calls.listOpen("accumulate").length,
      pairs: reports,
    };
  }

  async #runPair(
    pair: ClaimPair,
    heights: Map<StateMachine, Promise<KnownHeights>>,
    signal: AbortSignal,
  ): Promise<PairReport> {
    const context = this.#context;
    const key = pairKey(pair);
    const source = context.chains.get(pair.source);
    const dest = context.chains.get(pair.dest);
    if (source === undefined || dest === undefined) {
      this.#logOnce(pair);
      return { pair, result: "not_configured" };
    }
    if (!context.isUp(pair.source) || !context.isUp(pair.dest)) return { pair, result: "down" };
    if (this.#pairs.has(key)) return { pair, result: "backing_off" };
    const claim = async (): Promise<PairOutcome> => {
      const readOnce = ({ id }: Chain): Promise<KnownHeights> => {
        const known = heights.get(id.stateMachine) ?? this.#heights.read(id, signal);
        heights.set(id.stateMachine, known);
        return known;
      };
      const [sourceHeights, destHeights] = await Promise.all([readOnce(source), readOnce(dest)]);
      return await new PairPass(context, { pair, source, dest, sourceHeights, destHeights }, signal).run();
    };
    const fields = { event: "read_failed.claims", pair: routeName(pair), signal } as const;
    return { pair, result: await this.#pairs.attempt(key, claim, fields) ?? "unreachable" };
  }

  #logOnce(pair: ClaimPair): void {
    const name = routeName(pair);
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#context.log.warn("claim_failed.chain_missing", {
      pair: name,
      requests: pair.count,
    });
  }
}

function pairKey(pair: ClaimPair): string {
  return `${pair.source} ${pair.dest} ${toHex(pair.relayer)}`;
}

/**
 * Checks every open claim once; true when one of them advanced. A row counts as claimed only when a final block of the
 * hub says so (I7). Faults of the hub are thrown.
 */
async function settleClaims(
  context: ClaimContext,
  signal: AbortSignal,
): Promise<boolean> {
  const apply = async (row: SubmissionRow, end: HubCallEnd): Promise<void> => {
    if (end.state === "final") return await applyFinal(context, row, end, signal);
    context.calls.end(row, end);
    context.log.info("claim_failed.ineffective", { extrinsic: row.submission.hash, detail: end.detail });
  };
  const hasChanges = await context.calls.settle("accumulate", apply, signal);
  return releaseOrphans(context) || hasChanges;
}

/** Marks what the hub has paid; rows that it skipped are claimed again. */
async function applyFinal(
  context: ClaimContext,
  claim: SubmissionRow,
  end: Extract<HubCallEnd, { state: "final" }>,
  signal: AbortSignal,
): Promise<void> {
  const { id, submission: { hash } } = claim;
  const hubBlock = end.block.height;
  const { submissions, deliveries } = context.ledger;
  const items = submissions.itemsOf(id);
  const statuses = await context.hub.accounts.fetchClaimStatus(
    items.map(({ commitment }) => commitment),
    signal,
  );
  const paid: DeliveryRow[] = [];
  const unpaid: DeliveryRow[] = [];
  context.calls.end(claim, end, () => {
    for (const [index, item] of items.entries()) {
      const isPaid = statuses[index] === "claimed";
      submissions.settleItems(id, [item.commitment], isPaid ? "handled" : "not_handled");
      const row = deliveries.find(item.commitment, item.target);
      if (row === undefined || row.claimState === "claimed") continue;
      if (isPaid) deliveries.setClaimState(row, "claimed", hubBlock);
      (isPaid ? paid : unpaid).push(row);
    }
  });
  for (const row of unpaid) context.deferred.add(rowKey(row));
  const [first] = paid;
  if (first === undefined) return;
  await context.units.tryLearn(context.chains.get(first.source), signal);
  context.log.info("fees_claimed", {
    pair: routeName(first),
    requests: paid.length,
    fees: context.units.text(first.source, paid.reduce((sum, row) => sum + (row.fee ?? 0n), 0n)),
    hubBlock,
    extrinsic: hash,
  });
}

/** Maximum number of rows checked in one round. */
const MAX_ORPHANS = 500;

/**
 * Makes rows claimable again that count as under way although no open claim carries them: their claim had no effect, or
 * the hub refused it. What it has paid is found out before they are claimed. True when there were some.
 */
function releaseOrphans({ calls, ledger }: ClaimContext): boolean {
  const { submissions, deliveries } = ledger;
  const carried = new Set(
    calls.listOpen("accumulate").flatMap(({ id }) => submissions.itemsOf(id))
      .map(({ commitment, target }) => rowKey({ commitment, dest: target })),
  );
  const orphans = deliveries.listByClaimState("claiming", { limit: MAX_ORPHANS })
    .filter((row) => !carried.has(rowKey(row)));
  ledger.transaction(() => {
    for (const { commitment, dest } of orphans) deliveries.setClaimState({ commitment, dest }, "unclaimed");
  });
  return orphans.length > 0;
}
