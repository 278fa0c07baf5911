/**
 * Why a host refuses messages. The pool says `BadProof` whatever the reason, so the rules that can be judged from
 * storage are judged here, in the order of the host's own checks.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/handlers/request.rs.
 */
import type { StateMachine } from "../../protocol/ismp/state_machine.ts";
import type { Delivery, DeliveryStep, Refusal } from "../chain.ts";

/** What the host knows of the chain that a step's proof is about, and of its messages. */
export interface StepFacts {
  readonly isFrozen: boolean;
  /** Undefined: none configured, and then the host takes no proofs. */
  readonly challengePeriodSec: bigint | undefined;
  /** When the commitment at the proof's height was stored; undefined: there is none. */
  readonly updateTimeSec: bigint | undefined;
  readonly nowSec: bigint;
  /** Per message the relayer that delivered it already. */
  readonly receipts: readonly (Uint8Array | undefined)[];
}

/**
 * The first rule that a delivery breaks; `undefined` when the facts show none (then it is the proof, the receiving
 * module, or bandwidth).
 * @param facts per step, `undefined` for steps without messages.
 */
export function findRefusal(
  host: { readonly stateMachine: StateMachine; readonly isHub: boolean },
  delivery: Delivery,
  facts: readonly (StepFacts | undefined)[],
): Refusal | undefined {
  for (const [index, step] of delivery.steps.entries()) {
    const known = facts[index];
    if (step.kind !== "messages" || known === undefined) continue;
    const refusal = refusalOfProof(known) ?? refusalOfMessages(host, step, known);
    if (refusal !== undefined) return { ...refusal, step: index };
  }
  return undefined;
}

function refusalOfProof(facts: StepFacts): Refusal | undefined {
  if (facts.isFrozen) return { code: "host_frozen", detail: "the consensus client is frozen" };
  if (facts.updateTimeSec === undefined) {
    return { code: "not_ready", detail: "no commitment is stored for the proof's height" };
  }
  if (facts.challengePeriodSec === undefined) {
    return { code: "not_ready", detail: "no challenge period is configured" };
  }
  const ageSec = facts.nowSec - facts.updateTimeSec;
  // Strictly more than the period has to be over; without a period there is no wait.
  if (facts.challengePeriodSec > 0n && ageSec <= facts.challengePeriodSec) {
    return {
      code: "not_ready",
      detail: `challenge period: ${ageSec} of ${facts.challengePeriodSec} seconds are over`,
    };
  }
  return undefined;
}

function refusalOfMessages(
  host: { readonly stateMachine: StateMachine; readonly isHub: boolean },
  step: Extract<DeliveryStep, { kind: "messages" }>,
  facts: StepFacts,
): Refusal | undefined {
  const commitments = new Set(step.messages.map(({ commitment }) => commitment));
  if (commitments.size < step.messages.length) {
    return { code: "duplicate", detail: "a message is in the delivery twice" };
  }
  for (const [index, message] of step.messages.entries()) {
    if (facts.receipts[index] !== undefined) {
      return { code: "duplicate", detail: `${message.commitment} was delivered already` };
    }
    if (message.kind !== "post") continue;
    const { dest, timeoutTimestampSec: timeoutSec } = message.request;
    if (timeoutSec !== 0n && facts.nowSec >= timeoutSec) {
      return { code: "timed_out", detail: `${message.commitment} timed out` };
    }
    if (!host.isHub && dest !== host.stateMachine) {
      return { code: "bad_destination", detail: `${message.commitment} is for ${dest}` };
    }
  }
  return undefined;
}
