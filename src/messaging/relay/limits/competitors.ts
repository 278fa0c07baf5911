/** Other relayers on a target: a memory of them in the ledger, so that it survives a restart. */
import * as z from "zod";
import type { Hex } from "../../../core/encoding/bytes.ts";
import {
  afterCompetitorSeen,
  afterWin,
  type Competition,
  competitorBackoffMs,
  NO_COMPETITION,
  recall,
  type SeenCompetitors,
} from "../decisions/competition.ts";
import type { TargetContext } from "../leg.ts";
import { keepOn } from "./spending.ts";
import type { MessageRow } from "../../ledger/ledger.ts";

const competition = keepOn(
  "competitors",
  z.object({
    wins: z.number(),
    lostAtMs: z.number().optional(),
    seenAtMs: z.number().optional(),
    competitor: z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/.test(value)).optional(),
    batchLimit: z.number().optional(),
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
export function rememberCompetitors(context: TargetContext, seen: SeenCompetitors): void {
  if (!context.target.capabilities.losesGasOnRace || (seen.relayers.length === 0 && !seen.isLoss)) return;
  const nowMs = context.clock.now();
  competition.write(context, afterCompetitorSeen(readCompetition(context), { ...seen, nowMs }));
}

/** Most messages that one transaction may carry now, since one was lost to another relayer; `Infinity`: any number. */
export function readBatchLimit(context: TargetContext): number {
  return readCompetition(context).batchLimit ?? Infinity;
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
