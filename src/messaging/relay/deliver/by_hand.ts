/**
 * Delivery of one message that the operator asks for, whatever the profit rule says. Everything else is as in a round of
 * its leg, and so is the exclusion: its row is read again after signing, and a message is in one transaction at a time
 * (docs/architecture/messaging.md, I5).
 */
import { onError } from "../../../core/encoding/coded_error.ts";
import { type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import type { Message } from "../../../core/ismp/message.ts";
import { Allowances } from "../limits/bandwidth.ts";
import { toReceiver, toRequest } from "../decisions/route.ts";
import { type DecisionRow, isTerminal, type MessageRow } from "../../ledger/ledger.ts";
import { MaturedHeights } from "../../../core/chains/matured_heights.ts";
import type { LegRun } from "../leg.ts";
import { countCallBytes, hasRoom, maxTransactionBytes, roomForMessages } from "../limits/capacity.ts";
import { explainClosed, toSuspensionKey } from "../limits/suspension.ts";
import { findSpendingStop } from "../limits/spending.ts";
import { type Candidate, parseRow } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import { findDeliverable, type ProvenBatch } from "./bisect_batch.ts";
import { judgeProfit, noteOffers, toDecisions } from "./profitability.ts";
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

/** The message is not sent: why. */
class NotSent extends Error {
  constructor(readonly outcome: HandDelivery["outcome"], text: string, readonly transaction?: Hash256) {
    super(text);
  }
}

/** Delivers the message of a row of this leg now; a dry run does everything but the sending. */
export async function deliverByHand(
  leg: LegRun,
  row: MessageRow,
  options: { readonly isDryRun: boolean },
): Promise<HandDelivery> {
  return await attempt(leg, row, options).catch(
    onError(NotSent, ({ outcome, message: text, transaction }) => (
      { outcome, text, ...transaction && { transaction } }
    )),
  );
}

async function attempt(
  leg: LegRun,
  row: MessageRow,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<HandDelivery> {
  const target = leg.target.id.stateMachine;
  refuseState(leg, row, isDryRun);
  const obstacle = await leg.findObstacle?.(leg.signal);
  if (obstacle !== undefined) throw new NotSent("waiting", obstacle.detail);
  refuseLimits(leg, row);
  const message = parseRow(row);
  await refuseGate(leg, message);
  const place = await findProofPlace(leg, row);
  const candidates = await endDelivered(leg, [{ row, message }]);
  if (candidates.length === 0) {
    const now = leg.ledger.messages.find(row.commitment, row.target);
    throw new NotSent("over", `${target} has a receipt of it: the message is ${now?.state}.`);
  }
  await refuseSender(leg, message);
  if (place.left > 0) return await deliverAhead(leg, place, { isDryRun });
  const { accepted: [part], refused: [refusal] } = await findDeliverable(leg, {
    messages: [message],
    height: place.height,
    consensusProofs: place.proofs,
  });
  if (part === undefined) {
    const why = refusal === undefined ? "it gave no reason" : `${refusal.code}: ${refusal.detail}`;
    throw new NotSent("refused", `${target} would refuse it: ${why}`);
  }
  const consensusProofs = describeCarried(place, part.simulation);
  return await sendByHand(leg, { part, candidates, consensusProofs, isDryRun });
}

/** Refuses a message that has ended, is under way, or is answered instead of delivered. */
function refuseState(leg: LegRun, row: MessageRow, isDryRun: boolean): void {
  if (isTerminal(row.state)) throw new NotSent("over", `This leg is over: the message is ${row.state}.`);
  if (row.state === "submitted") {
    const text = "It is in a transaction without a result yet.";
    throw new NotSent("waiting", text, findTransaction(leg, row));
  }
  if (row.kind !== "get") return;
  const text = "GET requests are answered on the hub, not delivered";
  if (isDryRun) throw new NotSent("possible", `${text}: the next round of the leg answers it.`);
  leg.ledger.messages.makeDue(row);
  leg.wake.wake();
  throw new NotSent("waiting", `${text}: it is due now.`);
}

/** Reads afresh whether another account alone may deliver the message. */
async function refuseGate(leg: LegRun, message: Message): Promise<void> {
  const receiver = toReceiver(message);
  leg.target.gates?.forget(receiver);
  const [gate] = await leg.target.gates?.fetchGates([receiver], leg.signal) ?? [];
  const other = explainClosed(gate, leg);
  if (other !== undefined) throw new NotSent("waiting", `Not by us: ${other}.`);
}

/** Finds out, before anything is proved, whether the hub's limits of its sender keep the message out. */
async function refuseSender(leg: LegRun, message: Message): Promise<void> {
  const { from } = toRequest(message);
  const limits = await leg.senderLimits?.fetchSenderLimits(leg.source.id.stateMachine, [from], leg.signal);
  const allowances = new Allowances();
  if (limits?.[0] !== undefined) allowances.note(toHex(from), limits[0]);
  const limit = allowances.admit(toHex(from), message);
  if (limit === undefined) return;
  throw new NotSent("waiting", `${leg.target.id.stateMachine} would refuse it: it ${limit.detail}`);
}

/** Sends the proofs that do not fit into one transaction with the message; it follows when they are mined. */
async function deliverAhead(
  leg: LegRun,
  needed: ProofPlace,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<HandDelivery> {
  const target = leg.target.id.stateMachine;
  const simulated = await simulateAlone(leg, needed.proofs);
  if (simulated === undefined) {
    const text =
      `${target} would refuse the consensus proofs that the message needs: the log has the reason.`;
    throw new NotSent("refused", text);
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
      throw new NotSent("waiting", `Another transaction delivers the consensus proofs to ${target}.`);
    case "refused":
      throw new NotSent("refused", `${target} did not accept the consensus proofs: the log has the reason.`);
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
  const target = leg.target.id.stateMachine;
  const judged = leg.profit && await judgeProfit(leg, leg.profit, { part, candidates });
  const [decision] = judged === undefined ? [] : toDecisions(judged.decided, judged.price);
  const { gasUsed } = part.simulation;
  const gas = gasUsed === 0n ? undefined : gasUsed;
  const facts = { decision, gas, provedAt: part.height, consensusProofs };
  const count = consensusProofs?.count ?? 0;
  const withProofs = count === 0
    ? ""
    : ` with ${count} consensus ${count === 1 ? "proof" : "proofs"} of the hub in front`;
  if (isDryRun) return { ...facts, outcome: "possible", text: `${target} would accept it${withProofs}.` };
  leg.ledger.transaction(() => {
    noteOffers(leg, judged?.offers ?? []);
    if (decision !== undefined) leg.ledger.decisions.note(target, [decision]);
  });
  const isFree = leg.target.gas === undefined;
  const offeredUsd18 = decision?.feeUsd18;
  const allowance = isFree ? { rule: "free" } as const : { rule: "operator", offeredUsd18 } as const;
  const { sent } = await send(leg, { part, candidates, allowance });
  const [first] = candidates;
  if (sent === 0 || first === undefined) {
    const text = "Something changed while it was signed: see show. Try again.";
    return { ...facts, outcome: "waiting", text };
  }
  const transaction = findTransaction(leg, first.row);
  return { ...facts, outcome: "sent", text: `Sent to ${target}${withProofs}.`, transaction };
}

function findTransaction(leg: LegRun, { commitment, target }: MessageRow): Hash256 | undefined {
  return leg.ledger.submissions.listByItem(commitment, target).at(-1)?.submission.hash;
}

/** Refuses a message while a limit besides the profit rule forbids a transaction. */
function refuseLimits(leg: LegRun, row: MessageRow): void {
  const target = leg.target.id.stateMachine;
  if (leg.target.relayer === undefined) throw new NotSent("waiting", `There is no signer for ${target}.`);
  const stop = findSpendingStop(leg);
  if (stop !== undefined) {
    const until = new Date(stop.untilMs).toISOString();
    const text = `maximum_daily_loss of ${target} is reached: nothing is sent there until ${until}.`;
    throw new NotSent("waiting", text);
  }
  const pair = leg.ledger.suspensions.find(toSuspensionKey(parseRow(row), target));
  if (pair?.isActive === true) {
    throw new NotSent(
      "waiting",
      "Deliveries between its modules were paid for and had no effect, so that they are suspended: " +
        "`release` them first.",
    );
  }
  if (hasRoom(leg)) return;
  const text =
    `As many transactions as allowed are under way to ${target}, or its account cannot pay. Try again.`;
  throw new NotSent("waiting", text);
}

/** Where a message can be proved: at a height that the target knows, or behind proofs that it lacks. */
interface ProofPlace {
  /** Height of the source that the target knows, after all of the proofs. */
  readonly height: bigint;
  /** Proofs of the next transaction. */
  readonly proofs: readonly Uint8Array[];
  /** Authority sets that the target lacks, ascending. */
  readonly sets: readonly bigint[];
  /** Number of proofs, or of messages, that need a transaction of their own afterwards; 0: the message fits beside. */
  readonly left: number;
}

async function findProofPlace(leg: LegRun, row: MessageRow): Promise<ProofPlace> {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
  const { height, challengePeriodSec, isFrozen } = view;
  if (isFrozen) throw new NotSent("waiting", `${target} is frozen and accepts no messages.`);
  if (height < row.seenAtHeight) return await findNeededProofs(leg, row, view);
  const matured = await new MaturedHeights(leg.target).find(view, leg.source.id, leg.signal);
  if (matured !== undefined) return { height: matured, proofs: [], sets: [], left: 0 };
  const text =
    `The challenge period (${challengePeriodSec} s) of block ${height} of ${source} on ${target} is not over.`;
  throw new NotSent("waiting", text);
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

/**
 * Finds the proofs with which the target can verify a message whose block it does not know yet. They are found as for
 * every delivery (`proof_follower.ts`); whether they pay does not matter here.
 */
async function findNeededProofs(
  leg: LegRun,
  row: MessageRow,
  view: CounterpartyView,
): Promise<ProofPlace> {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  const none = (why: string): NotSent =>
    new NotSent(
      "waiting",
      `${target} knows ${source} up to block ${view.height}, the message is in block ${row.seenAtHeight}: ` +
        `it waits for the next update of the light client${why}.`,
    );
  if (leg.bundles === undefined) throw none("");
  if (view.challengePeriodSec !== 0n) {
    throw none(", since no proof can go with the message where heights have a challenge period");
  }
  if (isProofUnderWay(leg, view.height)) {
    throw new NotSent("waiting", `Consensus proofs for ${target} are in a transaction without a result yet.`);
  }
  const follower = new ProofFollower(leg.bundles, { clock: leg.clock, log: leg.log, everyMs: 0 });
  const lacked = await follower.poll(view, leg.signal);
  if (lacked?.height === undefined || lacked.height < row.seenAtHeight) {
    throw none(
      ", since the hub has accepted no proof of that block that its node serves and the host accepts",
    );
  }
  const wanted = { what: "all", maxBytes: maxTransactionBytes(leg) } as const;
  const next = await follower.load(view, wanted, leg.signal);
  if (next === undefined) throw none(", since the hub's node does not serve the bytes of the proof");
  const { proofs, height } = next;
  const isAlone = next.left === 0 && countCallBytes({ row }) > roomForMessages(leg, proofs);
  return { proofs, height, sets: lacked.missingSets, left: isAlone ? 1 : next.left };
}

/** What the proofs of a simulated transaction contain and cost; `undefined`: there are none. */
function describeCarried(
  { proofs, sets, height }: ProofPlace,
  { gasUsed, messageGas, gasPriceWei }: Extract<Simulation, { kind: "accepted" }>,
): CarriedProofs | undefined {
  if (proofs.length === 0) return undefined;
  const ofMessages = messageGas.reduce((sum, gas) => sum + gas, 0n);
  const gas = gasUsed > ofMessages ? gasUsed - ofMessages : 0n;
  const bytes = proofs.reduce((sum, { length }) => sum + length, 0);
  return { count: proofs.length, bytes, sets, height, gas, costWei: gas * gasPriceWei };
}
