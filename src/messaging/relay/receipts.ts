/**
 * Receipts on the target, ours or another relayer's: they end messages, and ours become delivery records, from which
 * fees are claimed.
 */
import { type ReadSince, UNSURE } from "../../core/chains/reads.ts";
import { type DeliveryReceipt, isTerminal, type MessageRow } from "../ledger/ledger.ts";
import { equalBytes, type Hash256, toHex } from "../../core/encoding/bytes.ts";
import { highest } from "../../core/chains/evm/gas.ts";
import { type Message, postRequestCodec } from "../../core/ismp/message.ts";
import { legName, type LegRun, type RelayContext } from "./leg.ts";
import {
  type Candidate,
  endAll,
  endReasons,
  parseRow,
  screen,
  stillOpen,
  toCandidate,
  transition,
} from "./messages.ts";
import { rememberCompetitors } from "./limits/competitors.ts";

/**
 * Ends the candidates that have a receipt and returns the others: receipts are confirmed first, and a message waits if
 * endpoints disagree about its receipt.
 * @param receipts of the candidates, as one endpoint has just shown them; read when absent
 */
export async function endDelivered(
  leg: LegRun,
  candidates: readonly Candidate[],
  receipts?: readonly (Uint8Array | undefined)[],
): Promise<readonly Candidate[]> {
  const shown = receipts ??
    await leg.target.reads.fetchReceipts(candidates.map(({ message }) => message), leg.signal);
  const seen = candidates.filter((_, index) => shown[index] !== undefined);
  const { relayerOf, unsure } = await readCertainReceipts(leg, seen, {});
  const open = await endConfirmed(leg, candidates, relayerOf);
  const detail = "its receipt is not confirmed yet";
  return unsure.size === 0 ? open : screen(leg, open, ({ message }) => {
    const isUnsure = unsure.has(message.commitment);
    return isUnsure ? { reason: "race", retryClass: "transient", detail } : undefined;
  });
}

/** Reads who delivered the candidates, and of which of them that is not certain. */
async function readCertainReceipts(
  leg: LegRun,
  candidates: readonly Candidate[],
  since: ReadSince,
): Promise<
  { readonly relayerOf: ReadonlyMap<Message, Uint8Array>; readonly unsure: ReadonlySet<Hash256> }
> {
  const messages = candidates.map(({ message }) => message);
  if (messages.length === 0) return { relayerOf: new Map(), unsure: new Set() };
  const receipts = await leg.target.certain.fetchCertainReceipts(messages, since, leg.signal);
  const unsure = new Set<Hash256>();
  const relayerOf = new Map<Message, Uint8Array>();
  for (const [index, message] of messages.entries()) {
    const receipt = receipts[index] ?? UNSURE;
    if (receipt.kind === "unsure") unsure.add(message.commitment);
    else if (receipt.value !== undefined) relayerOf.set(message, receipt.value);
  }
  return { relayerOf, unsure };
}

/**
 * Ends the candidates that have a receipt, which must be certain, and returns the others. A receipt of ours without a
 * transaction in the journal (a lost database, say) becomes a delivery record whose block is the head at which it was
 * seen.
 */
async function endConfirmed(
  leg: LegRun,
  candidates: readonly Candidate[],
  relayerOf: ReadonlyMap<Message, Uint8Array>,
): Promise<readonly Candidate[]> {
  if (relayerOf.size === 0) return stillOpen(leg, candidates);
  const head = await leg.target.reads.fetchHeight(leg.signal);
  const ourself = leg.target.relayer;
  return leg.ledger.transaction(() => {
    const open = stillOpen(leg, candidates);
    const found = open.flatMap(({ row, message }) => {
      const relayer = relayerOf.get(message);
      return relayer === undefined ? [] : [{ row, relayer }];
    });
    const ours = found.filter(({ relayer }) => ourself !== undefined && equalBytes(relayer, ourself));
    const others = found.filter((each) => !ours.includes(each));
    for (const { row, relayer } of ours) recordFoundReceipt(leg, row, { relayer, head });
    const competitors = others.filter(({ row }) => row.reason !== "gated").map(({ relayer }) => relayer);
    rememberCompetitors(leg, { relayers: competitors, isLoss: false });
    endAll(leg, ours.map(({ row }) => row), { to: "delivered" });
    endAll(leg, others.map(({ row }) => row), { to: "delivered_by_other", seenAt: head });
    return open.filter(({ message }) => !relayerOf.has(message));
  });
}

/** Maximum number of receipts read at once. */
export const MAX_RECEIPTS_AT_ONCE = 100;

/**
 * Ends every open row of the leg whose request has timed out: delivered where the target has a receipt (after a lost
 * database there may be one of ours, with a fee to claim), timed out otherwise. Receipts are read at a block past the
 * timeouts, after which there can be no more deliveries; rows whose receipts are not certain yet stay for the next
 * round. May throw an `RpcFault`.
 * @param nowSec the target's own clock, Unix seconds
 */
export async function expire(
  leg: LegRun,
  nowSec: bigint,
): Promise<void> {
  const source = leg.source.id.stateMachine;
  const target = leg.target.id.stateMachine;
  for (;;) {
    const rows = leg.ledger.messages.listExpired({ source, target, nowSec, limit: MAX_RECEIPTS_AT_ONCE });
    if (rows.length === 0) return;
    // An unreadable row has no receipt to read: it ends with its timeout.
    const candidates = rows.flatMap((row) => toCandidate(row));
    const timeSec = highest(0n, ...rows.map((row) => row.timeoutSec));
    const { relayerOf, unsure } = await readCertainReceipts(leg, candidates, { timeSec });
    await endConfirmed(leg, candidates, relayerOf);
    leg.ledger.transaction(() => {
      const expired = leg.ledger.messages.findAll(rows.map(({ commitment }) => commitment), target)
        .filter((row) => row !== undefined)
        .filter(({ commitment, state }) =>
          state !== "submitted" && !isTerminal(state) && !unsure.has(commitment)
        );
      endAll(leg, expired, { to: "timed_out" });
    });
    if (unsure.size > 0) {
      const fields = { leg: legName(leg), messages: unsure.size };
      leg.log.debug("read_failed.receipts", fields);
      return;
    }
  }
}

/**
 * Records deliveries of ours with one receipt each and one block, and their rewards, if they have one. Call it within a
 * ledger transaction.
 */
export function recordDeliveries(
  { ledger, settings: { hub, listedModules } }: RelayContext,
  messages: readonly MessageRow[],
  receipt: DeliveryReceipt,
): void {
  const listed = listedModules();
  const delivered = messages.map((message) => {
    const { requestCommitment: commitment, requestSource: source, requestDest, kind, target: dest } = message;
    // Most modules have no reward, so that their messages need not be read.
    if (source === hub && kind === "post" && listed?.has(toHex(message.module))) {
      const parsed = parseRow(message);
      const payload = parsed.kind === "post" ? postRequestCodec.enc(parsed.request) : new Uint8Array();
      const { height } = receipt.block;
      ledger.rewards.record({ kind: "request", chain: dest, reference: commitment, height, payload });
    }
    // Only requests from chain to chain carry a fee that the hub credits.
    const isPaid = kind === "post" && requestDest === dest && source !== hub && dest !== hub;
    return { commitment, dest, source, isPaid };
  });
  ledger.deliveries.recordAll(delivered, receipt);
}

/**
 * Records a receipt of ours without a transaction in the journal, unless the delivery is already known. `head` is the
 * target's height at which it was seen; settling confirms it once that is final.
 */
export function recordFoundReceipt(
  context: RelayContext,
  message: MessageRow,
  found: { readonly relayer: Uint8Array; readonly head: bigint },
): void {
  if (context.ledger.deliveries.find(message.requestCommitment, message.target) !== undefined) return;
  const block = { height: found.head, hash: undefined };
  recordDeliveries(context, [message], {
    relayer: found.relayer,
    txHash: undefined,
    block,
    isFinal: false,
  });
}

/**
 * Records a receipt of ours of a message that ended otherwise: with another relayer's delivery that is gone, or in a
 * database that was lost. What is open finds its receipt by itself.
 * @param seen.commitment of the request
 */
export function recordSeenDelivery(
  context: RelayContext,
  seen: Pick<MessageRow, "commitment" | "target"> & { readonly relayer: Uint8Array; readonly head: bigint },
): void {
  const message = context.ledger.messages.findDelivered(seen.commitment, seen.target);
  if (message === undefined || !isTerminal(message.state)) return;
  recordFoundReceipt(context, message, seen);
  if (message.state !== "delivered_by_other") return;
  const detail = "the receipt is ours";
  transition(context, message, { to: "delivered", reason: endReasons.delivered, detail });
}
