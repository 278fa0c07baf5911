/** Memory of other relayers on a target, kept in the ledger so that it survives a restart. */
import { z } from "zod";
import type { Chain } from "../../core/chains/port.ts";
import type { Hex } from "../../core/encoding/bytes.ts";
import {
  afterCompetitorSeen,
  afterWin,
  type Competition,
  NO_COMPETITION,
  recall,
} from "./decisions/competition.ts";
import type { PipelineDeps } from "./leg.ts";

const competitionSchema = z.object({
  wins: z.number(),
  lostAtMs: z.number().optional(),
  seenAtMs: z.number().optional(),
  competitors: z.array(z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/.test(value))),
});

/** True when a late delivery costs gas; refused unsigned extrinsics cost nothing. */
export function losesGasOnRace(target: Pick<Chain, "family">): boolean {
  return target.family === "evm";
}

/** Reads the state of competition on the target. */
export function readCompetition(deps: PipelineDeps, target: Chain): Competition {
  const text = deps.ledger.meta.find(nameOf(target));
  if (text === undefined) return NO_COMPETITION;
  const { wins, lostAtMs, seenAtMs, competitors } = competitionSchema.parse(JSON.parse(text));
  return recall({ wins, lostAtMs, seenAtMs, competitors }, deps.clock.now());
}

/** Records a successful transaction of ours. Call it within a ledger transaction. */
export function rememberWin(deps: PipelineDeps, target: Chain): void {
  if (!losesGasOnRace(target)) return;
  const old = readCompetition(deps, target);
  const now = afterWin(old);
  if (now !== old) write(deps, target, now);
}

/** Records deliveries of other relayers. Call it within a ledger transaction. */
export function rememberCompetitors(
  deps: PipelineDeps,
  target: Chain,
  relayers: readonly Uint8Array[],
  isLoss: boolean,
): void {
  if (!losesGasOnRace(target) || relayers.length === 0) return;
  const seen = { relayers, nowMs: deps.clock.now(), isLoss };
  write(deps, target, afterCompetitorSeen(readCompetition(deps, target), seen));
}

/** Records consensus proofs of ours that were mined after another relayer's. Call it within a ledger transaction. */
export function rememberVainProofs(deps: PipelineDeps, target: Chain): void {
  if (!losesGasOnRace(target)) return;
  const seen = { relayers: [], nowMs: deps.clock.now(), isLoss: true };
  write(deps, target, afterCompetitorSeen(readCompetition(deps, target), seen));
}

function write(deps: PipelineDeps, target: Chain, competition: Competition): void {
  deps.ledger.meta.write(nameOf(target), JSON.stringify(competition));
}

function nameOf(target: Chain): string {
  return `competitors on ${target.id.stateMachine}`;
}
