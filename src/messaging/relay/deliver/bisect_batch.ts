/**
 * Finds the messages of a batch that the target accepts, and proves exactly those together. A single bad message makes
 * the target refuse the whole batch, so a refused batch is bisected until the bad ones are isolated.
 */
import type {
  AcceptedSimulation,
  Delivery,
  DeliveryStep,
  Refusal,
  Simulation,
} from "../../../core/chains/submission.ts";
import type { Message } from "../../../core/ismp/message.ts";
import { onFault, RpcFault, type RpcFaultCode } from "../../../core/rpc/call.ts";
import { partsOf } from "../../../core/runtime/slices.ts";
import { ABOUT_THE_CHAIN, type Refused } from "../decisions/retry_schedule.ts";
import type { LegRun } from "../leg.ts";

/** Batch to bisect: messages proved at one height, those of one kind together, behind the same consensus proofs. */
export interface BisectInput {
  readonly messages: readonly Message[];
  /** Height of the source. */
  readonly height: bigint;
  /** Consensus proofs sent in front of the messages, so that the target knows the height. */
  readonly consensusProofs: readonly Uint8Array[];
}

/** Messages that the target accepts together, ready to be signed. */
export interface ProvenBatch {
  readonly messages: readonly Message[];
  /** The whole transaction: consensus proofs and messages with their proof. */
  readonly delivery: Delivery;
  /** Height at which the messages are proved. */
  readonly height: bigint;
  readonly simulation: AcceptedSimulation;
}

/** Result of bisecting a batch. */
export interface BisectResult {
  readonly accepted: readonly ProvenBatch[];
  readonly refused: readonly Refused[];
}

/** Faults of the source that a single message may cause for all messages proved together with it. */
export const ABOUT_A_MESSAGE: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["not_found", "too_large"]);

/** The whole batch, whether or not everything in it is handled, or why the target refuses it. */
type Attempt = ProvenBatch | Extract<Simulation, { kind: "refused" }>;

/** Steps with messages of one kind and their proof each. */
export type ProvenSteps = readonly Extract<DeliveryStep, { kind: "messages" }>[];

/** Proves messages at a height of the source; those of one kind are together. */
export async function proveSteps(
  leg: LegRun,
  messages: readonly Message[],
  height: bigint,
): Promise<ProvenSteps> {
  const at = { height, target: leg.target };
  return await Promise.all([...Map.groupBy(messages, ({ kind }) => kind).values()].map(async (ofKind) => ({
    kind: "messages" as const,
    messages: ofKind,
    proof: await leg.source.proofs.proveMessages(ofKind, at, leg.signal),
  })));
}

async function attempt(
  leg: LegRun,
  { messages, height, consensusProofs }: BisectInput,
  proving = proveSteps(leg, messages, height),
): Promise<Attempt> {
  const proven = await proving.catch(onFault((fault) => fault, ...ABOUT_A_MESSAGE));
  if (proven instanceof RpcFault) {
    return { kind: "refused", refusal: { code: "bad_proof", detail: proven.message } };
  }
  const consensus = consensusProofs.map((bytes) => ({ kind: "consensus" as const, proof: bytes }));
  const delivery: Delivery = { steps: [...consensus, ...proven] };
  const simulation = await leg.target.simulator.simulate(delivery, leg.signal);
  return simulation.kind === "refused" ? simulation : { messages, delivery, height, simulation };
}

function refuseAll(
  messages: readonly Message[],
  { code, detail, isInCompany }: Omit<Refused, "message">,
): readonly Refused[] {
  return messages.map((message) => ({ message, code, detail, ...isInCompany ? { isInCompany } : {} }));
}

/**
 * Finds the deliverable messages of a batch at one proof height. Usually one proof and one simulation; each bad message
 * costs a few more. The remaining messages are proved together again; if they only fail together, the parts that pass
 * are sent separately.
 * @param proving proof of exactly these messages at that height, requested earlier
 */
export async function findDeliverable(
  leg: LegRun,
  work: BisectInput,
  proving?: Promise<ProvenSteps>,
): Promise<BisectResult> {
  const first = await bisectOnce(leg, work, proving);
  if (first.accepted.length < 2) return first;
  const survivors = first.accepted.flatMap((part) => part.messages);
  const whole = await attempt(leg, { ...work, messages: survivors });
  const isWhole = "simulation" in whole && whole.simulation.handled.every((handled) => handled);
  return isWhole ? { ...first, accepted: [whole] } : first;
}

async function bisectOnce(
  leg: LegRun,
  work: BisectInput,
  proving?: Promise<ProvenSteps>,
): Promise<BisectResult> {
  const { messages } = work;
  if (messages.length === 0) return { accepted: [], refused: [] };
  const attempted = await attempt(leg, work, proving);
  let refusal: Refusal = { code: "too_large", detail: "together they need all the gas of a transaction" };
  if ("refusal" in attempted) ({ refusal } = attempted);
  else {
    const { handled, gasUsed, gasLimit } = attempted.simulation;
    const idle = messages.filter((_, index) => handled[index] !== true);
    if (idle.length === 0) return { accepted: [attempted], refused: [] };
    // Where it needs about all the gas that there is, what was not handled may be honest and lack gas.
    const isFull = gasLimit * 4n < gasUsed * 5n;
    if (messages.length === 1 || !isFull) {
      const rest = await bisectOnce(leg, {
        ...work,
        messages: messages.filter((each) => !idle.includes(each)),
      });
      const why = messages.length === 1
        ? { detail: "the receiving module would fail, or there is no code at its address" }
        : {
          detail: "the receiving module fails behind other messages: it is tried alone",
          isInCompany: true,
        };
      return { ...rest, refused: [...rest.refused, ...refuseAll(idle, { code: "not_executed", ...why })] };
    }
  }
  if (refusal.step !== undefined && refusal.step < work.consensusProofs.length) {
    // A message is not at fault for the proof in front of it, whatever the verifier's error is.
    const code = refusal.code === "unspecified" ? "bad_proof" : refusal.code;
    return { accepted: [], refused: refuseAll(messages, { ...refusal, code }) };
  }
  if (messages.length === 1 || ABOUT_THE_CHAIN.has(refusal.code)) {
    return { accepted: [], refused: refuseAll(messages, refusal) };
  }
  // Both at once: the chain bounds the simulations, and slow ones add up otherwise.
  const halves = partsOf(messages, Math.ceil(messages.length / 2));
  const parts = await Promise.all(halves.map((half) => bisectOnce(leg, { ...work, messages: half })));
  return {
    accepted: parts.flatMap((part) => part.accepted),
    refused: parts.flatMap((part) => part.refused),
  };
}
