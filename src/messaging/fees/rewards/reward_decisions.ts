/**
 * Decides which rewards of the hub are claimed now, and what its refusals mean. Pure.
 * Rules: docs/protocol/messaging.md sections 17.1 and 17.2; polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/{outbound_consensus,outbound_request}.rs. Only with `[hub].signer`, the account that is
 * paid.
 */
import type { RewardKey, RewardRow } from "../../ledger/ledger.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";

/** Poll interval of rewards, and pause of a refused one, ms. */
export const REWARD_INTERVAL_MS = 600_000;

/** Input of planning, besides the rows. */
export interface RewardPlanInput {
  readonly nowMs: number;
  /** True when a hub account is configured. Without one nothing is claimed. */
  readonly hasPayee: boolean;
  /** True when the key of the work on that chain is configured. */
  hasSigner(chain: StateMachine): boolean;
  /** Newest height of the chain on the hub whose challenge period is over; `undefined`: none. */
  maturedHeight(chain: StateMachine): bigint | undefined;
  /** True when the hub has paid it to anybody, in a final block; `undefined`: could not be read now. */
  isClaimed(key: RewardKey): boolean | undefined;
  /** The hub's offer for it, in its native token; 0: nothing; `undefined`: could not be read now. */
  offered(key: RewardKey): bigint | undefined;
}

/** Plan for the rows, each part lowest height first, so that no reward starves. */
export interface RewardPlan {
  readonly claims: readonly {
    readonly row: RewardRow;
    /** Height of the chain to prove at. */
    readonly proofHeight: bigint;
    readonly offered: bigint;
  }[];
  readonly settled: readonly {
    readonly row: RewardRow;
    readonly to: "claimed" | "refused";
    readonly why: "claimed_already" | "nothing_offered";
  }[];
}

/** Plans the claims of open rows, in any order; what is not due, known or read waits. */
export function planRewards(rows: readonly RewardRow[], facts: RewardPlanInput): RewardPlan {
  const claims: RewardPlan["claims"][number][] = [];
  const settled: RewardPlan["settled"][number][] = [];
  for (const row of rows.toSorted(oldestFirst)) {
    const isDue = row.state === "pending" && facts.hasPayee && facts.hasSigner(row.chain) &&
      row.nextAttemptAtMs <= facts.nowMs;
    if (!isDue) continue;
    const isClaimed = facts.isClaimed(row);
    const offered = facts.offered(row);
    const proofHeight = facts.maturedHeight(row.chain);
    if (isClaimed === true) settled.push({ row, to: "claimed", why: "claimed_already" });
    else if (offered === 0n) settled.push({ row, to: "refused", why: "nothing_offered" });
    else if (
      isClaimed !== undefined && offered !== undefined && proofHeight !== undefined &&
      proofHeight >= row.height
    ) claims.push({ row, proofHeight, offered });
  }
  return { claims, settled };
}

function oldestFirst(a: RewardRow, b: RewardRow): number {
  if (a.height !== b.height) return a.height < b.height ? -1 : 1;
  const [left, right] = [`${a.kind} ${a.chain} ${a.reference}`, `${b.kind} ${b.chain} ${b.reference}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Errors of the pallet that mean that the reward is already paid. */
const ALREADY_PAID: ReadonlySet<string> = new Set([
  "OutboundRotationAlreadyClaimed",
  "OutboundRequestAlreadyClaimed",
]);

/** Errors of the pallet that no later attempt changes. */
const FINAL: ReadonlySet<string> = new Set([
  "OutboundNoRewardConfigured",
  "OutboundSignerMismatch",
  "OutboundDestinationNotEvm",
  "OutboundSignatureNotEvm",
  "OutboundRequestNoRewardConfigured",
  "OutboundRequestSignerMismatch",
  "OutboundRequestNotKnown",
  "OutboundRequestSourceNotHyperbridge",
  "OutboundRequestModuleIdTooLong",
  "OutboundRequestUnsupportedDestination",
]);

/** Outcome for a reward whose claim was refused. */
export type RewardRefusal =
  | { readonly state: "claimed" | "refused" }
  | { readonly state: "pending"; readonly attempts: number; readonly nextAttemptAtMs: number };

/** Pause before a reward is read again that was paid in a block that is not final yet, ms. */
const UNTIL_FINAL_MS = 60_000;

/** Why a claim was refused. */
export interface RefusedClaim {
  /** Name of the pallet's error; `undefined`: the transaction pool refused without a reason. */
  readonly error: string | undefined;
  /** True when a final block says so; what newer ones say may be reorganised. */
  readonly isFinal: boolean;
}

/**
 * Judges a refusal. Paid is a reward only when a final block says so: of a claim in a newer one, the database may know
 * nothing, and it would not be made again.
 * Everything that is not final is retried, because a lagging client or an empty treasury is temporary.
 */
export function judgeRewardRefusal(
  row: Pick<RewardRow, "attempts">,
  { error, isFinal }: RefusedClaim,
  nowMs: number,
): RewardRefusal {
  if (error !== undefined && ALREADY_PAID.has(error)) {
    const { attempts } = row;
    return isFinal
      ? { state: "claimed" }
      : { state: "pending", attempts, nextAttemptAtMs: nowMs + UNTIL_FINAL_MS };
  }
  if (error !== undefined && FINAL.has(error)) return { state: "refused" };
  return { state: "pending", attempts: row.attempts + 1, nextAttemptAtMs: nowMs + REWARD_INTERVAL_MS };
}
