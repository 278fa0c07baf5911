/**
 * Delivery of one message that the operator asks for, whatever the profit rule says. Everything else is as in a round of
 * its leg, and so is the exclusion: its row is read again after signing, and a message is in one transaction at a time
 * (docs/architecture/messaging.md, I5).
 */
import { type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import type { Message } from "../../../core/ismp/message.ts";
import { Allowances, type NotAdmitted } from "../limits/bandwidth.ts";
import { toReceiver, toRequest } from "../decisions/route.ts";
import { type DecisionRow, isTerminal, type MessageRow } from "../../ledger/ledger.ts";
import { MaturedHeights } from "../../../core/chains/matured_heights.ts";
import type { LegRun } from "../leg.ts";
import { countCallBytes, hasRoom, maxTransactionBytes, roomForMessages } from "../limits/capacity.ts";
import { explainClosed, toSuspensionKey } from "../limits/suspension.ts";
import { findSpendingStop, noteOffers } from "../limits/spending.ts";
import { type Candidate, parseRow } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import { findDeliverable, type ProvenBatch } from "./bisect_batch.ts";
import { judgeProfit, toDecisions } from "./profitability.ts";
import { isProofUnderWay, send, sendConsensus } from "./send.ts";
import type { Simulation } from "../../../core/chains/submission.ts";
import type { CounterpartyView } from "../../../core/chains/reads.ts";
import { simulateAlone } from "./consensus_proofs.ts";
import { ProofFollower } from "../../../core/hub_proofs/proof_follower.ts";

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
  /** Consensus proofs of the hub that go with the message, or ahead of it; absent: none are needed. */
  readonly consensusProofs?: CarriedProofs | undefined;
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
    leg.ledger.messages.makeDue(row);
    leg.wake.wake();
    return { outcome: "waiting", text: `${text}: it is due now.` };
  }
  const obstacle = await leg.findObstacle?.(leg.signal) ?? findLimit(leg, row);
  if (obstacle !== undefined) return { outcome: "waiting", text: obstacle.detail };
  const message = parseRow(row);
  const other = await findGate(leg, message);
  if (other !== undefined) return { outcome: "waiting", text: `Not by us: ${other}.` };
  const place = await findProofPlace(leg, row);
  if (place.kind === "none") return { outcome: "waiting", text: place.text };
  const candidates = await endDelivered(leg, [{ row, message }]);
  if (candidates.length === 0) {
    const now = leg.ledger.messages.find(row.commitment, row.target);
    return { outcome: "over", text: `${target} has a receipt of it: the message is ${now?.state}.` };
  }
  const limit = await findSenderLimit(leg, message);
  if (limit !== undefined) {
    return { outcome: "waiting", text: `${target} would refuse it: it ${limit.detail}` };
  }
  if (place.kind === "proofs" && place.left > 0) return await deliverAhead(leg, place, { isDryRun });
  const { accepted: [part], refused: [refusal] } = await findDeliverable(leg, {
    messages: [message],
    height: place.height,
    consensusProofs: place.kind === "proofs" ? place.proofs : [],
  });
  if (part === undefined) {
    const why = refusal === undefined ? "it gave no reason" : `${refusal.code}: ${refusal.detail}`;
    return { outcome: "refused", text: `${target} would refuse it: ${why}` };
  }
  const consensusProofs = place.kind === "proofs" ? describeCarried(place, part.simulation) : undefined;
  return await sendByHand(leg, { part, candidates, consensusProofs, isDryRun });
}

/** Reads afresh whether another account alone may deliver the message. */
async function findGate(leg: LegRun, message: Message): Promise<string | undefined> {
  const receiver = toReceiver(message);
  leg.target.gates?.forget(receiver);
  const [gate] = await leg.target.gates?.fetchGates([receiver], leg.signal) ?? [];
  return explainClosed(gate, leg);
}

/** Finds out, before anything is proved, whether the hub's limits of its sender keep the message out. */
async function findSenderLimit(leg: LegRun, message: Message): Promise<NotAdmitted | undefined> {
  const { from } = toRequest(message);
  const limits = await leg.senderLimits?.fetchSenderLimits(leg.source.id.stateMachine, [from], leg.signal);
  const allowances = new Allowances();
  if (limits?.[0] !== undefined) allowances.note(toHex(from), limits[0]);
  return allowances.admit(toHex(from), message);
}

/** Sends the proofs that do not fit into one transaction with the message; it follows when they are mined. */
async function deliverAhead(
  leg: LegRun,
  needed: NeededProofs,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<HandDelivery> {
  const target = leg.target.id.stateMachine;
  const simulated = await simulateAlone(leg, needed.proofs);
  if (simulated === undefined) {
    const text =
      `${target} would refuse the consensus proofs that the message needs: the log has the reason.`;
    return { outcome: "refused", text };
  }
  const consensusProofs = describeCarried(needed, simulated.simulation);
  const text =
    `${needed.proofs.length} consensus proofs of the hub go ahead of the message, which does not fit beside ` +
    `all that ${target} lacks: relay it again when they are mined.`;
  if (isDryRun) return { outcome: "possible", text, consensusProofs };
  switch (await sendConsensus(leg, { ...simulated, why: "ahead of messages" })) {
    case "sent": {
      const { submissions } = leg.ledger;
      const newest = submissions.listInFlight(target).at(-1);
      const transaction = newest && submissions.find(newest.id)?.submission.hash;
      return { outcome: "waiting", text, consensusProofs, transaction };
    }
    case "known":
      return { outcome: "waiting", text: `Another transaction delivers the consensus proofs to ${target}.` };
    case "refused":
      return {
        outcome: "refused",
        text: `${target} did not accept the consensus proofs: the log has the reason.`,
      };
  }
}

async function sendByHand(
  leg: LegRun,
  { part, candidates, consensusProofs, isDryRun }: {
    readonly part: ProvenBatch;
    readonly candidates: readonly Candidate[];
    readonly consensusProofs: CarriedProofs | undefined;
    readonly isDryRun: boolean;
  },
): Promise<HandDelivery> {
  const judged = leg.profit === undefined
    ? undefined
    : await judgeProfit(leg, leg.profit, { part, candidates });
  const [decision] = judged === undefined ? [] : toDecisions(judged.decided, judged.price);
  const { gasUsed } = part.simulation;
  const facts = {
    decision,
    gas: gasUsed === 0n ? undefined : gasUsed,
    provedAt: part.height,
    consensusProofs,
  };
  const withProofs = consensusProofs === undefined
    ? ""
    : ` with ${consensusProofs.count} consensus ${
      consensusProofs.count === 1 ? "proof" : "proofs"
    } of the hub in front`;
  if (isDryRun) {
    return {
      ...facts,
      outcome: "possible",
      text: `${leg.target.id.stateMachine} would accept it${withProofs}.`,
    };
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
      text: "Something changed while it was signed: see show. Try again.",
    };
  }
  const transaction = findTransaction(leg, first.row);
  const text = `Sent to ${leg.target.id.stateMachine}${withProofs}.`;
  return { ...facts, outcome: "sent", text, transaction };
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

/** Where a message can be proved: at a height that the target knows, or behind proofs; `none`: nowhere, and why. */
type ProofPlace = { readonly kind: "known"; readonly height: bigint } | NeededProofs | {
  readonly kind: "none";
  readonly text: string;
};

async function findProofPlace(leg: LegRun, row: MessageRow): Promise<ProofPlace> {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
  const { height, challengePeriodSec, isFrozen } = view;
  if (isFrozen) return { kind: "none", text: `${target} is frozen and accepts no messages.` };
  if (height < row.seenAtHeight) return await findNeededProofs(leg, row, view);
  const matured = await new MaturedHeights(leg.target).find(view, leg.source.id, leg.signal);
  if (matured !== undefined) return { kind: "known", height: matured };
  const text =
    `The challenge period (${challengePeriodSec} s) of block ${height} of ${source} on ${target} is not over.`;
  return { kind: "none", text };
}

/** Proofs that a message needs. */
interface NeededProofs {
  readonly kind: "proofs";
  /** Those of the next transaction. */
  readonly proofs: readonly Uint8Array[];
  /** Authority sets that the target lacks, ascending. */
  readonly sets: readonly bigint[];
  /** Height of the hub that the target knows after all of them. */
  readonly height: bigint;
  /** Number of proofs, or of messages, that need a transaction of their own afterwards; 0: the message fits beside. */
  readonly left: number;
}

/** What proofs contain and cost, for the operator. */
interface CarriedProofs {
  /** Number of proofs in the transaction. */
  readonly count: number;
  readonly bytes: number;
  readonly sets: readonly bigint[];
  readonly height: bigint;
  /** Their part of the transaction's gas. */
  readonly gas: bigint;
  /** What that gas costs at the price of the moment, wei; without data on another chain. */
  readonly costWei: bigint;
}

/** Why no proofs can go with the message: a sentence. */
interface NoProofs {
  readonly kind: "none";
  readonly text: string;
}

/**
 * Finds the proofs with which the target can verify a message whose block it does not know yet. They are found as for
 * every delivery (`proof_follower.ts`); whether they pay does not matter here.
 */
async function findNeededProofs(
  leg: LegRun,
  row: MessageRow,
  view: CounterpartyView,
): Promise<NeededProofs | NoProofs> {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  const none = (why: string): NoProofs => ({
    kind: "none",
    text:
      `${target} knows ${source} up to block ${view.height}, the message is in block ${row.seenAtHeight}: ` +
      `it waits for the next update of the light client${why}.`,
  });
  if (leg.bundles === undefined) return none("");
  if (view.challengePeriodSec !== 0n) {
    return none(`, since no proof can go with the message where heights have a challenge period`);
  }
  if (isProofUnderWay(leg, view.height)) {
    return {
      kind: "none",
      text: `Consensus proofs for ${target} are in a transaction without a result yet.`,
    };
  }
  const follower = new ProofFollower(leg.bundles, { clock: leg.clock, log: leg.log, everyMs: 0 });
  const lacked = await follower.poll(view, leg.signal);
  if (lacked?.height === undefined || lacked.height < row.seenAtHeight) {
    return none(
      ", since the hub has accepted no proof of that block that its node serves and the host accepts",
    );
  }
  const wanted = { what: "all", maxBytes: maxTransactionBytes(leg) } as const;
  const next = await follower.load(view, wanted, leg.signal);
  if (next === undefined) return none(", since the hub's node does not serve the bytes of the proof");
  const isAlone = next.left === 0 && countCallBytes({ row }) > roomForMessages(leg, next.proofs);
  return {
    kind: "proofs",
    proofs: next.proofs,
    sets: lacked.missingSets,
    height: next.height,
    left: isAlone ? 1 : next.left,
  };
}

/** What the proofs of a simulated transaction contain and cost. */
function describeCarried(
  { proofs, sets, height }: NeededProofs,
  { gasUsed, messageGas, gasPriceWei }: Extract<Simulation, { kind: "accepted" }>,
): CarriedProofs {
  const ofMessages = messageGas.reduce((sum, gas) => sum + gas, 0n);
  const gas = gasUsed > ofMessages ? gasUsed - ofMessages : 0n;
  return {
    count: proofs.length,
    bytes: proofs.reduce((sum, { length }) => sum + length, 0),
    sets,
    height,
    gas,
    costWei: gas * gasPriceWei,
  };
}
