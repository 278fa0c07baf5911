/**
 * Delivery of proofs of the hub to one EVM host that an operator asks for: what the worker would deliver next is found,
 * verified and simulated, and sent unless it is a dry run.
 */
import type { SpentGas } from "../../../core/chains/submission.ts";
import { OperationRefusal } from "../../../core/commands/operation.ts";
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { ProveByHand } from "../../followers/hub_consensus.ts";
import type { ProofResult } from "../../proven.ts";
import {
  countBytes,
  type HostDelivery,
  type HostFinding,
  lastOf,
  type TransactionProofs,
} from "./host_delivery.ts";
import type { BatchedProof } from "./proof_finder.ts";

/** Dependencies of proving by hand. */
export interface ProveHostDeps {
  readonly clock: Clock;
  readonly delivery: HostDelivery;
}

/**
 * Proves the hub to the host once. @throws {RpcFault} @throws {ProverFault} @throws {DeadlineFault} @throws
 * {OperationRefusal}
 */
export async function proveHost(
  { clock, delivery }: ProveHostDeps,
  { isDryRun, observer }: ProveByHand,
  signal: AbortSignal,
): Promise<ProofResult> {
  const startMs = clock.now();
  const misfits = await delivery.findMisfits(signal);
  if (misfits.length > 0) throw refuse(delivery, misfits.map(({ found }) => found).join("; "));
  const finding = await delivery.find("pool", signal);
  const buildMs = clock.now() - startMs;
  if (finding.kind !== "proofs") {
    return { ...explainNone(delivery, finding), updates: 0, bytes: 0, hasMore: false, buildMs };
  }
  const { proofs, ...end } = isDryRun
    ? await simulate(delivery, finding, signal)
    : await send(delivery, { finding, report: { observer, findMs: buildMs } }, signal);
  return {
    summary: describeProofs(finding, proofs),
    updates: proofs.length,
    bytes: countBytes(proofs),
    height: delivery.heightOf(proofs)?.toString(),
    hasMore: finding.hasMore,
    buildMs,
    ...end,
  };
}

/** How a transaction ended, or would end. */
type End = Pick<ProofResult, "outcome" | "text" | "transaction" | "cost"> & {
  /** Those that are in it: fewer than were found where they do not fit. */
  readonly proofs: readonly BatchedProof[];
};

async function simulate(
  delivery: HostDelivery,
  finding: TransactionProofs,
  signal: AbortSignal,
): Promise<End> {
  const { target } = delivery.route;
  const { result, proofs } = await delivery.simulate(finding, signal);
  if (result.kind === "refused") {
    const { code, detail } = result.refusal;
    return { proofs, outcome: "refused", text: `${target} would refuse it: ${code}: ${detail}` };
  }
  return {
    proofs,
    outcome: "possible",
    text: `Verified and simulated; ${target} would accept it.`,
    cost: toCost(result, false),
  };
}

async function send(
  delivery: HostDelivery,
  { finding, report }: {
    readonly finding: TransactionProofs;
    readonly report: Parameters<HostDelivery["send"]>[1];
  },
  signal: AbortSignal,
): Promise<End> {
  const { target } = delivery.route;
  const { result, proofs } = await delivery.send(finding, report, signal);
  switch (result.kind) {
    case "mined":
    case "wasted": {
      const { block, transaction, spent } = result;
      const [outcome, text] = result.kind === "mined"
        ? ["accepted" as const, `${target} accepted it in block ${block}.`]
        : [
          "overtaken" as const,
          `Another relayer's came first: it was paid for in block ${block} and changed nothing.`,
        ];
      return { proofs, outcome, text, transaction, cost: spent && toCost(spent, true) };
    }
    case "overtaken":
      return { proofs, outcome: "overtaken", text: "Another relayer's proofs came first." };
    case "refused": {
      const { code, detail } = result.refusal;
      return { proofs, outcome: "refused", text: `${target} refused it: ${code}: ${detail}` };
    }
    case "lost":
      return { proofs, outcome: "lost", text: `It was not included: ${result.reason}.` };
  }
}

/** Says why there is nothing to deliver. @throws {OperationRefusal} where there should be. */
function explainNone(
  delivery: HostDelivery,
  finding: Exclude<HostFinding, TransactionProofs>,
): Pick<ProofResult, "outcome" | "text"> {
  switch (finding.kind) {
    case "nothing":
      return { outcome: "nothing", text: `Nothing to prove: ${finding.reason}.` };
    case "settling":
      return { outcome: "nothing", text: "The endpoints do not show our last delivery yet: try again." };
    case "pending":
      return { outcome: "overtaken", text: "Another relayer's proofs are in the mempool." };
    case "unable":
      throw refuse(delivery, finding.reason);
    case "unusable":
      throw refuse(delivery, finding.detail);
  }
}

function refuse({ route: { chain, target } }: HostDelivery, detail: string): OperationRefusal {
  return new OperationRefusal(`No proof of ${chain} for ${target}: ${detail}.`);
}

/** Says what the proofs contain. */
function describeProofs(
  { purpose, knownHeight }: TransactionProofs,
  proofs: readonly BatchedProof[],
): string {
  const { blockNumber, state } = lastOf(proofs);
  const rotations = proofs.filter(({ checked }) => checked.rotates).length;
  const sets = rotations === 0
    ? `authority set ${state.current.id}`
    : `${rotations} ${rotations === 1 ? "rotation" : "rotations"} to authority set ${state.current.id}`;
  const why = purpose === "messages" ? ", a block with messages" : "";
  return `${sets}, relay chain block ${blockNumber}${why}; the host knows block ${knownHeight} of the hub`;
}

function toCost(
  { gasUsed, gasPriceWei, dataCostWei }: SpentGas,
  isPaid: boolean,
): NonNullable<ProofResult["cost"]> {
  return {
    gas: gasUsed.toString(),
    native: formatDecimal(gasUsed * gasPriceWei + dataCostWei, 18),
    isPaid,
  };
}
