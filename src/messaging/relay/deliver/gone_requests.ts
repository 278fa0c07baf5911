/** Determines with certainty which requests no longer exist on their own chain: that ends their messages. */
import type { Chain } from "../../../core/chains/port.ts";
import type { CertainReads, ChainReads } from "../../../core/chains/reads.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { toReceiptKey, toRequest } from "../decisions/route.ts";
import type { LegProfit, LegRun, RelayDeps } from "../leg.ts";
import type { Candidate, Refused } from "../messages.ts";

/** Chain on which a request was made. */
export type RequestChain = Pick<Chain, "id"> & { readonly certain: Pick<CertainReads, "fetchCertainFees"> };

/**
 * Finds the requests that no longer exist on `chain`. Nodes that have not reached the block in which they were seen do
 * not count, nor do answers that another endpoint contradicts. If the chain does not answer, none is gone.
 */
async function findGone(
  context: RelayDeps,
  requests: {
    readonly chain: RequestChain;
    /** Other end of the leg, which knows a block of the chain. */
    readonly other: Pick<Chain, "id"> & { readonly reads: Pick<ChainReads, "fetchView"> };
    readonly commitments: readonly Hash256[];
  },
  signal: AbortSignal,
): Promise<ReadonlySet<Hash256>> {
  const { chain, other, commitments } = requests;
  if (commitments.length === 0) return new Set();
  try {
    // Messages routed by the hub are in a block that the hub knows, whether or not we read it there.
    let { height } = await other.reads.fetchView(chain.id, signal);
    for (const row of context.ledger.messages.findAll(commitments, other.id.stateMachine)) {
      if (row !== undefined && row.seenAtHeight > height) height = row.seenAtHeight;
    }
    const fees = await chain.certain.fetchCertainFees(commitments, { height }, signal);
    return new Set(commitments.filter((_, index) => {
      const fee = fees[index];
      return fee?.kind === "certain" && fee.value === undefined;
    }));
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    context.log.debug("read_failed.request_removal", {
      chain: chain.id.stateMachine,
      error,
    });
    return new Set();
  }
}

/** Finds the candidates whose requests certainly no longer exist on their sources. */
export async function findGoneRequests(
  leg: LegRun,
  { feeChains }: Pick<LegProfit, "feeChains">,
  candidates: readonly Candidate[],
): Promise<ReadonlySet<Candidate>> {
  const gone = new Set<Candidate>();
  for (const name of new Set(candidates.map(({ message }) => toRequest(message).source))) {
    const chain = feeChains.get(name);
    if (chain === undefined) continue;
    const members = candidates.filter(({ message }) => toRequest(message).source === name);
    const commitments = members.map(({ message }) => toReceiptKey(message));
    const lost = await findGone(leg, { chain, other: leg.source, commitments }, leg.signal);
    for (const member of members) if (lost.has(toReceiptKey(member.message))) gone.add(member);
  }
  return gone;
}

/**
 * Confirms refusals of responses whose request the destination does not know: such a response ends only when that is
 * certain; until then it waits.
 */
export async function confirmUnknown(
  leg: LegRun,
  refused: readonly Refused[],
): Promise<readonly Refused[]> {
  const unknown = refused.filter(({ code }) => code === "unknown_message");
  if (unknown.length === 0) return refused;
  const answers = unknown.filter(({ message }) => message.kind === "getResponse");
  const commitments = answers.map(({ message }) => toReceiptKey(message));
  const gone = await findGone(leg, { chain: leg.target, other: leg.source, commitments }, leg.signal);
  return refused.map((item) => {
    const isOpen = unknown.includes(item) &&
      !(answers.includes(item) && gone.has(toReceiptKey(item.message)));
    return isOpen ? { ...item, code: "not_ready" } : item;
  });
}
