/**
 * Consensus proofs of the hub for a message that an operator wants delivered where the target does not know its block
 * yet. They are found as for every delivery (`proof_follower.ts`); whether they pay is nobody's question here.
 */
import type { Simulation } from "../../../core/chains/submission.ts";
import type { CounterpartyView } from "../../../core/chains/reads.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import type { LegRun } from "../leg.ts";
import { maxTransactionBytes, roomForMessages } from "../limits/capacity.ts";
import { simulateAlone } from "./consensus_proofs.ts";
import { countCallBytes } from "./deliver.ts";
import { ProofFollower } from "./proof_follower.ts";
import { isProofUnderWay, sendConsensus } from "./send.ts";

/** Proofs that a message needs. */
export interface NeededProofs {
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
export interface CarriedProofs {
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

/** Finds the proofs with which the target can verify the message. */
export async function findNeededProofs(
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
      ", since the hub has accepted no proof of that block that its node serves and the host takes",
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
export function describeCarried(
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

/** Proofs that go ahead of the message, in a transaction of their own. */
export interface ProofsAhead {
  /** `refused`: the target would not take them, which was logged. `known`: another transaction delivers them. */
  readonly kind: "possible" | "sent" | "known" | "refused";
  readonly consensusProofs?: CarriedProofs;
}

/** Sends proofs ahead of the message; a dry run does everything but the sending. */
export async function sendAheadByHand(
  leg: LegRun,
  needed: NeededProofs,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<ProofsAhead> {
  const simulated = await simulateAlone(leg, needed.proofs);
  if (simulated === undefined) return { kind: "refused" };
  const consensusProofs = describeCarried(needed, simulated.simulation);
  if (isDryRun) return { kind: "possible", consensusProofs };
  return { kind: await sendConsensus(leg, { ...simulated, why: "ahead of messages" }), consensusProofs };
}
