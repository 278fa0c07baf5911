/**
 * Finds out which messages of a batch the sink would take, and proves exactly those together.
 * One bad message refuses a whole batch, so a refused batch is halved until the bad ones stand alone.
 */
import type { MessageProof, Refusal, RefusalCode, Simulation } from "../../core/chains/chain.ts";
import type { Message } from "../../core/protocol/ismp/message.ts";
import { RpcFault, type RpcFaultCode } from "../../core/rpc/fault.ts";
import { bisect } from "../decisions/batch.ts";
import type { Leg } from "./leg.ts";

/** Messages that the sink takes together, ready to be signed. */
export interface Sifted {
  readonly messages: readonly Message[];
  readonly proof: MessageProof;
  readonly simulation: Extract<Simulation, { kind: "accepted" }>;
}

/** A message that the sink does not take now. */
export interface Refused {
  readonly message: Message;
  /** `not_executed`: the transaction would succeed, the message would not be handled. */
  readonly code: RefusalCode | "not_executed";
  readonly detail: string;
}

/** What sifting a batch gave. */
export interface SiftResult {
  readonly accepted: readonly Sifted[];
  readonly refused: readonly Refused[];
}

/** Refusals that say something about the chain, not about one of the messages. */
const ABOUT_THE_CHAIN: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "not_ready",
  "host_frozen",
  "client_expired",
  "unknown_authority_set",
  "insufficient_funds",
]);

/** Faults of the source that one message may cause for all that are proved together with it. */
const ABOUT_A_MESSAGE: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["not_found", "too_large"]);

type Accepted = Extract<Simulation, { kind: "accepted" }>;

type Attempt =
  | { readonly kind: "accepted"; readonly proof: MessageProof; readonly simulation: Accepted }
  | { readonly kind: "refused"; readonly refusal: Refusal };

async function attempt(
  leg: Leg,
  messages: readonly Message[],
  height: bigint,
  signal: AbortSignal,
  proving = leg.source.proveMessages(messages, height, leg.sink, signal),
): Promise<Attempt> {
  let proof: MessageProof;
  try {
    proof = await proving;
  } catch (error) {
    if (!(error instanceof RpcFault) || !ABOUT_A_MESSAGE.has(error.code)) throw error;
    return { kind: "refused", refusal: { code: "bad_proof", detail: error.message } };
  }
  const simulation = await leg.sink.simulate({ steps: [{ kind: "messages", messages, proof }] }, signal);
  return simulation.kind === "refused" ? simulation : { kind: "accepted", proof, simulation };
}

function refuseAll(messages: readonly Message[], refusal: Refusal): readonly Refused[] {
  return messages.map((message) => ({ message, code: refusal.code, detail: refusal.detail }));
}

/**
 * Sifts a batch at one proof height. Usually one proof and one simulation; each bad message costs a few more.
 * Survivors are proved together again; if they fail only together, the parts that pass travel separately.
 * @param proving a proof of exactly these messages at `height` that was asked for before
 */
export async function sift(
  leg: Leg,
  messages: readonly Message[],
  height: bigint,
  signal: AbortSignal,
  proving?: Promise<MessageProof>,
): Promise<SiftResult> {
  const first = await siftOnce(leg, messages, height, signal, proving);
  if (first.accepted.length < 2) return first;
  const survivors = first.accepted.flatMap((part) => part.messages);
  const whole = await attempt(leg, survivors, height, signal);
  if (whole.kind === "refused" || !whole.simulation.handled.every((handled) => handled)) return first;
  const { proof, simulation } = whole;
  return { accepted: [{ messages: survivors, proof, simulation }], refused: first.refused };
}

async function siftOnce(
  leg: Leg,
  messages: readonly Message[],
  height: bigint,
  signal: AbortSignal,
  proving?: Promise<MessageProof>,
): Promise<SiftResult> {
  if (messages.length === 0) return { accepted: [], refused: [] };
  const tried = await attempt(leg, messages, height, signal, proving);
  if (tried.kind === "accepted") {
    const { proof, simulation } = tried;
    const idle = messages.filter((_, index) => simulation.handled[index] !== true);
    if (idle.length === 0) return { accepted: [{ messages, proof, simulation }], refused: [] };
    const rest = await siftOnce(leg, messages.filter((message) => !idle.includes(message)), height, signal);
    const refused = idle.map((message) => ({
      message,
      code: "not_executed" as const,
      detail: "the receiving module would fail, or there is no code at its address",
    }));
    return { accepted: rest.accepted, refused: [...rest.refused, ...refused] };
  }
  const { refusal } = tried;
  if (messages.length === 1 || ABOUT_THE_CHAIN.has(refusal.code)) {
    return { accepted: [], refused: refuseAll(messages, refusal) };
  }
  const parts = [];
  for (const half of bisect(messages)) parts.push(await siftOnce(leg, half, height, signal));
  return {
    accepted: parts.flatMap((part) => part.accepted),
    refused: parts.flatMap((part) => part.refused),
  };
}
