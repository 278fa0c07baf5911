/**
 * Other relayers on a target: a memory of them in the ledger, so that it survives a restart, and a watch over their
 * deliveries until they are final.
 */
import { z } from "zod";
import type { Chain } from "../../../core/chains/port.ts";
import type { Hex } from "../../../core/encoding/bytes.ts";
import {
  afterCompetitorSeen,
  afterWin,
  type Competition,
  NO_COMPETITION,
  recall,
} from "../decisions/competition.ts";
import type { TargetContext } from "../leg.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import { parseRow, transition } from "../messages.ts";

const competitionSchema = z.object({
  wins: z.number(),
  lostAtMs: z.number().optional(),
  seenAtMs: z.number().optional(),
  competitors: z.array(z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/.test(value))),
});

/** True when a late delivery costs gas; refused unsigned extrinsics cost nothing. */
export function losesGasOnRace(target: Pick<Chain, "capabilities">): boolean {
  return target.capabilities.losesGasOnRace;
}

/** Reads the state of competition on the target. */
export function readCompetition(context: TargetContext): Competition {
  const text = context.ledger.meta.find(competitionKey(context.target));
  if (text === undefined) return NO_COMPETITION;
  const { wins, lostAtMs, seenAtMs, competitors } = competitionSchema.parse(JSON.parse(text));
  return recall({ wins, lostAtMs, seenAtMs, competitors }, context.clock.now());
}

/** Records a successful transaction of ours. Call it within a ledger transaction. */
export function rememberWin(context: TargetContext): void {
  if (!losesGasOnRace(context.target)) return;
  const old = readCompetition(context);
  const now = afterWin(old);
  if (now !== old) writeCompetition(context, now);
}

/** Records deliveries of other relayers. Call it within a ledger transaction. */
export function rememberCompetitors(
  context: TargetContext,
  seen: { readonly relayers: readonly Uint8Array[]; readonly isLoss: boolean },
): void {
  if (seen.relayers.length > 0) noteCompetition(context, seen);
}

/** Records consensus proofs of ours that were mined after another relayer's. Call it within a ledger transaction. */
export function rememberWastedProofs(context: TargetContext): void {
  noteCompetition(context, { relayers: [], isLoss: true });
}

function noteCompetition(
  context: TargetContext,
  seen: { readonly relayers: readonly Uint8Array[]; readonly isLoss: boolean },
): void {
  if (!losesGasOnRace(context.target)) return;
  const nowMs = context.clock.now();
  writeCompetition(context, afterCompetitorSeen(readCompetition(context), { ...seen, nowMs }));
}

function writeCompetition(context: TargetContext, competition: Competition): void {
  context.ledger.meta.write(competitionKey(context.target), JSON.stringify(competition));
}

function competitionKey(target: Chain): string {
  return `competitors on ${target.id.stateMachine}`;
}

/** Age of ended messages that are checked after a start, ms: longer than any configured chain takes to finality. */
const LOOKBACK_MS = 3_600_000;

/** Poll interval while a delivery is not final yet, ms. */
const POLL_INTERVAL_MS = 15_000;

/** Maximum number of receipts read at once. */
const MAX_RECEIPTS_AT_ONCE = 100;

/** Deliveries of other relayers on one target. */
export class CompetitorDeliveries {
  readonly #context: TargetContext;
  /** Everything that ended up to this time is final. */
  #finalUntilMs: number;
  /** Deliveries seen up to `untilMs` are final once `height` is. */
  #watched: { readonly untilMs: number; readonly height: bigint } | undefined;
  #pollAfterMs = 0;

  constructor(context: TargetContext) {
    this.#context = context;
    this.#finalUntilMs = context.clock.now() - LOOKBACK_MS;
  }

  /** Checks once, if it is time; true when a message has to be delivered again. May throw an `RpcFault`. */
  async check(signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#context.clock.now();
    if (nowMs < this.#pollAfterMs) return false;
    this.#pollAfterMs = nowMs + POLL_INTERVAL_MS;
    if (this.#watched === undefined) {
      // Rows of the current millisecond may still be written.
      const untilMs = nowMs - 1;
      if (this.#page(untilMs, 1).length > 0) {
        this.#watched = { untilMs, height: await this.#context.target.reads.fetchHeight(signal) };
      }
      return false;
    }
    const { untilMs, height } = this.#watched;
    if (await this.#context.target.reads.fetchFinalHeight(signal) < height) return false;
    const { hasChanges, isSure } = await this.#confirm({ untilMs, height }, signal);
    if (!isSure) return hasChanges; // checked again later
    this.#finalUntilMs = untilMs;
    this.#watched = undefined;
    this.#pollAfterMs = 0;
    return hasChanges;
  }

  #page(untilMs: number, limit: number, afterKey?: MessageRow): readonly MessageRow[] {
    const target = this.#context.target.id.stateMachine;
    return this.#context.ledger.messages.listDeliveredByOther({
      target,
      afterMs: this.#finalUntilMs,
      untilMs,
      limit,
      afterKey,
    });
  }

  /** Reads the receipts of messages that ended up to then; those that certainly have none are due again. */
  async #confirm(
    { untilMs, height }: { readonly untilMs: number; readonly height: bigint },
    signal: AbortSignal,
  ): Promise<{ readonly hasChanges: boolean; readonly isSure: boolean }> {
    let hasChanges = false;
    let isSure = true;
    let last: MessageRow | undefined;
    for (;;) {
      const rows = this.#page(untilMs, MAX_RECEIPTS_AT_ONCE, last);
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
