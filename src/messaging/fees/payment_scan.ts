/**
 * Scans the hub's final blocks for payments to us: those that we requested, and those requested elsewhere or recorded
 * in a lost database. The cursor moves together with the rows.
 * Rules: docs/protocol/messaging.md section 16.4.
 */
import type { ChainEvent } from "../../core/chains/port.ts";
import type { WithdrawalRow } from "../ledger/ledger.ts";
import type { EventCode } from "../../core/telemetry/events.ts";
import { RpcFault, type RpcFaultCode } from "../../core/rpc/fault.ts";
import { nextChunk } from "../relay/decisions/heights.ts";
import { matchPayments, type Payment, type PaymentPost } from "./decisions/withdrawal_post.ts";
import { toMessageRow } from "../relay/messages.ts";
import { isOwnPayee, type PayingChain, payingChains, type PaymentDeps } from "./payment_context.ts";

const CURSOR = "payments of the hub read up to";

/**
 * Blocks scanned when there is no cursor, or a recent one: a day or more at the hub's block times (6 and 12 s).
 * Requests older than that are in the database, with the block from which to search for their payment.
 */
const LOOKBACK_BLOCKS = 14_400n;
/** Blocks per query when the hub sets no limit. */
const CHUNK_BLOCKS = 1_000n;

/** Faults of a node that has pruned the requested blocks. */
const KEPT_NO_LONGER: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["pruned", "not_found", "refused"]);

interface FoundPost extends PaymentPost {
  readonly hubBlock: bigint;
}

/** Scans new blocks up to the hub's final block; returns that block. */
export async function scanPayments(deps: PaymentDeps, signal: AbortSignal): Promise<bigint> {
  const final = await deps.hub.fetchFinalHeight(signal);
  const isFirst = deps.ledger.meta.find(CURSOR) === undefined;
  try {
    return await scanUpTo(deps, final, signal);
  } catch (error) {
    // The node has pruned old blocks: nothing is known to be missing, so new blocks are enough.
    if (!isFirst || !(error instanceof RpcFault) || !KEPT_NO_LONGER.has(error.code)) throw error;
    deps.log.warn("payments_unsearchable", {
      error,
    });
    deps.ledger.transaction(() => deps.ledger.meta.write(CURSOR, final.toString()));
    return final;
  }
}

async function scanUpTo(deps: PaymentDeps, final: bigint, signal: AbortSignal): Promise<bigint> {
  let scanned = startOf(deps, final);
  const perQuery = deps.hub.limits.blocksPerEventQuery ?? CHUNK_BLOCKS;
  for (;;) {
    const chunk = nextChunk(scanned, final, perQuery);
    if (chunk === undefined) return scanned;
    const posts = postsIn(await deps.hub.fetchEvents(chunk.from, chunk.to, signal));
    for (const { name, chain } of payingChains(deps)) {
      if (posts.some(({ request }) => request.dest === name)) await deps.units.tryLearn(chain, signal);
    }
    deps.ledger.transaction(() => {
      for (const paying of payingChains(deps)) takePayments(deps, paying, posts);
      deps.ledger.meta.write(CURSOR, chunk.to.toString());
    });
    scanned = chunk.to;
  }
}

/** Last block that need not be scanned. */
function startOf(deps: PaymentDeps, final: bigint): bigint {
  const stored = deps.ledger.meta.find(CURSOR);
  const floor = final > LOOKBACK_BLOCKS ? final - LOOKBACK_BLOCKS : 0n;
  if (stored === undefined) return floor;
  const cursor = BigInt(stored);
  const oldest = deps.ledger.withdrawals.listOpen().filter(({ state }) => state === "requested")
    .map(({ hubBlock }) => hubBlock - 1n)
    .reduce((a, b) => a < b ? a : b, final);
  const start = oldest < floor ? oldest : floor;
  if (cursor >= start) return cursor;
  deps.log.warn("old_payments_skipped", {
    from: cursor + 1n,
    to: start,
  });
  return start;
}

function postsIn(events: readonly ChainEvent[]): readonly FoundPost[] {
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

function takePayments(deps: PaymentDeps, paying: PayingChain, posts: readonly FoundPost[]): void {
  const { withdrawals } = deps.ledger;
  const fresh = posts.filter(({ commitment }) => withdrawals.findByCommitment(commitment) === undefined);
  const open = withdrawals.listOpen(paying.name).filter(({ state }) => state === "requested");
  const expected = open.map(({ id, address, beneficiary, amount }) => ({
    id,
    payee: beneficiary ?? address,
    amount,
  }));
  const { matches, unexpected } = matchPayments(expected, fresh, {
    hub: deps.hub.id.stateMachine,
    chain: paying.name,
    isOwnPayee: (account) => isOwnPayee(deps, paying, account),
  });
  const blockOf = new Map(fresh.map(({ commitment, hubBlock }) => [commitment, hubBlock]));
  const dispatchOf = (post: PaymentPost): NonNullable<WithdrawalRow["dispatch"]> => {
    const hubBlock = blockOf.get(post.commitment) ?? 0n;
    const ends = { source: deps.hub.id.stateMachine, target: paying.name };
    const { encoded } = toMessageRow({ kind: "post", ...post }, ends, hubBlock, { state: "seen" });
    return { commitment: post.commitment, encoded, hubBlock };
  };
  for (const { id, post, payment } of matches) {
    const change = { amount: payment.amount, attempts: 0, nextAttemptAtMs: deps.clock.now() };
    withdrawals.update(id, { state: "dispatched", dispatch: dispatchOf(post), ...change });
    logPayment(deps, paying, { post, payment }, "withdrawal_dispatched");
  }
  for (const found of unexpected) {
    const dispatch = dispatchOf(found.post);
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
    logPayment(deps, paying, found, "payment_found");
  }
}

function logPayment(
  deps: PaymentDeps,
  { name }: PayingChain,
  found: { readonly post: PaymentPost; readonly payment: Payment },
  event: EventCode,
): void {
  deps.log.info(event, {
    chain: name,
    amount: deps.units.text(name, found.payment.amount),
    commitment: found.post.commitment,
  });
}
