/**
 * Scans the hub's final blocks for payments to us: those that we requested, and those requested elsewhere or recorded
 * in a lost database. The cursor moves together with the rows.
 * Rules: docs/protocol/messaging.md section 16.4.
 */
import type { ChainEvent } from "../../../core/chains/reads.ts";
import { equalBytes, type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import { u128 } from "../../../core/encoding/scale.ts";
import type { PostRequest } from "../../../core/ismp/message.ts";
import { isEvm, type StateMachine } from "../../../core/ismp/state_machine.ts";
import { onFault, type RpcFaultCode } from "../../../core/rpc/call.ts";
import type { EventCode } from "../../../core/telemetry/log.ts";
import { type FeeContext, isOwnPayee, type PayingChain, payingChains } from "../fee_context.ts";
import { notedHeight, type WithdrawalDispatch } from "../../ledger/ledger.ts";
import { nextChunk } from "../../relay/decisions/heights.ts";
import { toMessageRow } from "../../relay/messages.ts";
import { recordRow } from "../../relay/scan.ts";

function readCursor({ ledger, hub }: FeeContext): bigint | undefined {
  return ledger.notes.find("payments_scanned", hub.id.stateMachine, notedHeight);
}

function writeCursor({ ledger, hub }: FeeContext, height: bigint): void {
  ledger.notes.write("payments_scanned", hub.id.stateMachine, height.toString());
}

/**
 * Blocks scanned when there is no cursor, or a recent one: a day or more at the hub's block times (6 and 12 s).
 * Requests older than that are in the database, with the block from which to search for their payment.
 */
const LOOKBACK_BLOCKS = 14_400n;
/** Blocks per query when the hub sets no limit. */
const CHUNK_BLOCKS = 1_000n;

/** Faults of a node that has pruned the requested blocks. */
const KEPT_NO_LONGER: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["pruned", "not_found", "refused"]);

/** Scans new blocks up to the hub's final block; returns that block. */
export async function scanPayments(context: FeeContext, signal: AbortSignal): Promise<bigint> {
  const final = await context.hub.reads.fetchFinalHeight(signal);
  const isFirst = readCursor(context) === undefined;
  return await scanUpTo(context, final, signal).catch(onFault((error) => {
    if (!isFirst) throw error;
    // The node has pruned old blocks: nothing is known to be missing, so new blocks are enough.
    context.log.warn("blocks_skipped.payments_pruned", { error });
    context.ledger.transaction(() => writeCursor(context, final));
    return final;
  }, ...KEPT_NO_LONGER));
}

async function scanUpTo(context: FeeContext, final: bigint, signal: AbortSignal): Promise<bigint> {
  let scanned = startOf(context, final);
  const perQuery = context.hub.limits.blocksPerEventQuery ?? CHUNK_BLOCKS;
  for (;;) {
    const chunk = nextChunk(scanned, final, perQuery);
    if (chunk === undefined) return scanned;
    const posts = postsIn(await context.hub.events.fetchEvents(chunk.from, chunk.to, signal));
    for (const { name, chain } of payingChains(context)) {
      if (posts.some(({ request }) => request.dest === name)) await context.units.tryLearn(chain, signal);
    }
    context.ledger.transaction(() => {
      for (const paying of payingChains(context)) takePayments(context, paying, posts);
      writeCursor(context, chunk.to);
    });
    scanned = chunk.to;
  }
}

/** Last block that need not be scanned. */
function startOf(context: FeeContext, final: bigint): bigint {
  const cursor = readCursor(context);
  const floor = final > LOOKBACK_BLOCKS ? final - LOOKBACK_BLOCKS : 0n;
  if (cursor === undefined) return floor;
  const oldest = context.ledger.withdrawals.listOpen().filter(({ state }) => state === "requested")
    .map(({ hubBlock }) => hubBlock - 1n)
    .reduce((a, b) => a < b ? a : b, final);
  const start = oldest < floor ? oldest : floor;
  if (cursor >= start) return cursor;
  context.log.warn("blocks_skipped.payments_age", {
    from: cursor + 1n,
    to: start,
  });
  return start;
}

function postsIn(events: readonly ChainEvent[]): readonly PaymentPost[] {
  return events.flatMap((event) =>
    event.kind === "message" && event.message.kind === "post"
      ? [{
        commitment: event.message.commitment,
        request: event.message.request,
        hubBlock: event.at.height,
      }]
      : []
  );
}

function takePayments(context: FeeContext, paying: PayingChain, posts: readonly PaymentPost[]): void {
  const { withdrawals } = context.ledger;
  const fresh = posts.filter(({ commitment }) => withdrawals.findByCommitment(commitment) === undefined);
  const open = withdrawals.listOpen(paying.name).filter(({ state }) => state === "requested");
  const expected = open.map(({ id, address, beneficiary, amount }) => ({
    id,
    payee: beneficiary ?? address,
    amount,
  }));
  const { matches, unexpected } = matchPayments(expected, fresh, {
    hub: context.hub.id.stateMachine,
    chain: paying.name,
    isOwnPayee: (account) => isOwnPayee(context, paying, account),
  });
  for (const { id, post, payment } of matches) {
    const dispatch = takeDispatch(context, paying.name, post);
    withdrawals.update(id, { state: "dispatched", dispatch, amount: payment.amount });
    logPayment(context, "withdrawal_made.dispatched", { post, payment });
  }
  for (const found of unexpected) {
    const dispatch = takeDispatch(context, paying.name, found.post);
    withdrawals.record({
      chain: paying.name,
      address: found.payment.beneficiary,
      nonce: undefined,
      beneficiary: undefined,
      amount: found.payment.amount,
      hubBlock: dispatch.hubBlock,
      state: "dispatched",
      dispatch,
    });
    logPayment(context, "payment_found", found);
  }
  if (matches.length + unexpected.length > 0) context.legTo(paying.name).wake.wake();
}

/** Records the message that carries a payment: from now on it is delivered like others. */
function takeDispatch(
  context: FeeContext,
  target: StateMachine,
  { hubBlock, ...post }: PaymentPost,
): WithdrawalDispatch {
  const ends = { source: context.hub.id.stateMachine, target };
  const row = toMessageRow({ kind: "post", ...post }, ends, { seenAtHeight: hubBlock, state: "seen" });
  recordRow(context, row);
  // The leg may have read it before it was known as a payment, and have held it.
  context.ledger.messages.wake(ends.source, target, "hub_originated");
  return { commitment: post.commitment, encoded: row.encoded, hubBlock };
}

function logPayment(
  context: FeeContext,
  event: EventCode,
  { post, payment }: FoundPayment,
): void {
  const chain = post.request.dest;
  const amount = context.units.text(chain, payment.amount);
  context.log.info(event, { chain, amount, commitment: post.commitment });
}

/** Module of the hub that pays relayers: ASCII `ISMP-RLYR`. */
export const WITHDRAWAL_MODULE: Uint8Array = new TextEncoder().encode("ISMP-RLYR");

/** Content of a payment. */
export interface Payment {
  /** 20 bytes on EVM chains, 32 bytes on Substrate chains. */
  readonly beneficiary: Uint8Array;
  /** Units of the chain's fee token. */
  readonly amount: bigint;
}

/** Substrate bodies start with 0 at HEAD and with 2 in July 2025; the rest is the same. */
const SUBSTRATE_VARIANTS: readonly number[] = [0, 2];

const WORD = 32;

/** Parses the payment in the body of a request to `chain`; `undefined` when the body is something else. */
export function readPayment(chain: StateMachine, body: Uint8Array): Payment | undefined {
  return isEvm(chain) ? readEvmPayment(body) : readSubstratePayment(body);
}

/**
 * `00`, then the words beneficiary and amount; behind them at HEAD the token, in July 2025 a flag, at genesis nothing.
 */
function readEvmPayment(body: Uint8Array): Payment | undefined {
  const words = (body.length - 1) / WORD;
  const isPadded = body.subarray(1, 13).every((byte) => byte === 0);
  if (body[0] !== 0 || (words !== 2 && words !== 3) || !isPadded) return undefined;
  return { beneficiary: body.slice(13, 1 + WORD), amount: BigInt(toHex(body.slice(1 + WORD, 1 + 2 * WORD))) };
}

function readSubstratePayment(body: Uint8Array): Payment | undefined {
  const [variant = -1] = body;
  if (body.length !== 1 + 16 + 32 || !SUBSTRATE_VARIANTS.includes(variant)) return undefined;
  return { amount: u128.dec(body.slice(1, 17)), beneficiary: body.slice(17) };
}

/** Request dispatched by the hub, which may carry a payment. */
export interface PaymentPost {
  readonly commitment: Hash256;
  readonly request: PostRequest;
  /** Block of the hub that dispatched it. */
  readonly hubBlock: bigint;
}

/** Parses the payment of a request, if it is one of the hub's to `chain`. */
export function parsePayment(
  request: PostRequest,
  facts: { readonly hub: StateMachine; readonly chain: StateMachine },
): Payment | undefined {
  if (request.source !== facts.hub || request.dest !== facts.chain) return undefined;
  return equalBytes(request.from, WITHDRAWAL_MODULE) ? readPayment(facts.chain, request.body) : undefined;
}

/** Withdrawal whose payment is expected. */
export interface ExpectedPayment {
  readonly id: number;
  /** Recipient: the beneficiary named in the request, or else the address that signed it. */
  readonly payee: Uint8Array;
  /** Balance at the time of the request; the payment may be higher, since fees may have been credited since. */
  readonly amount: bigint;
}

/** Payment with the request that carries it. */
export interface FoundPayment {
  readonly post: PaymentPost;
  readonly payment: Payment;
}

/** Our payments, matched to withdrawals by id and unexpected. */
export interface MatchedPayments {
  readonly matches: readonly (FoundPayment & { readonly id: number })[];
  /** Payments to our own payees that no withdrawal expects: made elsewhere, or before the database was lost. */
  readonly unexpected: readonly FoundPayment[];
}

/**
 * Assigns payments of one chain to the withdrawals that expect them: equal amounts first, then the smallest that is
 * large enough, oldest withdrawal first. Payments to others are left out. Posts must not be known already.
 */
export function matchPayments(
  expected: readonly ExpectedPayment[],
  posts: readonly PaymentPost[],
  facts: {
    readonly hub: StateMachine;
    readonly chain: StateMachine;
    isOwnPayee(account: Uint8Array): boolean;
  },
): MatchedPayments {
  const open = posts.flatMap((post) => {
    const payment = parsePayment(post.request, facts);
    return payment === undefined || !facts.isOwnPayee(payment.beneficiary) ? [] : [{ post, payment }];
  }).sort((a, b) => a.payment.amount < b.payment.amount ? -1 : a.payment.amount > b.payment.amount ? 1 : 0);
  const matches: (FoundPayment & { readonly id: number })[] = [];
  const take = (row: ExpectedPayment, fits: (amount: bigint) => boolean): boolean => {
    const index = open.findIndex(({ payment }) =>
      equalBytes(payment.beneficiary, row.payee) && fits(payment.amount)
    );
    const [found] = index < 0 ? [] : open.splice(index, 1);
    if (found !== undefined) matches.push({ id: row.id, ...found });
    return found !== undefined;
  };
  const inexact = expected.toSorted((a, b) => a.id - b.id)
    .filter((row) => !take(row, (amount) => amount === row.amount));
  for (const row of inexact) take(row, (amount) => amount >= row.amount);
  return { matches, unexpected: open };
}
