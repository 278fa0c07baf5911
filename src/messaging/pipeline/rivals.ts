/** What is remembered of other relayers on a sink, kept in the ledger so that a restart does not forget it. */
import { z } from "zod";
import type { Chain } from "../../core/chains/chain.ts";
import type { Hex } from "../../core/protocol/bytes.ts";
import { afterSighting, afterWin, NO_RIVALRY, recall, type Rivalry } from "../decisions/rivalry.ts";
import type { PipelineDeps } from "./leg.ts";

const rivalryShape = z.object({
  wins: z.number(),
  lostAtMs: z.number().optional(),
  seenAtMs: z.number().optional(),
  rivals: z.array(z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/.test(value))),
});

/** True where a delivery that comes too late costs money: unsigned extrinsics are refused for nothing. */
export function isRaceCostly(sink: Pick<Chain, "family">): boolean {
  return sink.family === "evm";
}

/** What is remembered of others on the sink. */
export function readRivalry(deps: PipelineDeps, sink: Chain): Rivalry {
  const text = deps.ledger.meta.find(nameOf(sink));
  if (text === undefined) return NO_RIVALRY;
  const { wins, lostAtMs, seenAtMs, rivals } = rivalryShape.parse(JSON.parse(text));
  return recall({ wins, lostAtMs, seenAtMs, rivals }, deps.clock.now());
}

/** Remembers that a transaction of ours went through. Call it within a ledger transaction. */
export function rememberWin(deps: PipelineDeps, sink: Chain): void {
  if (!isRaceCostly(sink)) return;
  const old = readRivalry(deps, sink);
  const now = afterWin(old);
  if (now !== old) write(deps, sink, now);
}

/** Remembers deliveries of others. Call it within a ledger transaction. */
export function rememberRivals(
  deps: PipelineDeps,
  sink: Chain,
  relayers: readonly Uint8Array[],
  isLoss: boolean,
): void {
  if (!isRaceCostly(sink) || relayers.length === 0) return;
  const seen = { relayers, nowMs: deps.clock.now(), isLoss };
  write(deps, sink, afterSighting(readRivalry(deps, sink), seen));
}

/** Remembers proofs of ours that were mined behind another relayer's. Call it within a ledger transaction. */
export function rememberVainProofs(deps: PipelineDeps, sink: Chain): void {
  if (!isRaceCostly(sink)) return;
  const seen = { relayers: [], nowMs: deps.clock.now(), isLoss: true };
  write(deps, sink, afterSighting(readRivalry(deps, sink), seen));
}

function write(deps: PipelineDeps, sink: Chain, rivalry: Rivalry): void {
  deps.ledger.meta.write(nameOf(sink), JSON.stringify(rivalry));
}

function nameOf(sink: Chain): string {
  return `rivals on ${sink.id.stateMachine}`;
}
