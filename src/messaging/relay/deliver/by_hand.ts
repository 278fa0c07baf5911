/**
 * Delivery of one message that the operator asks for, whatever the profit rule says. Everything else is as in a round of
 * its leg, and so is the exclusion: its row is read again after signing, and a message is in one transaction at a time
 * (docs/architecture/messaging.md, I5).
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { type DecisionRow, isTerminal, type MessageRow } from "../../ledger/ledger.ts";
import { type ChallengeRule, isMatured, newestMatured } from "../decisions/heights.ts";
import type { LegRun } from "../leg.ts";
import { hasRoom } from "../limits/capacity.ts";
import { findSpendingStop, noteOffers } from "../limits/spending.ts";
import { toSuspensionKey } from "../limits/suspension.ts";
import { type Candidate, parseRow } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import { findDeliverable, type ProvenBatch } from "./bisect_batch.ts";
import { judgeProfit, toDecisions } from "./profitability.ts";
import { send } from "./send.ts";

/** What became of a request to deliver a message. */
export interface HandDelivery {
  /**
   * `sent`: its transaction is in the journal and on its way. `possible`: a dry run found nothing that prevents it.
   * `over`: it has ended. `waiting`: not now, `text` says for what. `refused`: the target would not take it.
   */
  readonly outcome: "sent" | "possible" | "over" | "waiting" | "refused";
  /** Sentence for the operator. */
  readonly text: string;
  readonly transaction?: Hash256 | undefined;
  /** Numbers of the profit rule, where it applies and could be asked. */
  readonly decision?: Omit<DecisionRow, "atMs"> | undefined;
  /** Gas of the transaction; absent: free, or not simulated. */
  readonly gas?: bigint | undefined;
  readonly provedAt?: bigint | undefined;
}

/** Delivers the message of a row of this leg now; a dry run does everything but the sending. */
export async function deliverByHand(
  leg: LegRun,
  row: MessageRow,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<HandDelivery> {
  const target = leg.target.id.stateMachine;
  if (isTerminal(row.state)) {
    return { outcome: "over", text: `This leg is over: the message is ${row.state}.` };
  }
  if (row.state === "submitted") {
    const transaction = findTransaction(leg, row);
    return { outcome: "waiting", text: "It is in a transaction without a result yet.", transaction };
  }
  if (row.kind === "get") {
    const text = "GET requests are answered on the hub, not delivered";
    if (isDryRun) return { outcome: "possible", text: `${text}: the next round of the leg answers it.` };
    leg.ledger.messages.transition(row.commitment, row.target, {
      ...row,
      to: row.state,
      nextAttemptAtMs: leg.clock.now(),
    });
    leg.wake.wake();
    return { outcome: "waiting", text: `${text}: it is due now.` };
  }
  const obstacle = await leg.findObstacle?.(leg.signal) ?? findLimit(leg, row);
  if (obstacle !== undefined) return { outcome: "waiting", text: obstacle.detail };
  const proofHeight = await findProofHeight(leg, row);
  if (typeof proofHeight === "string") return { outcome: "waiting", text: proofHeight };
  const message = parseRow(row);
  const receipts = await leg.target.reads.fetchReceipts([message], leg.signal);
  const candidates = await endDelivered(leg, { candidates: [{ row, message }], receipts });
  if (candidates.length === 0) {
    const now = leg.ledger.messages.find(row.commitment, row.target);
    return { outcome: "over", text: `${target} has a receipt of it: the message is ${now?.state}.` };
  }
  const { accepted: [part], refused: [refusal] } = await findDeliverable(leg, {
    messages: [message],
    height: proofHeight,
    consensusProofs: [],
  });
  if (part === undefined) {
    const why = refusal === undefined ? "it gave no reason" : `${refusal.code}: ${refusal.detail}`;
    return { outcome: "refused", text: `${target} would refuse it: ${why}` };
  }
  return await sendByHand(leg, { part, candidates, isDryRun });
}

async function sendByHand(
  leg: LegRun,
  { part, candidates, isDryRun }: {
    readonly part: ProvenBatch;
    readonly candidates: readonly Candidate[];
    readonly isDryRun: boolean;
  },
): Promise<HandDelivery> {
  const judged = leg.profit === undefined
    ? undefined
    : await judgeProfit(leg, leg.profit, { part, candidates });
  const [decision] = judged === undefined ? [] : toDecisions(judged.decided, judged.price);
  const { gasUsed } = part.simulation;
  const facts = { decision, gas: gasUsed === 0n ? undefined : gasUsed, provedAt: part.height };
  if (isDryRun) {
    return { ...facts, outcome: "possible", text: `${leg.target.id.stateMachine} would take it.` };
  }
  const offers = judged?.offers ?? [];
  leg.ledger.transaction(() => {
    noteOffers(leg, offers);
    if (decision !== undefined) leg.ledger.decisions.note(leg.target.id.stateMachine, [decision]);
  });
  const isFree = leg.target.gas === undefined;
  const offeredUsd18 = decision?.feeUsd18;
  const allowance = isFree ? { rule: "free" } as const : { rule: "operator", offeredUsd18 } as const;
  const { sent } = await send(leg, { part, candidates, allowance });
  const [first] = candidates;
  if (sent === 0 || first === undefined) {
    return {
      ...facts,
      outcome: "waiting",
      text: "Something changed while it was signed: show tells what. Try again.",
    };
  }
  const transaction = findTransaction(leg, first.row);
  return { ...facts, outcome: "sent", text: `Sent to ${leg.target.id.stateMachine}.`, transaction };
}

function findTransaction(leg: LegRun, { commitment, target }: MessageRow): Hash256 | undefined {
  return leg.ledger.submissions.listByItem(commitment, target).at(-1)?.submission.hash;
}

/** Finds a limit besides the profit rule that forbids a transaction now. */
function findLimit(leg: LegRun, row: MessageRow): { readonly detail: string } | undefined {
  const target = leg.target.id.stateMachine;
  if (leg.target.relayer === undefined) return { detail: `There is no signer for ${target}.` };
  const stop = findSpendingStop(leg);
  if (stop !== undefined) {
    const until = new Date(stop.untilMs).toISOString();
    return { detail: `maximum_daily_loss of ${target} is reached: nothing is sent there until ${until}.` };
  }
  const pair = leg.ledger.suspensions.find(toSuspensionKey(parseRow(row), target));
  if (pair?.isActive === true) {
    return {
      detail: "Deliveries between its modules were paid for and had no effect, so that they are suspended: " +
        "`release` them first.",
    };
  }
  if (hasRoom(leg)) return undefined;
  return {
    detail:
      `As many transactions as allowed are under way to ${target}, or its account cannot pay. Try again.`,
  };
}

/** Finds a height at which the message can be proved; a text: there is none, and why. */
async function findProofHeight(leg: LegRun, { seenAtHeight }: MessageRow): Promise<bigint | string> {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  const { height, nowSec, challengePeriodSec, isFrozen } = await leg.target.reads.fetchView(
    leg.source.id,
    leg.signal,
  );
  if (isFrozen) return `${target} is frozen and takes no messages.`;
  if (height < seenAtHeight) {
    return `${target} knows ${source} up to block ${height}, the message is in block ${seenAtHeight}: it waits for ` +
      "the next update of the light client.";
  }
  const rule: ChallengeRule = {
    nowSec,
    challengePeriodSec,
    comparison: leg.target.capabilities.challengeRule,
  };
  if (isMatured(nowSec, rule)) return height;
  const updatedAtSec = await leg.target.reads.fetchUpdateTime({ id: leg.source.id, height }, leg.signal);
  const matured = newestMatured(updatedAtSec === undefined ? [] : [{ height, updatedAtSec }], rule);
  return matured ??
    `The challenge period (${challengePeriodSec} s) of block ${height} of ${source} on ${target} is not over.`;
}
