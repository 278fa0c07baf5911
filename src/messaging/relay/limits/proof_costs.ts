/**
 * Consensus proofs of the hub that were wasted on a target: those that came after another relayer's, and those
 * that went ahead of a message which did not follow. Kept in the ledger, so that settling and legs agree, also after a
 * restart. Call everything here within a ledger transaction.
 */
import * as z from "zod";
import { toHash256 } from "../../../core/encoding/bytes.ts";
import { DAY_MS } from "../../../core/pricing/loss_bound.ts";
import type { Leg, TargetContext } from "../leg.ts";
import type { Candidate, Judge } from "../messages.ts";
import { keepOn } from "./spending.ts";
import { pairName, toSuspensionKey } from "./suspension.ts";

/** Time of the last proof that came second, Unix ms. */
const second = keepOn("second_proof", z.number());

/** Time for which a proof that came second is remembered, ms (1 hour). */
const REMEMBERED_MS = 3_600_000;

/** Time that the other relayer is given for its next proof besides two polls, ms. */
const PATIENCE_MS = 30_000;

/** Records whether proofs of ours were mined before all others. One that was ends the patience with other relayers. */
export function noteProofs(context: TargetContext, wereFirst: boolean): void {
  if (!wereFirst) second.write(context, context.clock.now());
  else if (second.read(context) !== undefined) second.write(context, undefined);
}

/** Time for which proofs are left to another relayer before messages carry them, ms; 0 unless ours came second. */
export function readProofPatienceMs(leg: Leg): number {
  const agoMs = leg.clock.now() - (second.read(leg) ?? -Infinity);
  return agoMs >= 0 && agoMs < REMEMBERED_MS ? PATIENCE_MS + 2 * leg.pollIntervalMs : 0;
}

/** Maximum number of remembered purchases. */
const MAX_BOUGHT = 256;

/** Proofs that went ahead of a message. */
const bought = keepOn(
  "bought_proofs",
  z.array(z.object({
    /** Sender and receiver. */
    pair: z.string(),
    commitment: z.string().transform(toHash256),
    /** Number of proofs that the message needs after these. */
    left: z.number(),
    atMs: z.number(),
  })),
);

function pairOf({ message, row }: Candidate): string {
  return pairName(toSuspensionKey(message, row.target));
}

/** Records that proofs went ahead of these messages; `left`: as many must follow. */
export function noteBought(leg: Leg, candidates: readonly Candidate[], left: number): void {
  const pairs = new Map(candidates.map((candidate) => [pairOf(candidate), candidate.row.commitment]));
  const others = (bought.read(leg) ?? []).filter(({ pair }) => !pairs.has(pair));
  const news = [...pairs].map(([pair, commitment]) => ({ pair, commitment, left, atMs: leg.clock.now() }));
  bought.write(leg, [...others, ...news].slice(-MAX_BOUGHT));
}

/**
 * Judges messages of pairs for which a proof was bought within a day without a delivery after it. A message that needs
 * several transactions with proofs may have all of them.
 */
export function judgeBought(leg: Leg): Judge {
  const nowMs = leg.clock.now();
  const recent = new Map(
    (bought.read(leg) ?? []).filter(({ atMs }) => atMs <= nowMs && nowMs < atMs + DAY_MS)
      .map((purchase) => [purchase.pair, purchase]),
  );
  return (candidate) => {
    const purchase = recent.get(pairOf(candidate));
    if (purchase === undefined) return undefined;
    if (purchase.commitment === candidate.row.commitment && purchase.left > 0) return undefined;
    const before = leg.ledger.messages.find(purchase.commitment, leg.target.id.stateMachine);
    if (before === undefined || before.state.startsWith("delivered")) return undefined;
    return {
      reason: "consensus_proofs_unprofitable",
      retryClass: "transient",
      detail: `proofs went ahead of ${purchase.commitment} of the same modules, which was not delivered`,
    };
  };
}
