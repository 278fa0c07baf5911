/**
 * Context of the claims: that of all fee workers, and the state that is kept between rounds. With it the events of
 * delivered requests on their way to a claim, and the review of lost ones.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { judgeLost, type RaisedFee } from "./claim_attempt.ts";
import { type Deferred, type Doubts, type FeeContext, isPassing } from "../fee_context.ts";
import type { Chain } from "../../../core/chains/port.ts";
import { UNSURE } from "../../../core/chains/reads.ts";
import type { DeliveryRow } from "../../ledger/ledger.ts";
import { parseRow, transition } from "../../relay/messages.ts";

/**
 * Maximum wait for one request, ms: longer than any chain's height takes to reach the hub, and short enough that
 * repeated raises cannot block a claim indefinitely.
 */
const MAX_WAIT_MS = 86_400_000;

interface Entry {
  readonly sinceMs: number;
  /** Height of the source whose state holds an older fee. */
  readonly height: bigint;
}

/**
 * Requests whose fee was raised after the height of the source that the hub can verify: a claim now would only be paid
 * the old fee. They wait until the hub knows a newer height, for a limited time. In memory only: after a restart every
 * fee is compared again.
 */
export class RaisedFees {
  readonly #context: Pick<FeeContext, "clock" | "log">;
  readonly #entries = new Map<string, Entry>();

  constructor(context: Pick<FeeContext, "clock" | "log">) {
    this.#context = context;
  }

  /** Records that the state at `height` does not hold the latest fee yet. */
  add(key: string, fee: RaisedFee, at: { readonly pair: ClaimRoute; readonly height: bigint }): void {
    const old = this.#entries.get(key);
    this.#entries.set(key, { sinceMs: old?.sinceMs ?? this.#context.clock.now(), height: at.height });
    this.#context.log[old === undefined ? "info" : "debug"](
      "fee_raised",
      { pair: routeName(at.pair), ...fee, height: at.height },
    );
  }

  /**
   * True while the hub can verify nothing newer than the height with the older fee. @param matured its newest height
   */
  waits(key: string, matured: bigint): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.height >= matured && !this.isOverdue(key);
  }

  /** True when the request has waited long enough: the fee that the hub knows is claimed. */
  isOverdue(key: string): boolean {
    const sinceMs = this.#entries.get(key)?.sinceMs;
    return sinceMs !== undefined && this.#context.clock.now() - sinceMs >= MAX_WAIT_MS;
  }

  /** Ends the wait. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** Number of waiting requests. */
  get size(): number {
    return this.#entries.size;
  }
}

/** Chain on which requests were paid for, and chain to which they were delivered. */
export interface ClaimRoute {
  readonly source: StateMachine;
  readonly dest: StateMachine;
}

/** Outcome for some rows. */
export type ClaimResult =
  /** Claimed by us, in a final block of the hub. */
  | "claimed"
  | "claimed_already"
  | "no_fee"
  /** The hub does not know the request. */
  | "unclaimable"
  /** The destination has no receipt of ours. */
  | "lost"
  /** The hub refuses it now; retried later. */
  | "refused"
  /** Chains could not be reached; retried later. */
  | "unreachable";

/** Event for some rows of one pair. */
export interface ClaimEvent extends ClaimRoute {
  readonly result: ClaimResult;
  readonly count: number;
  /** Units of the source's fee token. */
  readonly fee: bigint;
}

/** Formats a pair for logs, e.g. `EVM-1 -> EVM-56`. */
export function routeName({ source, dest }: ClaimRoute): string {
  return `${source} -> ${dest}`;
}

/** Context of claims, for one run of rounds. */
export interface ClaimContext extends FeeContext {
  /** Rows that the hub refused. */
  readonly deferred: Deferred;
  readonly raised: RaisedFees;
  /** What would end a row without a claim. */
  readonly doubts: Doubts;
  /** Called with everything that happens to rows. */
  readonly onEvent: (event: ClaimEvent) => void;
}

/** Key of a row in the lists of deferred rows and raised fees. */
export function rowKey(row: { readonly commitment: Hash256; readonly dest: StateMachine }): string {
  return `${row.commitment} ${row.dest}`;
}

/** Pause before a missing receipt is read again, ms: a few final blocks. */
const RECHECK_MS = 60_000;
/** Maximum number of rows per round. */
const MAX_ROWS = 100;

/**
 * Checks rows again whose receipt was missing when it was to be proved, at a newer final height; true when one of them
 * changed. A receipt of ours makes the row claimable; without a receipt the message returns to its leg; another
 * relayer's receipt ends it. Rows of a destination that does not answer are checked later. Source:
 * docs/protocol/messaging.md section 14.2, step 5.
 */
export async function reviewLost(context: FeeContext, signal: AbortSignal): Promise<boolean> {
  const nowMs = context.clock.now();
  const due = context.ledger.deliveries.listByClaimState("lost", { limit: MAX_ROWS })
    .filter(({ updatedAtMs }) => nowMs - updatedAtMs >= RECHECK_MS);
  const byDest = new Map<StateMachine, DeliveryRow[]>();
  for (const row of due) byDest.set(row.dest, [...byDest.get(row.dest) ?? [], row]);
  let hasChanges = false;
  for (const [name, rows] of byDest) {
    const dest = context.chains.get(name);
    if (dest === undefined || !context.isUp(name)) continue;
    try {
      hasChanges = await reviewOn(context, { dest, rows }, signal) || hasChanges;
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
      context.log.debug("receipt_search_failed", { chain: name, error });
    }
  }
  return hasChanges;
}

/** Lost rows of one destination. */
interface LostRows {
  readonly dest: Chain;
  readonly rows: readonly DeliveryRow[];
}

async function reviewOn(
  context: FeeContext,
  { dest, rows }: LostRows,
  signal: AbortSignal,
): Promise<boolean> {
  const height = await dest.reads.fetchFinalHeight(signal);
  const { relayers } = await dest.proofs.proveReceipts(
    rows.map(({ commitment }) => commitment),
    { height },
    signal,
  );
  const unsure = await findUnsure(context, { dest, rows, relayers, height }, signal);
  context.ledger.transaction(() => {
    for (const [index, row] of rows.entries()) {
      if (!unsure.has(row)) applyVerdict(context, row, relayers[index]);
    }
  });
  return unsure.size < rows.length;
}

/** Finds rows without our receipt in the proof on which the endpoints disagree: they are checked later. */
async function findUnsure(
  context: FeeContext,
  shown: LostRows & {
    readonly relayers: readonly (Uint8Array | undefined)[];
    readonly height: bigint;
  },
  signal: AbortSignal,
): Promise<ReadonlySet<DeliveryRow>> {
  const doubtful = shown.rows.flatMap((row, index) => {
    const relayer = shown.relayers[index];
    const message = context.ledger.messages.find(row.commitment, row.dest);
    const isOurs = judgeLost(relayer, row.relayer) === "unclaimed";
    return isOurs || message === undefined ? [] : [{ row, relayer, message: parseRow(message) }];
  });
  const messages = doubtful.map(({ message }) => message);
  const certain = await shown.dest.certain.fetchCertainReceipts(messages, { height: shown.height }, signal);
  return new Set(
    doubtful.filter(({ row, relayer }, index) => {
      const receipt = certain[index] ?? UNSURE;
      return receipt.kind === "unsure" ||
        judgeLost(receipt.value, row.relayer) !== judgeLost(relayer, row.relayer);
    }).map(({ row }) => row),
  );
}

function applyVerdict(context: FeeContext, row: DeliveryRow, receipt: Uint8Array | undefined): void {
  const { deliveries, messages } = context.ledger;
  const now = deliveries.find(row.commitment, row.dest);
  if (now?.claimState !== "lost") return;
  const verdict = judgeLost(receipt, row.relayer);
  context.log.info("receipt_searched", {
    pair: routeName(row),
    commitment: row.commitment,
    verdict,
  });
  if (verdict === "unclaimed") {
    deliveries.setClaimState(row, "unclaimed");
    return;
  }
  deliveries.remove(row.commitment, row.dest);
  const message = messages.find(row.commitment, row.dest);
  if (message?.state !== "delivered") return;
  if (verdict === "drop") {
    transition(context, message, { to: "delivered_by_other", reason: "handled_by_other" });
  } else {
    const nextAttemptAtMs = context.clock.now();
    transition(context, message, { to: "ready", detail: "the receipt is gone", nextAttemptAtMs });
  }
}
