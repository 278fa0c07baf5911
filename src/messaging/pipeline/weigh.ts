/**
 * Finds out which messages of a sifted batch pay for their delivery, and puts the others aside with the numbers of
 * the decision. The rule itself is in `decisions/profit.ts` and `decisions/batch_profit.ts`.
 */
import type { MessageRow } from "../../core/ledger/ledger.ts";
import type { Hash256 } from "../../core/protocol/bytes.ts";
import { toHex } from "../../core/protocol/bytes.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import { type BatchVerdict, decideBatch, type Prelude } from "../decisions/batch_profit.ts";
import { toFee18 } from "../decisions/money.ts";
import { paymentClassOf } from "../decisions/profit.ts";
import { receiptKeyOf, requestOf } from "../decisions/route.ts";
import {
  type FeeReader,
  type Leg,
  legName,
  type LegProfit,
  type PipelineDeps,
  type PipelineSettings,
} from "./leg.ts";
import { hold, mark } from "./mark.ts";
import { type Candidate, stillOpen } from "./receipts.ts";
import type { Sifted } from "./sift.ts";

/** A fee as it could be read: a number, gone with its request, or unread. */
export type Fee = { readonly kind: "fee"; readonly fee18: bigint } | { readonly kind: "gone" } | {
  readonly kind: "unread";
};

/**
 * The candidates of a part that are worth delivering. Unless that is all of them, the rest must be sifted anew
 * before it is sent, since the proof covers exactly the messages of the part.
 */
export async function weigh(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: {
    readonly part: Sifted;
    readonly candidates: readonly Candidate[];
    /** True when the consensus proofs of the part are sent whatever the messages pay. */
    readonly isPreludeSentAnyway: boolean;
  },
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const { profit } = leg;
  if (profit === undefined || profit.minimumPercent === 0) return work.candidates;
  const fees = await readFees(deps, legName(leg), profit, work.candidates, signal);
  const price = await profit.price.fetchPrice(signal);
  const { part } = work;
  const { gasPriceWei, dataCostWei, messageGas, gasUsed } = part.simulation;
  const shareOfData = dataCostWei / BigInt(Math.max(1, work.candidates.length));
  const offers = work.candidates.map(({ row, message }, index) => {
    const paymentClass = paymentClassOf(message, {
      hub: settings.hub,
      sink: leg.sink.id.stateMachine,
      isOwnWithdrawal: isOwnWithdrawal(deps, settings, row),
      isListedModule: settings.listedModules()?.has(toHex(requestOf(message).from)) ?? false,
    });
    const fee = fees.get(row.commitment);
    return {
      id: row.commitment,
      paymentClass,
      fee18: paymentClass === "filtered_hub_request" ? 0n : fee?.kind === "fee" ? fee.fee18 : undefined,
      gas: messageGas[index] ?? 0n,
      dataCostWei: shareOfData,
    };
  });
  const messagesGas = messageGas.reduce((sum, gas) => sum + gas, 0n);
  const prelude: Prelude = {
    gas: gasUsed > messagesGas ? gasUsed - messagesGas : 0n,
    dataCostWei: 0n,
    isSentAnyway: work.isPreludeSentAnyway || part.delivery.steps.length === 1,
  };
  const price27 = price.kind === "known" ? price.price27 : undefined;
  const { hold: held } = decideBatch(offers, prelude, {
    gasPriceWei,
    price27,
    profitPercent: profit.minimumPercent,
  });
  return deps.ledger.transaction(() => putAside(deps, settings, { ...work, held, fees }));
}

/** True for the hub's POST that carries money of ours: it is worth its delivery whatever that costs. */
export function isOwnWithdrawal(
  deps: Pick<PipelineDeps, "ledger">,
  { hub }: Pick<PipelineSettings, "hub">,
  row: Pick<MessageRow, "kind" | "requestSource" | "requestCommitment">,
): boolean {
  if (row.kind !== "post" || row.requestSource !== hub) return false;
  return deps.ledger.withdrawals.findByCommitment(row.requestCommitment) !== undefined;
}

/**
 * Reads the fees of all candidates; a chain that does not answer leaves its fees unread and nothing else.
 * @param leg names who asks, for the log
 */
export async function readFees(
  deps: PipelineDeps,
  leg: string,
  profit: LegProfit,
  candidates: readonly Candidate[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Hash256, Fee>> {
  const byChain = new Map<FeeReader, Candidate[]>();
  for (const candidate of candidates) {
    const chain = profit.feeChains.get(requestOf(candidate.message).source);
    if (chain === undefined) continue; // requests of the hub have no fee
    byChain.set(chain, [...byChain.get(chain) ?? [], candidate]);
  }
  const fees = new Map<Hash256, Fee>();
  await Promise.all([...byChain].map(async ([chain, members]) => {
    try {
      const keys = members.map(({ message }) => receiptKeyOf(message));
      const [units, decimals] = await Promise.all([
        chain.fetchFees(keys, signal),
        chain.fetchFeeTokenDecimals(signal),
      ]);
      for (const [index, { row }] of members.entries()) {
        const fee = units[index];
        fees.set(
          row.commitment,
          fee === undefined ? { kind: "gone" } : { kind: "fee", fee18: toFee18(fee, decimals) },
        );
      }
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      deps.log.debug("Fees could not be read", { leg, error });
      for (const { row } of members) fees.set(row.commitment, { kind: "unread" });
    }
  }));
  return fees;
}

/** Puts what does not pay aside with its numbers; returns the rest. */
function putAside(
  deps: PipelineDeps,
  settings: PipelineSettings,
  work: {
    readonly candidates: readonly Candidate[];
    readonly held: readonly BatchVerdict[];
    readonly fees: ReadonlyMap<Hash256, Fee>;
  },
): readonly Candidate[] {
  const heldOf = new Map(work.held.map((verdict) => [verdict.id, verdict]));
  return stillOpen(deps, work.candidates).filter(({ row }) => {
    if (work.fees.get(row.commitment)?.kind === "gone") {
      mark(deps, row, "gone", {
        reason: "request_gone",
        detail: "its source does not know the request any more",
      });
      return false;
    }
    const verdict = heldOf.get(row.commitment);
    if (verdict === undefined || verdict.kind !== "hold") return true;
    const { required18, fee18 } = verdict.numbers;
    const isForOperator = verdict.reason === "unprofitable" || verdict.reason === "price_unknown";
    hold(deps, settings, row, {
      reason: verdict.reason,
      retryClass: isForOperator ? "failed" : "transient",
      ...(required18 === undefined ? {} : { requiredUsd18: required18 }),
      ...(fee18 === undefined ? {} : { offeredUsd18: fee18 }),
    });
    return false;
  });
}
