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
    /** Number of proofs that may follow for messages of the pair. */
    left: z.number(),
    atMs: z.number(),
  })),
);

type Purchase = NonNullable<ReturnType<typeof bought.read>>[number];

function pairOf({ message, row }: Candidate): string {
  return pairName(toSuspensionKey(message, row.target));
}

/** Reads the purchases of the last day whose message was not delivered, by pair. */
function readUnused({ ledger, target, clock }: Leg): ReadonlyMap<string, Purchase> {
  const agoMs = (atMs: number): number => clock.now() - atMs;
  const unused = (bought.read({ ledger, target }) ?? []).filter(({ atMs, commitment }) =>
    agoMs(atMs) >= 0 && agoMs(atMs) < DAY_MS &&
    ledger.messages.find(commitment, target.id.stateMachine)?.state.startsWith("delivered") === false
  );
  return new Map(unused.map((purchase) => [purchase.pair, purchase]));
}

/** Records that proofs went ahead of these messages; `left`: as many must follow. */
export function noteBought(leg: Leg, candidates: readonly Candidate[], left: number): void {
  const before = readUnused(leg);
  const news = candidates.map((candidate): [string, Purchase] => {
    const pair = pairOf(candidate);
    const mayFollow = Math.min(left, (before.get(pair)?.left ?? Infinity) - 1);
    return [pair, { pair, commitment: candidate.row.commitment, left: mayFollow, atMs: leg.clock.now() }];
  });
  bought.write(leg, [...new Map([...before, ...news]).values()].slice(-MAX_BOUGHT));
}

/**
 * Judges messages of pairs for which proofs were bought within a day without a delivery after them. Proofs that must
 * follow may be bought for any message of the pair: one alone may not pay for them.
 */
export function judgeBought(leg: Leg): Judge {
  const unused = readUnused(leg);
  return (candidate) => {
    const purchase = unused.get(pairOf(candidate));
    if (purchase === undefined || purchase.left > 0) return undefined;
    return {
      reason: "consensus_proofs_unprofitable",
      retryClass: "transient",
      detail: `proofs went ahead of ${purchase.commitment} of the same modules, which was not delivered`,
    };
  };
}
