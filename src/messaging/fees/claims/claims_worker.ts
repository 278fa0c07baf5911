/**
 * Claims the fees of deliveries on the hub. A round settles pending claims, checks lost receipts, and processes each
 * pair: the worker repeats it indefinitely, the command `accumulate-fees` until nothing is left. At most four pairs run
 * concurrently; claims of one pair are sequential (docs/protocol/messaging.md section 14.2). Rounds are driven by the
 * database, so nothing is lost if one stops at any point.
 */
import { toHex } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { pauseOf } from "../../../core/runtime/clock.ts";
import { mapLimited } from "../../../core/runtime/limit.ts";
import { nextDelayMs, transientBackoff } from "../../../core/runtime/retry.ts";
import { WaitNotices } from "../../../core/runtime/waiting.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import { type ClaimContext, type ClaimEvent, RaisedFees, routeName, rowKey } from "./claim_context.ts";
import { claimPair, type PairOutcome } from "./claim_pair.ts";
import { settleClaims } from "./claim_settle.ts";
import { reviewLost } from "./lost_receipts.ts";
import { Deferred } from "../deferred.ts";
import { type FeeContext, isPassing } from "../fee_context.ts";
import { type KnownHeights, MaturedHeights } from "../../../core/chains/matured_heights.ts";
import type { ClaimPair } from "../../ledger/ledger.ts";

/** Creates the worker that claims fees. @param everyMs pause between rounds */
export function claimsWorker(context: FeeContext, everyMs: number): Worker {
  const notices = new WaitNotices(context);
  return {
    name: "claims",
    run: async (signal) => {
      logUnreadable(context);
      const rounds = new ClaimsRounds(context);
      let failures = 0;
      while (!signal.aborted) {
        let pauseMs = pauseOf(everyMs);
        try {
          const { underWay } = await rounds.run(signal);
          failures = 0;
          if (underWay === 0) notices.done("claims");
          else notices.waiting("claims", { event: "claims_awaited", fields: { underWay } });
        } catch (error) {
          signal.throwIfAborted();
          if (!isPassing(error)) throw error;
          failures++;
          context.log.debug("claims_interrupted", { error });
          pauseMs = Math.max(pauseMs, nextDelayMs(transientBackoff, failures, context.random.fraction()));
        }
        await context.clock.sleep(pauseMs, signal);
      }
    },
  };
}

/** Logs rows whose chains no version of the protocol knows: they are kept for the operator and never processed. */
export function logUnreadable(context: FeeContext): void {
  const count = context.ledger.deliveries.countUnreadable();
  if (count > 0) {
    context.log.error("delivery_records_unreadable", {
      records: count,
    });
  }
}

/** Maximum number of pairs processed concurrently. */
const PAIRS_AT_ONCE = 4;

/** Outcome of one pair in a round. */
export type PairResult = PairOutcome | "not_configured" | "down" | "unreachable" | "backing_off";

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
  readonly #notices: WaitNotices;
  readonly #reported = new Set<string>();

  /** @param onEvent called with everything that happens to rows */
  constructor(context: FeeContext, onEvent: (event: ClaimEvent) => void = () => {}) {
    const [deferred, raised] = [new Deferred(context, "hub_waiting"), new RaisedFees(context)];
    this.#context = { ...context, deferred, raised, onEvent };
    this.#heights = new MaturedHeights(context.hub);
    this.#pairs = new Deferred(context, "transient");
    this.#notices = new WaitNotices(context);
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
    const reviewed = await reviewLost(context, signal);
    const pairs = context.ledger.deliveries.listClaimPairs();
    const heights = new Map<StateMachine, Promise<KnownHeights>>();
    const reports = await mapLimited(
      pairs,
      { max: PAIRS_AT_ONCE, signal },
      (pair, inner) => this.#runPair(pair, heights, inner),
    );
    this.#logRaised();
    const isNews = ({ result }: PairReport): boolean => result === "sent" || result === "settled";
    return {
      hasChanges: settled || reviewed || reports.some(isNews),
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
    try {
      const [sourceHeights, destHeights] = await Promise.all([source, dest].map((chain) => {
        const name = chain.id.stateMachine;
        const known = heights.get(name) ?? this.#heights.read(chain.id, signal);
        heights.set(name, known);
        return known;
      }));
      if (sourceHeights === undefined || destHeights === undefined) throw new Error("A pair has two chains");
      const input = {
        pair,
        source,
        dest,
        sourceHeights,
        destHeights,
      };
      const result = await claimPair(context, input, signal);
      this.#pairs.clear(key);
      return { pair, result };
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
      const failures = this.#pairs.add(key);
      const fields = { pair: routeName(pair), failures, error };
      if (failures === 3) context.log.warn("claims_delayed", fields);
      else context.log.debug("claims_interrupted", fields);
      return { pair, result: "unreachable" };
    }
  }

  #logRaised(): void {
    const requests = this.#context.raised.size;
    if (requests === 0) return this.#notices.done("raised");
    this.#notices.waiting("raised", { event: "raised_fees_awaited", fields: { requests } });
  }

  #logOnce(pair: ClaimPair): void {
    const name = routeName(pair);
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#context.log.warn("claim_chain_missing", {
      pair: name,
      requests: pair.count,
    });
  }
}

function pairKey(pair: ClaimPair): string {
  return `${pair.source} ${pair.dest} ${toHex(pair.relayer)}`;
}
