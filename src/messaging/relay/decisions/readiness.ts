/**
 * Decides against which height of the source messages are proved. Pure.
 * Rules: docs/protocol/messaging.md sections 6.3 and 13.2. Substrate hosts want the challenge period
 * exceeded, EVM hosts want it reached (polytope-labs/hyperbridge: modules/ismp/core/src/handlers.rs,
 * evm/src/core/HandlerV2.sol).
 */

/** A height of the source that the target stores, and when it stored it (Unix seconds). */
export interface StoredHeight {
  readonly height: bigint;
  readonly updatedAtSec: bigint;
}

/** Clock and rule of the chain that checks the proof. */
export interface ChallengeRule {
  readonly nowSec: bigint;
  readonly challengePeriodSec: bigint;
  /** `strict`: age must exceed the period (Substrate hosts); `reached`: equal is enough (EVM hosts). */
  readonly comparison: "strict" | "reached";
}

/** True when proofs against a commitment stored at `updatedAtSec` are taken. */
export function isMatured(updatedAtSec: bigint, rule: ChallengeRule): boolean {
  if (rule.challengePeriodSec === 0n) return true;
  const age = rule.nowSec - updatedAtSec;
  return rule.comparison === "strict" ? age > rule.challengePeriodSec : age >= rule.challengePeriodSec;
}

/** Newest stored height whose challenge period is over; `undefined` when there is none yet. */
export function newestMatured(stored: readonly StoredHeight[], rule: ChallengeRule): bigint | undefined {
  let newest: bigint | undefined;
  for (const { height, updatedAtSec } of stored) {
    if (isMatured(updatedAtSec, rule) && (newest === undefined || height > newest)) newest = height;
  }
  return newest;
}

/**
 * Heights worth remembering: the newest matured one and everything newer that is still in its challenge period
 * and not above what the target knows now (a veto takes heights away again).
 */
export function rememberHeights(
  stored: readonly StoredHeight[],
  observed: bigint,
  rule: ChallengeRule,
): readonly StoredHeight[] {
  const present = stored.filter((entry) => entry.height <= observed);
  const matured = newestMatured(present, rule);
  return present.filter((entry) => matured === undefined || entry.height >= matured);
}
