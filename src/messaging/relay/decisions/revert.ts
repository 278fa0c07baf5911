/**
 * Decides what a reverted transaction means for the messages that it carried. Pure.
 * Rules: docs/protocol/messaging.md section 10.3. One message can make a whole batch revert although the simulation
 * passed, so a batch is never sent again as a whole: its members are bisected until the bad one is isolated. Only then
 * is a message at fault.
 */
import type { RefusalCode } from "../../../core/chains/port.ts";
import { ABOUT_THE_CHAIN } from "./refusal.ts";

/** Cause of the revert. */
export type RevertVerdict =
  /** The host would have refused any messages, or the proof in front of them. */
  | { readonly kind: "chain" }
  /** Any of the members may be the cause: each is retried in a batch of at most that many. */
  | { readonly kind: "split"; readonly batchLimit: number }
  /** The message was sent alone: it is the cause. */
  | { readonly kind: "alone" };

/**
 * Judges a revert that is not a lost race.
 * @param facts.carried messages of the transaction
 * @param facts.code why it reverted, if known
 */
export function judgeRevert(
  facts: { readonly carried: number; readonly code: RefusalCode | undefined },
): RevertVerdict {
  // Members are proved together, and the simulation took the proof: what the host trusts has changed since.
  const isAboutProof = facts.code === "bad_proof";
  if (isAboutProof || (facts.code !== undefined && ABOUT_THE_CHAIN.has(facts.code))) return { kind: "chain" };
  return facts.carried > 1 ? { kind: "split", batchLimit: Math.ceil(facts.carried / 2) } : { kind: "alone" };
}
