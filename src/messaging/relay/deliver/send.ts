/**
 * Signs a deliverable batch, writes it to the journal, and only then sends it to the target
 * (docs/architecture/messaging.md, I3). Receipts are read again while signing (I5).
 */
import type {
  BroadcastResult,
  Delivery,
  Refusal,
  SignedSubmission,
  SigningResult,
  Simulation,
} from "../../../core/chains/port.ts";
import type { RelayerHubCall } from "../../../core/chains/hub_accounts.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import { toHex } from "../../../core/encoding/bytes.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { LogFields } from "../../../core/telemetry/log.ts";
import { bisect } from "../decisions/batch.ts";
import { decideAllowance, noteFunded, noteRefusedFunds } from "../limits/spending.ts";
import { type AnswerTaker, type Leg, legName, type PipelineDeps, type PipelineSettings } from "../leg.ts";
import { type Candidate, hold, markRefused, stillOpen, transitionAll } from "../messages.ts";
import { takeDelivered } from "../receipts.ts";
import type { ProvenBatch } from "./bisect_batch.ts";
import { leaveSuspended } from "../limits/suspension.ts";
import { noteTooLarge } from "../limits/capacity.ts";

/** Result of sending a batch. */
export interface SendResult {
  readonly sent: number;
  /** Messages that must be proved again because others of the batch were delivered meanwhile. */
  readonly again: readonly Candidate[];
}

/** Batch that the target accepts. */
export interface SendInput {
  readonly part: ProvenBatch;
  /** Messages of the batch with their rows, in its order. */
  readonly candidates: readonly Candidate[];
  /** Maximum price per unit of gas, wei: what the messages pay for. No limit when absent. */
  readonly maxGasPriceWei?: bigint | undefined;
}

/**
 * True while a transaction of ours with consensus proofs is pending: alone, or in front of messages that the chain
 * cannot verify without them. A second one with the same or older proofs would cost gas and have no effect.
 * @param known newest height of the hub that the chain knows
 */
export function isProofUnderWay(deps: PipelineDeps, leg: Leg, known: bigint): boolean {
  const { submissions, messages } = deps.ledger;
  return submissions.listInFlight(leg.target.id.stateMachine).some(({ id, kind }) => {
    if (kind !== "delivery") return false;
    const items = submissions.itemsOf(id);
    const rows = messages.findAll(items.map(({ commitment }) => commitment), leg.target.id.stateMachine);
    return items.length === 0 || rows.some((row) => row !== undefined && row.seenAtHeight > known);
  });
}

/** Consensus proofs that the chain accepts without messages, and who pays for them. */
export interface ConsensusInput {
  readonly delivery: Delivery;
  readonly simulation: Extract<Simulation, { kind: "accepted" }>;
  /** `rewarded`: by the hub; otherwise by messages that follow. */
  readonly why: "rewarded" | "ahead of messages" | "ahead of a payment";
  /** The hub's reward for them, dollars x 10^18. */
  readonly reward18?: bigint;
  /** As in {@link SendInput}. */
  readonly maxGasPriceWei?: bigint | undefined;
}

/** `known`: the chain already has them, or will once its mempool is mined. */
export type ConsensusResult = "sent" | "known" | "refused";

/** Signs, journals and sends consensus proofs alone. */
export async function sendConsensus(
  deps: PipelineDeps,
  leg: Leg,
  { delivery, simulation, why, reward18, maxGasPriceWei }: ConsensusInput,
  signal: AbortSignal,
): Promise<ConsensusResult> {
  const sendNow = async (): Promise<ConsensusResult> => {
    const hints = { nonceAtLeast: nextNonce(deps, leg), maxGasPriceWei };
    const signing = await leg.target.sign(delivery, simulation, hints, signal);
    if (signing.kind === "refused") noteRefusedFunds(deps, leg.target, signing.refusal);
    if (signing.kind === "proofs_known") {
      noteProofsKnown(deps, leg, signing);
      return "known";
    }
    if (signing.kind !== "signed") return "refused";
    signal.throwIfAborted();
    const { submission } = signing;
    const legSource = leg.source.id.stateMachine;
    const allowance = { rule: "consensus_proofs", offeredUsd18: reward18 } as const;
    const id = deps.ledger.transaction(() =>
      deps.ledger.submissions.record({ submission, kind: "delivery", legSource, items: [], allowance })
    );
    deps.log.info("proofs_sent", {
      leg: legName(leg),
      proofs: delivery.steps.length,
      why,
      transaction: submission.hash,
    });
    await broadcastJournalled(deps, RETRIES_NOTHING, leg, { id, rows: [] }, signal);
    leg.settleWake.wake();
    return deps.ledger.submissions.find(id)?.state === "dropped" ? "refused" : "sent";
  };
  return await (leg.turn === undefined ? sendNow() : leg.turn.run(sendNow, signal));
}

function noteProofsKnown(
  deps: PipelineDeps,
  leg: Leg,
  { from }: Extract<SigningResult, { kind: "proofs_known" }>,
): void {
  deps.log.debug("proofs_already_known", { leg: legName(leg), from });
}

/** Settings for transactions without messages, which have nothing to retry. */
const RETRIES_NOTHING: Pick<PipelineSettings, "retryFrequencySec"> = { retryFrequencySec: undefined };

/** Signs, journals and sends one batch while holding the lock of the account. */
export function send(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: SendInput,
  signal: AbortSignal,
): Promise<SendResult> {
  const sendNow = (): Promise<SendResult> => sendInTurn(deps, settings, leg, work, signal);
  return leg.turn === undefined ? sendNow() : leg.turn.run(sendNow, signal);
}

async function sendInTurn(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: SendInput,
  signal: AbortSignal,
): Promise<SendResult> {
  const { part, candidates } = work;
  const hints = { nonceAtLeast: nextNonce(deps, leg), maxGasPriceWei: work.maxGasPriceWei };
  const signing = await leg.target.sign(part.delivery, part.simulation, hints, signal);
  if (signing.kind === "overtaken") {
    const work = { candidates, receipts: signing.receipts };
    return { sent: 0, again: await takeDelivered(deps, settings, leg, work, signal) };
  }
  if (signing.kind === "proofs_known") {
    // The messages stay due: the next round proves them at the height that the chain knows then.
    noteProofsKnown(deps, leg, signing);
    return { sent: 0, again: [] };
  }
  if (signing.kind === "refused") {
    noteRefusedFunds(deps, leg.target, signing.refusal);
    if (signing.refusal.code === "too_expensive") {
      const { detail } = signing.refusal;
      deps.log.info("batch_repriced", {
        leg: legName(leg),
        detail,
      });
      return { sent: 0, again: stillOpen(deps, candidates) };
    }
    return { sent: 0, again: takeRefusal(deps, settings, candidates, signing.refusal) };
  }
  signal.throwIfAborted();
  // Settling may have found meanwhile that delivering them would waste gas.
  const open = deps.ledger.transaction(() =>
    leaveSuspended(deps, settings, leg, stillOpen(deps, candidates))
  );
  if (open.length < candidates.length) return { sent: 0, again: open };
  const { submission } = signing;
  const { steps } = part.delivery;
  const facts = {
    provedAt: part.height,
    ...(steps.length === 1 ? {} : { consensusProofs: steps.length - 1 }),
    ...(part.simulation.gasUsed === 0n ? {} : { gas: part.simulation.gasUsed }),
  };
  await journalAndSend(deps, settings, leg, { submission, candidates: open, facts }, signal);
  return { sent: open.length, again: [] };
}

/** Builds, journals and sends a call of the hub that handles messages (responses to GET requests). */
export async function sendHubCall(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: {
    readonly hub: AnswerTaker;
    readonly call: RelayerHubCall;
    readonly candidates: readonly Candidate[];
  },
  signal: AbortSignal,
): Promise<void> {
  const submission = await work.hub.prepareCall(work.call, signal);
  signal.throwIfAborted();
  const candidates = stillOpen(deps, work.candidates);
  if (candidates.length < work.candidates.length) return; // the rest is answered in the next round
  await journalAndSend(deps, settings, leg, { submission, candidates, facts: { answers: "GET" } }, signal);
}

/** Writes the messages and their transaction to the journal, then broadcasts the bytes. */
async function journalAndSend(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: {
    readonly submission: SignedSubmission;
    readonly candidates: readonly Candidate[];
    /** Log fields of the submission. */
    readonly facts: LogFields;
  },
  signal: AbortSignal,
): Promise<void> {
  const { submission } = work;
  const rows = work.candidates.map(({ row }) => row);
  const id = deps.ledger.transaction(() => {
    const ready = transitionAll(deps, rows.filter(({ state }) => state !== "ready"), "ready");
    const others = rows.filter(({ state }) => state === "ready");
    transitionAll(deps, [...others, ...ready], "submitted", { hash: submission.hash });
    return deps.ledger.submissions.record({
      submission,
      kind: "delivery",
      legSource: leg.source.id.stateMachine,
      items: rows.map(({ commitment, requestCommitment, target }) => ({
        commitment,
        requestCommitment,
        target,
      })),
      allowance: decideAllowance(deps, leg, rows),
    });
  });
  const fields = { leg: legName(leg), messages: rows.length, transaction: submission.hash, ...work.facts };
  deps.log.info("batch_sent", fields);
  await broadcastJournalled(deps, settings, leg, { id, rows }, signal);
  leg.settleWake.wake();
}

/**
 * Records that the target refuses a batch that it accepted in simulation; returns the messages worth another attempt
 * now. A batch that is too large may be sent in two halves; messages that the refusal does not concern continue.
 */
function takeRefusal(
  deps: PipelineDeps,
  settings: PipelineSettings,
  candidates: readonly Candidate[],
  refusal: Refusal,
): readonly Candidate[] {
  const { code, detail } = refusal;
  return deps.ledger.transaction(() => {
    const open = stillOpen(deps, candidates);
    if (code === "too_large" && open.length > 1) {
      const [first, second] = bisect(open);
      for (const { row } of second) {
        hold(deps, settings, row, { reason: "too_large", retryClass: "transient", detail });
      }
      return stillOpen(deps, first);
    }
    const about = refusal.messages?.map((index) => candidates[index]?.message);
    const isMeant = ({ message }: Candidate): boolean => about?.includes(message) ?? true;
    for (const { row, message } of open.filter(isMeant)) {
      markRefused(deps, settings, row, { message, code, detail });
    }
    return open.filter((candidate) => !isMeant(candidate));
  });
}

/**
 * Finds the lowest nonce above all transactions of ours, mined ones included: a lagging node may return a used one.
 * `undefined` when there are none.
 */
function nextNonce(deps: PipelineDeps, { target }: Leg): bigint | undefined {
  if (target.relayer === undefined) return undefined;
  const highest = deps.ledger.submissions.findHighestNonce(target.id.stateMachine, toHex(target.relayer));
  return highest === undefined ? undefined : highest + 1n;
}

/**
 * Broadcasts journalled bytes. If the response is lost the submission stays `signed`, and settling determines its
 * outcome.
 */
async function broadcastJournalled(
  deps: PipelineDeps,
  settings: Pick<PipelineSettings, "retryFrequencySec">,
  leg: Leg,
  work: { readonly id: number; readonly rows: readonly MessageRow[] },
  signal: AbortSignal,
): Promise<void> {
  const submission = deps.ledger.submissions.find(work.id)?.submission;
  if (submission === undefined) throw new Error(`Submission ${work.id} is not in the journal`);
  let result: BroadcastResult;
  try {
    result = await leg.target.broadcast(submission, signal);
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    deps.log.warn("broadcast_unknown", {
      leg: legName(leg),
      transaction: submission.hash,
      error,
    });
    deps.ledger.transaction(() => noteNoAnswer(deps, work.id));
    return;
  }
  // Settling may have been faster.
  if (deps.ledger.submissions.find(work.id)?.state !== "signed") return;
  switch (result.kind) {
    case "sent":
    case "alreadyKnown":
      deps.ledger.transaction(() => {
        deps.ledger.submissions.update(work.id, { state: "broadcast" });
        noteFunded(deps, leg.target);
      });
      return;
    case "nonceUsed":
      // Possibly by these very bytes, if a response was lost: settling determines it.
      deps.ledger.transaction(() => noteNoAnswer(deps, work.id));
      return;
    case "underpriced":
    case "refused":
      takeBack(deps, settings, leg, { ...work, result });
  }
}

/** Leaves a signed submission to settling, which skips those that are being broadcast. */
export function noteNoAnswer(deps: PipelineDeps, id: number): void {
  const { submissions } = deps.ledger;
  if (submissions.find(id)?.state === "signed") {
    submissions.update(id, { state: "signed", detail: "no response to the broadcast" });
  }
}

/** Releases the messages of a transaction that the chain did not accept. */
function takeBack(
  deps: PipelineDeps,
  settings: Pick<PipelineSettings, "retryFrequencySec">,
  leg: Leg,
  work: {
    readonly id: number;
    readonly rows: readonly MessageRow[];
    readonly result: Extract<BroadcastResult, { kind: "underpriced" | "refused" }>;
  },
): void {
  const { result } = work;
  const detail = result.kind === "refused" ? result.refusal.detail : result.kind;
  const isUnfunded = result.kind === "refused" && noteRefusedFunds(deps, leg.target, result.refusal);
  const isTooLarge = result.kind === "refused" && result.refusal.code === "too_large";
  deps.log.info("transaction_rejected", {
    leg: legName(leg),
    detail,
  });
  deps.ledger.transaction(() => {
    const { submission } = deps.ledger.submissions.update(work.id, { state: "dropped", detail });
    if (isTooLarge) noteTooLarge(deps, leg.target, { submission, detail });
    for (const { commitment, target } of work.rows) {
      const row = deps.ledger.messages.find(commitment, target);
      if (row?.state !== "submitted") continue;
      hold(deps, settings, row, {
        ...(isUnfunded
          ? { reason: "unfunded", retryClass: "unfunded" } as const
          : { reason: isTooLarge ? "too_large" : "race", retryClass: "transient" } as const),
        detail,
      });
    }
  });
}
