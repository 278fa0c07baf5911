/**
 * Signs a deliverable batch, writes it to the journal, and only then sends it to the target
 * (docs/architecture/messaging.md, I3). Receipts are read again for that, or a moment ago with the last simulation (I5).
 */
import type { RelayerHubCall, RelayerHubCalls } from "../../../core/chains/hub.ts";
import type { Refusal, SignedSubmission, SigningResult } from "../../../core/chains/submission.ts";
import type { Allowance, MessageRow } from "../../ledger/ledger.ts";
import type { LogFields } from "../../../core/telemetry/log.ts";
import { boundByLosses, decideAllowance, noteRefusedFunds, stopUncovered } from "../limits/spending.ts";
import { type Leg, legName, type LegRun } from "../leg.ts";
import { judgeRefused } from "../decisions/retry_schedule.ts";
import { type Candidate, screen, stillOpen, submitAll } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import type { ProvenBatch } from "./bisect_batch.ts";
import { judgeSuspended, mayRisk, noteRetried } from "../limits/suspension.ts";
import { broadcastJournalled, readNonces, releaseRejected, reportForeign } from "../limits/capacity.ts";

/** Result of sending a batch. */
export interface SendResult {
  readonly sent: number;
  /** Messages that must be proved again because others of the batch were delivered meanwhile. */
  readonly again: readonly Candidate[];
  /** True when the target knows a newer height of the source than this round's view: the round ends. */
  readonly isOutdated?: boolean;
  /** Its number in the journal, once it is there. */
  readonly id?: number;
}

/** Batch that the target accepts. */
export interface SendInput {
  readonly part: ProvenBatch;
  /** Messages of the batch with their rows, in its order. */
  readonly candidates: readonly Candidate[];
  /** Maximum price per unit of gas, wei: what the messages pay for. No limit when absent. */
  readonly maxGasPriceWei?: bigint | undefined;
  /** The rule by which it may be sent; decided from its messages when absent. */
  readonly allowance?: Allowance | undefined;
  /** Of consensus proofs alone who pays for them: `rewarded`: the hub; otherwise messages that follow. */
  readonly why?: "rewarded" | "ahead of messages" | undefined;
}

/**
 * True while a transaction of ours with consensus proofs is pending: alone, or in front of messages that the chain
 * cannot verify without them. A second one with the same or older proofs would cost gas and have no effect.
 * @param known newest height of the hub that the chain knows
 */
export function isProofUnderWay(leg: Leg, known: bigint): boolean {
  const { submissions, messages } = leg.ledger;
  return submissions.listInFlight(leg.target.id.stateMachine).some(({ id, kind }) => {
    if (kind !== "delivery") return false;
    const items = submissions.itemsOf(id);
    const rows = messages.findAll(items.map(({ commitment }) => commitment), leg.target.id.stateMachine);
    return items.length === 0 || rows.some((row) => row !== undefined && row.seenAtHeight > known);
  });
}

/** `known`: the chain already has them, or will once its mempool is mined. */
export type ConsensusResult = "sent" | "known" | "refused";

/** Sends consensus proofs alone, as a batch without messages. Nothing bounds their price without an allowance. */
export async function sendConsensus(
  leg: LegRun,
  { delivery, simulation, ...rule }:
    & Pick<ProvenBatch, "delivery" | "simulation">
    & Pick<SendInput, "why" | "allowance" | "maxGasPriceWei">,
): Promise<ConsensusResult> {
  const part: ProvenBatch = { messages: [], delivery, simulation, height: 0n };
  const { id, isOutdated = false } = await send(leg, { part, candidates: [], ...rule });
  if (id === undefined) return isOutdated ? "known" : "refused";
  return leg.ledger.submissions.find(id)?.state === "dropped" ? "refused" : "sent";
}

/** The host's gas for a typical message (docs/protocol/evm-host.md section 9). */
const USUAL_MESSAGE_GAS = 200_000n;

/** Batch whose cost the loss limit does not allow. */
interface Uncovered {
  readonly kind: "uncovered";
  readonly because: string;
  /** As in {@link LossBound}. */
  readonly isExhausted: boolean;
  /** Price per gas that it covers, and the current one, wei. */
  readonly coveredWei: bigint;
  readonly priceWei: bigint;
}

/**
 * Makes a batch that the loss limit does not allow smaller. A single message that needs much gas is held, so that it
 * keeps no others back; where not even a usual one is allowed, nothing is sent to the chain for a while.
 */
function retryUncovered(
  leg: LegRun,
  { part, candidates }: SendInput,
  uncovered: Uncovered,
): SendResult {
  const { because: detail, coveredWei, priceWei } = uncovered;
  const { length } = candidates;
  if (length > 1) {
    // A margin for the rest of a transaction. The others stay due: they follow in later rounds.
    const covered = priceWei === 0n ? 1 : Number(BigInt(length) * coveredWei * 3n / (priceWei * 4n));
    const fitting = candidates.slice(0, Math.max(1, Math.min(length - 1, covered)));
    return { sent: 0, again: stillOpen(leg, fitting) };
  }
  if (uncovered.isExhausted || candidates.length === 0 || part.simulation.gasUsed <= USUAL_MESSAGE_GAS) {
    stopUncovered(leg, detail);
    return { sent: 0, again: [], isOutdated: candidates.length > 0 };
  }
  screen(leg, candidates, () => ({ reason: "loss_limit", retryClass: "transient", detail }));
  return { sent: 0, again: [] };
}

/** Signs at most for what the fees and the rest of the loss limit pay for. */
async function signBounded(
  leg: LegRun,
  { part: { delivery, simulation }, maxGasPriceWei }: SendInput,
): Promise<SigningResult | Uncovered> {
  const { gasLimit, dataCostWei, maxDataCostWei = dataCostWei } = simulation;
  const found = await boundByLosses(leg, leg.profit?.price, { gasLimit, dataCostWei: maxDataCostWei });
  const bound = maxGasPriceWei !== undefined && found !== undefined && found.wei >= maxGasPriceWei
    ? undefined
    : found;
  const nonces = readNonces(leg);
  const input = { simulation, ...nonces, maxGasPriceWei: bound?.wei ?? maxGasPriceWei };
  const signing = await leg.target.sender.sign(delivery, input, leg.signal);
  const { nonceAtLeast } = nonces;
  const signed = signing.kind === "signed" ? signing.submission.nonce : undefined;
  if (nonceAtLeast !== undefined && signed !== undefined && signed > nonceAtLeast) {
    reportForeign(leg, nonceAtLeast, "account_shared.seen");
  }
  const isTooExpensive = signing.kind === "refused" && signing.refusal.code === "too_expensive";
  if (bound === undefined || !isTooExpensive) return signing;
  const because = `${bound.because}: ${signing.refusal.detail}`;
  return {
    kind: "uncovered",
    because,
    isExhausted: bound.isExhausted,
    coveredWei: bound.wei,
    priceWei: simulation.gasPriceWei,
  };
}

/** Signs, journals and sends one batch while holding the lock of the account. */
export function send(
  leg: LegRun,
  work: SendInput,
): Promise<SendResult> {
  const sendNow = (): Promise<SendResult> => sendInTurn(leg, work);
  return leg.turn === undefined ? sendNow() : leg.turn.run(sendNow, leg.signal);
}

/** Why strangers wait. */
const STRANGERS = "no more is risked within a day for pairs of modules of which nothing was delivered yet";

async function sendInTurn(
  leg: LegRun,
  work: SendInput,
): Promise<SendResult> {
  const { part, candidates } = work;
  if (!await mayRisk(leg, { candidates, simulation: part.simulation })) {
    screen(leg, candidates, () => ({ reason: "loss_limit", retryClass: "transient", detail: STRANGERS }));
    return { sent: 0, again: [] };
  }
  const signing = await signBounded(leg, work);
  if (signing.kind === "uncovered") return retryUncovered(leg, work, signing);
  if (signing.kind === "overtaken") {
    return { sent: 0, again: await endDelivered(leg, candidates, signing.receipts) };
  }
  if (signing.kind === "proofs_known") {
    // The messages stay due: the next round proves them at the height that the chain knows then.
    leg.log.debug("proofs_overtaken.known", { leg: legName(leg), from: signing.from });
    return { sent: 0, again: [], isOutdated: true };
  }
  if (signing.kind === "refused") {
    noteRefusedFunds(leg, signing.refusal);
    if (signing.refusal.code === "too_expensive") {
      const { detail } = signing.refusal;
      leg.log.info("transaction_failed.repriced", {
        leg: legName(leg),
        detail,
      });
      return { sent: 0, again: stillOpen(leg, candidates) };
    }
    return { sent: 0, again: applyRefusal(leg, candidates, signing.refusal) };
  }
  leg.signal.throwIfAborted();
  // Settling may have found meanwhile that delivering them would waste gas.
  const open = screen(leg, candidates, judgeSuspended(leg, candidates));
  if (open.length < candidates.length) return { sent: 0, again: open };
  const { submission } = signing;
  const proofs = part.delivery.steps.filter(({ kind }) => kind === "consensus").length;
  const facts = candidates.length === 0 ? { proofs, why: work.why } : {
    provedAt: part.height,
    ...(proofs === 0 ? {} : { consensusProofs: proofs }),
    ...(part.simulation.gasUsed === 0n ? {} : { gas: part.simulation.gasUsed }),
  };
  const allowance = work.allowance ?? (open.length === 0 ? undefined : decideAllowance(leg, rowsOf(open)));
  const id = await journalAndSend(leg, { submission, candidates: open, facts, allowance });
  return { sent: open.length, again: [], id };
}

function rowsOf(candidates: readonly Candidate[]): readonly MessageRow[] {
  return candidates.map(({ row }) => row);
}

/** Builds, journals and sends a call of the hub that handles messages (responses to GET requests). */
export async function sendHubCall(
  leg: LegRun,
  work: {
    readonly hub: RelayerHubCalls;
    readonly call: RelayerHubCall;
    readonly candidates: readonly Candidate[];
  },
): Promise<void> {
  const submission = await work.hub.prepareCall(work.call, leg.signal);
  leg.signal.throwIfAborted();
  const candidates = stillOpen(leg, work.candidates);
  if (candidates.length < work.candidates.length) return; // the rest is answered in the next round
  const allowance = decideAllowance(leg, rowsOf(candidates));
  await journalAndSend(leg, { submission, candidates, facts: { answers: "GET" }, allowance });
}

/** Writes the messages and their transaction to the journal, then broadcasts the bytes; returns its number there. */
async function journalAndSend(
  leg: LegRun,
  work: {
    readonly submission: SignedSubmission;
    readonly candidates: readonly Candidate[];
    /** Log fields of the submission. */
    readonly facts: LogFields;
    readonly allowance: Allowance | undefined;
  },
): Promise<number> {
  const { submission, allowance } = work;
  const rows = rowsOf(work.candidates);
  const id = leg.ledger.transaction(() => {
    submitAll(leg, rows, submission.hash);
    noteRetried(leg, rows);
    return leg.ledger.submissions.record({
      submission,
      kind: "delivery",
      legSource: leg.source.id.stateMachine,
      items: rows.map(({ commitment, requestCommitment, target }) => ({
        commitment,
        requestCommitment,
        target,
      })),
      allowance,
    });
  });
  const fields = { leg: legName(leg), transaction: submission.hash, ...work.facts };
  if (rows.length === 0) leg.log.info("proofs_sent", fields);
  else leg.log.info("batch_sent", { ...fields, messages: rows.length });
  const result = await broadcastJournalled(leg, id);
  if (result !== undefined) releaseRejected(leg, { id, rows, result });
  leg.settleWake.wake();
  return id;
}

/**
 * Records that the target refuses a batch that it accepted in simulation; returns the messages worth another attempt
 * now. A batch that is too large may be sent in two halves; messages that the refusal does not concern continue.
 */
function applyRefusal(
  leg: LegRun,
  candidates: readonly Candidate[],
  refusal: Refusal,
): readonly Candidate[] {
  const { code, detail, messages: indices } = refusal;
  const open = stillOpen(leg, candidates);
  if (code === "too_large" && open.length > 1) {
    const half = Math.ceil(open.length / 2);
    screen(leg, open.slice(half), () => ({ reason: "too_large", retryClass: "transient", detail }));
    return open.slice(0, half);
  }
  const about = indices?.map((index) => candidates[index]?.message);
  const isConcerned = ({ message }: Candidate): boolean => about?.includes(message) ?? true;
  return screen(leg, open, (candidate) => isConcerned(candidate) ? judgeRefused(leg, refusal) : undefined);
}
