/** Finds out for certain which requests their own chain does not know any more: that ends their messages. */
import type { Chain } from "../../core/chains/port.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import { toReceiptKey, toRequest } from "./decisions/route.ts";
import type { Leg, LegProfit, PipelineDeps } from "./leg.ts";
import type { Candidate } from "./receipts.ts";
import type { Refused } from "./bisect_batch.ts";

/** What is asked of the chain on which a request was made. */
export type RequestChain = Pick<Chain, "id" | "fetchCertainFees">;

/**
 * The requests that are gone from `chain`: a node that has not reached the block in which they were seen does not
 * count, nor one with which another endpoint that answers disagrees. A chain that does not answer has lost none.
 */
export async function findGone(
  deps: PipelineDeps,
  requests: {
    readonly chain: RequestChain;
    /** The other end of the leg: it knows a block of the chain. */
    readonly other: Pick<Chain, "id" | "fetchView">;
    readonly commitments: readonly Hash256[];
  },
  signal: AbortSignal,
): Promise<ReadonlySet<Hash256>> {
  const { chain, other, commitments } = requests;
  if (commitments.length === 0) return new Set();
  try {
    // What came through the hub is in a block that the hub knows, whether or not we read it there.
    let { height } = await other.fetchView(chain.id, signal);
    for (const row of deps.ledger.messages.findAll(commitments, other.id.stateMachine)) {
      if (row !== undefined && row.seenAtHeight > height) height = row.seenAtHeight;
    }
    const fees = await chain.fetchCertainFees(commitments, { height }, signal);
    return new Set(commitments.filter((_, index) => {
      const fee = fees[index];
      return fee?.kind === "certain" && fee.value === undefined;
    }));
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    deps.log.debug("request_removal_unconfirmed", {
      chain: chain.id.stateMachine,
      error,
    });
    return new Set();
  }
}

/** The candidates whose requests their sources surely do not know any more. */
export async function findGoneRequests(
  deps: PipelineDeps,
  leg: Pick<Leg, "source">,
  { feeChains }: Pick<LegProfit, "feeChains">,
  candidates: readonly Candidate[],
  signal: AbortSignal,
): Promise<ReadonlySet<Candidate>> {
  const gone = new Set<Candidate>();
  for (const name of new Set(candidates.map(({ message }) => toRequest(message).source))) {
    const chain = feeChains.get(name);
    if (chain === undefined) continue;
    const members = candidates.filter(({ message }) => toRequest(message).source === name);
    const commitments = members.map(({ message }) => toReceiptKey(message));
    const lost = await findGone(deps, { chain, other: leg.source, commitments }, signal);
    for (const member of members) if (lost.has(toReceiptKey(member.message))) gone.add(member);
  }
  return gone;
}

/**
 * The same refusals, but an answer whose request the destination is said not to know ends only when that is certain:
 * until then it waits.
 */
export async function confirmUnknown(
  deps: PipelineDeps,
  leg: Pick<Leg, "source" | "target">,
  refused: readonly Refused[],
  signal: AbortSignal,
): Promise<readonly Refused[]> {
  const unknown = refused.filter(({ code }) => code === "unknown_message");
  if (unknown.length === 0) return refused;
  const answers = unknown.filter(({ message }) => message.kind === "getResponse");
  const commitments = answers.map(({ message }) => toReceiptKey(message));
  const gone = await findGone(deps, { chain: leg.target, other: leg.source, commitments }, signal);
  return refused.map((item) => {
    const isOpen = unknown.includes(item) &&
      !(answers.includes(item) && gone.has(toReceiptKey(item.message)));
    return isOpen ? { ...item, code: "not_ready" } : item;
  });
}
