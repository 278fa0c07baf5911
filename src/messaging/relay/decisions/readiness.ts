/**
 * Decides against which height of the source messages are proved. Pure.
 * Rules: docs/protocol/messaging.md sections 6.3 and 13.2. Substrate hosts require the challenge period to be exceeded,
 * EVM hosts to be reached (polytope-labs/hyperbridge: modules/ismp/core/src/handlers.rs, evm/src/core/HandlerV2.sol).
 */

/** Height of the source that the target stores, and when it stored it (Unix seconds). */
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

/** True when proofs against a commitment stored at `updatedAtSec` are accepted. */
export function isMatured(updatedAtSec: bigint, rule: ChallengeRule): boolean {
  if (rule.challengePeriodSec === 0n) return true;
  const age = rule.nowSec - updatedAtSec;
  return rule.comparison === "strict" ? age > rule.challengePeriodSec : age >= rule.challengePeriodSec;
}

/** Finds the newest stored height whose challenge period is over; `undefined` when there is none yet. */
export function newestMatured(stored: readonly StoredHeight[], rule: ChallengeRule): bigint | undefined {
  let newest: bigint | undefined;
  for (const { height, updatedAtSec } of stored) {
    if (isMatured(updatedAtSec, rule) && (newest === undefined || height > newest)) newest = height;
  }
  return newest;
}

/**
 * Selects the heights to remember: the newest matured one and all newer ones still in their challenge period that the
 * target knows now (a veto removes heights).
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
