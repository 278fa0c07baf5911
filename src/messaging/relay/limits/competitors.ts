/**
 * Other relayers on a target: a memory of them in the ledger, so that it survives a restart, and a watch over their
 * deliveries until they are final.
 */
import * as z from "zod";
import type { Hex } from "../../../core/encoding/bytes.ts";
import {
  afterCompetitorSeen,
  afterWin,
  type Competition,
  competitorBackoffMs,
  NO_COMPETITION,
  recall,
} from "../decisions/competition.ts";
import type { TargetContext } from "../leg.ts";
import { keepOn } from "./spending.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import { parseRow, transition } from "../messages.ts";

const competition = keepOn(
  "competitors",
  z.object({
    wins: z.number(),
    lostAtMs: z.number().optional(),
    seenAtMs: z.number().optional(),
    competitors: z.array(z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/.test(value))),
  }).transform(({ lostAtMs, seenAtMs, ...known }): Competition => ({ lostAtMs, seenAtMs, ...known })),
);

/** Reads the state of competition on the target. */
export function readCompetition(context: TargetContext): Competition {
  const known = competition.read(context);
  return known === undefined ? NO_COMPETITION : recall(known, context.clock.now());
}

/** Records a successful transaction of ours. Call it within a ledger transaction. */
export function rememberWin(context: TargetContext): void {
  if (!context.target.capabilities.losesGasOnRace) return;
  const old = readCompetition(context);
  const now = afterWin(old);
  if (now !== old) competition.write(context, now);
}

/**
 * Records deliveries of other relayers; a loss without any is one of consensus proofs that were mined after another
 * relayer's. Call it within a ledger transaction.
 */
export function rememberCompetitors(
  context: TargetContext,
  seen: { readonly relayers: readonly Uint8Array[]; readonly isLoss: boolean },
): void {
  if (!context.target.capabilities.losesGasOnRace || (seen.relayers.length === 0 && !seen.isLoss)) return;
  const nowMs = context.clock.now();
  competition.write(context, afterCompetitorSeen(readCompetition(context), { ...seen, nowMs }));
}

/** Computes for how long a message is left to competitors, ms; 0 where a late delivery costs nothing. */
export function readBackoffMs(
  context: TargetContext,
  { seenAtHeight: height }: Pick<MessageRow, "seenAtHeight">,
  pollIntervalMs: number,
): number {
  const { capabilities, relayer: ourself } = context.target;
  if (!capabilities.losesGasOnRace || ourself === undefined) return 0;
  return competitorBackoffMs(readCompetition(context), { height, ourself, pollIntervalMs });
}

/**
 * Longer than any configured chain takes to finality, ms: the age of ended messages that are checked after a start, and
 * at which each is checked for the last time.
 */
const LOOKBACK_MS = 3_600_000;

/** Pause between last checks, ms. */
const LAST_CHECK_MS = 900_000;

/** Poll interval while a delivery is not final yet, ms. */
const POLL_INTERVAL_MS = 15_000;

/** Maximum number of receipts read at once. */
const MAX_RECEIPTS_AT_ONCE = 100;

/** Ended messages of one target, by the time of their end. */
interface Span {
  /** Exclusive. */
  readonly afterMs: number;
  readonly untilMs: number;
}

/**
 * Deliveries of other relayers on one target. They are checked when the block in which they were seen should be final.
 * A reorganisation may have put them into a later block meanwhile, and the next one may remove them from that: each is
 * checked a last time when every such block is final. Which ones were is in the ledger.
 */
export class CompetitorDeliveries {
  readonly #context: TargetContext;
  /** Everything that ended up to this time is final. */
  #finalUntilMs: number;
  /** Deliveries seen up to `untilMs` are final once `height` is. */
  #watched: { readonly untilMs: number; readonly height: bigint } | undefined;
  #pollAfterMs = 0;
  #lastCheckAfterMs: number;

  constructor(context: TargetContext) {
    this.#context = context;
    const nowMs = context.clock.now();
    this.#finalUntilMs = nowMs - LOOKBACK_MS;
    this.#lastCheckAfterMs = nowMs + LAST_CHECK_MS;
    if (context.ledger.meta.find(this.#key) === undefined) this.#noteChecked(this.#finalUntilMs);
  }

  /** Checks once, if it is time; true when a message has to be delivered again. May throw an `RpcFault`. */
  async check(signal: AbortSignal): Promise<boolean> {
    return await this.#checkLast(signal) || await this.#checkFinal(signal);
  }

  get #key(): string {
    return `deliveries of others checked on ${this.#context.target.id.stateMachine}`;
  }

  #noteChecked(untilMs: number): void {
    const { ledger } = this.#context;
    ledger.transaction(() => ledger.meta.write(this.#key, untilMs.toString()));
  }

  async #checkLast(signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#context.clock.now();
    if (nowMs < this.#lastCheckAfterMs) return false;
    this.#lastCheckAfterMs = nowMs + LAST_CHECK_MS;
    const span = {
      afterMs: Number(this.#context.ledger.meta.find(this.#key) ?? 0),
      untilMs: nowMs - LOOKBACK_MS,
    };
    if (this.#page(span, 1).length === 0) {
      this.#noteChecked(span.untilMs);
      return false;
    }
    const height = await this.#context.target.reads.fetchFinalHeight(signal);
    const { hasChanges, isSure } = await this.#confirm(span, height, signal);
    if (isSure) this.#noteChecked(span.untilMs);
    return hasChanges;
  }

  async #checkFinal(signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#context.clock.now();
    if (nowMs < this.#pollAfterMs) return false;
    this.#pollAfterMs = nowMs + POLL_INTERVAL_MS;
    if (this.#watched === undefined) {
      // Rows of the current millisecond may still be written.
      const untilMs = nowMs - 1;
      if (this.#page({ afterMs: this.#finalUntilMs, untilMs }, 1).length > 0) {
        this.#watched = { untilMs, height: await this.#context.target.reads.fetchHeight(signal) };
      }
      return false;
    }
    const { untilMs, height } = this.#watched;
    if (await this.#context.target.reads.fetchFinalHeight(signal) < height) return false;
    const { hasChanges, isSure } = await this.#confirm(
      { afterMs: this.#finalUntilMs, untilMs },
      height,
      signal,
    );
    if (!isSure) return hasChanges; // checked again later
    this.#finalUntilMs = untilMs;
    this.#watched = undefined;
    this.#pollAfterMs = 0;
    return hasChanges;
  }

  #page(span: Span, limit: number, afterKey?: MessageRow): readonly MessageRow[] {
    const target = this.#context.target.id.stateMachine;
    return this.#context.ledger.messages.listDeliveredByOther({ ...span, target, limit, afterKey });
  }

  /** Reads the receipts of messages that ended then; those that certainly have none at `height` are due again. */
  async #confirm(
    span: Span,
    height: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly hasChanges: boolean; readonly isSure: boolean }> {
    let hasChanges = false;
    let isSure = true;
    let last: MessageRow | undefined;
    for (;;) {
      const rows = this.#page(span, MAX_RECEIPTS_AT_ONCE, last);
      if (rows.length === 0) return { hasChanges, isSure };
      last = rows.at(-1);
      const receipts = await this.#context.target.reads.fetchReceipts(rows.map(parseRow), signal);
      const missing = rows.filter((_, index) => receipts[index] === undefined);
      if (missing.length === 0) continue;
      // A lagging node has not seen them yet: delivering again would waste gas.
      const certain = await this.#context.target.certain.fetchCertainReceipts(
        missing.map(parseRow),
        { height },
        signal,
      );
      if (certain.some(({ kind }) => kind === "unsure")) isSure = false;
      const gone = missing.filter((_, index) => {
        const receipt = certain[index];
        return receipt?.kind === "certain" && receipt.value === undefined;
      });
      if (gone.length === 0) continue;
      hasChanges = true;
      this.#makeDue(gone);
    }
  }

  /** Makes messages due again whose deliveries were reorganised away. */
  #makeDue(gone: readonly MessageRow[]): void {
    const { ledger, clock } = this.#context;
    ledger.transaction(() => {
      for (const { commitment, target } of gone) {
        const row = ledger.messages.find(commitment, target);
        if (row?.state !== "delivered_by_other") continue;
        const detail = "the receipt of another relayer is gone";
        transition(this.#context, row, { to: "ready", detail, nextAttemptAtMs: clock.now() });
      }
    });
  }
}
