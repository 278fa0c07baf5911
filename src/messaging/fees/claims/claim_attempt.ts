/**
 * Claims on the hub: which rows of a pair are claimed together and for whom, and one attempt to claim them. A group that
 * the hub refuses is halved until it takes a part; the rest follows once that is included. A row is claimed only when the
 * hub says so (I7), and one bad row does not keep the fees of 49 others.
 * Rules: docs/protocol/messaging.md sections 14.2 and 14.3; polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/accumulate.rs.
 */
import type { ClaimStatus, HubCallRefusal, RelayerHubCall } from "../../../core/chains/hub.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { Refusal } from "../../../core/chains/submission.ts";
import { equalBytes, type Hash256 } from "../../../core/encoding/bytes.ts";
import type { WithdrawalProof } from "../../../core/ismp/fees.ts";
import { withdrawMessage } from "../../../core/ismp/signed_messages.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { onFault, RpcFault, type RpcFaultCode } from "../../../core/rpc/call.ts";
import { partsOf } from "../../../core/runtime/slices.ts";
import type { DeliveryRow } from "../../ledger/ledger.ts";
import { type FeeContext, findKey } from "../fee_context.ts";
import { isAboutChain } from "../hub_calls.ts";

/** Maximum number of commitments per claim, as upstream. */
export const CLAIM_GROUP_SIZE = 50;

/** State of one request on the chains. */
export interface ClaimedRequest {
  /** Fee on the source chain, units of its fee token; 0: none. */
  readonly fee: bigint;
  /** On the hub, in its newest final block. */
  readonly onHub: ClaimStatus;
}

/** Account credited instead of the delivering one. Requires a signature of the delivering key. */
export interface ClaimBeneficiary {
  readonly account: Uint8Array;
  /** The hub counts `Relayer.Nonce` for this pair; read it right before signing each claim. */
  readonly nonceOf: { readonly address: Uint8Array; readonly chain: StateMachine };
}

/** One claim: one extrinsic, which the hub accepts or refuses as a whole. */
export interface ClaimGroup {
  readonly source: StateMachine;
  readonly dest: StateMachine;
  /** Relayer that the receipts must name. */
  readonly relayer: Uint8Array;
  /** At most {@link CLAIM_GROUP_SIZE}, oldest block first. */
  readonly commitments: readonly Hash256[];
  /** Heights known to the hub at which to prove. */
  readonly sourceHeight: bigint;
  readonly destHeight: bigint;
  readonly beneficiary: ClaimBeneficiary | undefined;
  /** Latest fee of each request, which its proof must show; requests without an entry accept any fee. */
  readonly minFees: ReadonlyMap<Hash256, bigint>;
}

/** Row that ends without a claim. */
export interface SettledClaim {
  readonly commitment: Hash256;
  readonly to: "claimed" | "no_fee" | "unclaimable";
  readonly why: "claimed_already" | "fee_is_zero" | "unknown_to_hub";
}

/** Plan for rows of one pair. */
export interface ClaimPlan<Row> {
  /** Commitments to claim, with their fees. */
  readonly fees: ReadonlyMap<Hash256, bigint>;
  readonly settled: readonly SettledClaim[];
  /** Rows to be claimed later: they could not be read. */
  readonly waiting: readonly Row[];
}

/** Decides which rows are claimed, in their order. Pure. */
export function planClaims<Row extends Pick<DeliveryRow, "commitment">>(
  rows: readonly Row[],
  requests: ReadonlyMap<Hash256, ClaimedRequest>,
): ClaimPlan<Row> {
  const fees = new Map<Hash256, bigint>();
  const settled: SettledClaim[] = [];
  const waiting: Row[] = [];
  for (const row of rows) {
    const { commitment } = row;
    const request = requests.get(commitment);
    if (request === undefined) {
      waiting.push(row);
      continue;
    }
    const { fee, onHub } = request;
    if (onHub === "claimed") settled.push({ commitment, to: "claimed", why: "claimed_already" });
    else if (fee === 0n) settled.push({ commitment, to: "no_fee", why: "fee_is_zero" });
    else if (onHub === "unknown") settled.push({ commitment, to: "unclaimable", why: "unknown_to_hub" });
    else fees.set(commitment, fee);
  }
  return { fees, settled, waiting };
}

/**
 * Finds the account credited when it is not the delivering address itself: our address on the source, from which fees
 * are withdrawn. Without a key for both of them the fees stay with the delivering address.
 */
export function findBeneficiary(
  context: Pick<FeeContext, "chains" | "hubKey">,
  { source, relayer }: Pick<ClaimGroup, "source" | "relayer">,
): ClaimBeneficiary | undefined {
  const account = context.chains.get(source)?.relayer;
  if (account === undefined || equalBytes(account, relayer) || findKey(context, relayer) === undefined) {
    return undefined;
  }
  return { account, nonceOf: { address: relayer, chain: source } };
}

/** Row that the hub refuses even on its own. */
export interface RefusedRow {
  readonly commitment: Hash256;
  readonly refusal: Refusal | HubCallRefusal;
}

/** Request whose proof shows less than its latest fee: the hub would pay the old one, and only once. */
export interface RaisedFee {
  readonly commitment: Hash256;
  /** Units of the source's fee token. */
  readonly newest: bigint;
  readonly proven: bigint;
}

/** What an attempt finds out about rows that it does not claim. */
export interface ClaimFindings {
  readonly refused: RefusedRow[];
  /** Rows whose receipt at the proof height is not ours. */
  readonly lost: Hash256[];
  /** Rows whose latest fee is not in the state of the source at the proof height. */
  readonly raised: RaisedFee[];
}

/** How an attempt ended: a claim of the group or of a part was sent, the hub takes none of the pair now, or none is left. */
export type ClaimEnd = { readonly kind: "sent" | "nothing_left" } | {
  readonly kind: "not_ready";
  readonly detail: string;
};

/** Context of an attempt. */
export interface ClaimWork {
  readonly context: FeeContext;
  readonly findings: ClaimFindings;
  /**
   * Journals and sends a claim; returns why the hub's transaction pool refused it. @param fees of the group as they are
   * proved: what the hub pays
   */
  readonly send: (
    group: ClaimGroup,
    call: RelayerHubCall,
    fees: readonly bigint[],
  ) => Promise<Refusal | undefined>;
}

/**
 * Claims the group, or the first part of it that the hub takes. Call it while holding the beneficiary's nonce (see
 * `NonceTurns`).
 */
export async function claimFirst(
  work: ClaimWork,
  group: ClaimGroup,
  signal: AbortSignal,
): Promise<ClaimEnd> {
  const { context, findings } = work;
  const proofs = await proveClaim(context, group, signal);
  if (proofs.kind === "refused") return await claimHalves(work, group, proofs.refusal, signal);
  const { lost, raised, rest } = checkProofs(group, proofs);
  findings.lost.push(...lost);
  findings.raised.push(...raised);
  if (rest === undefined) return { kind: "nothing_left" };
  if (rest.commitments.length < group.commitments.length) return await claimFirst(work, rest, signal);
  const beneficiaryDetails = await permit(context, group, signal);
  const proof: WithdrawalProof = { ...proofs.proof, beneficiaryDetails };
  const call: RelayerHubCall = { kind: "accumulate", proof };
  const refusal = await context.hub.hubCalls.dryRunCall(call, signal) ??
    await work.send(group, call, proofs.fees);
  if (refusal === undefined) return { kind: "sent" };
  if (isAboutChain(refusal)) return { kind: "not_ready", detail: refusal.detail };
  // A withdrawal may also have used the nonce meanwhile: it is read again for each half.
  return await claimHalves(work, group, refusal, signal);
}

/** Claims the first half of a refused group that the hub takes; a single row is refused. */
async function claimHalves(
  work: ClaimWork,
  group: ClaimGroup,
  refusal: RefusedRow["refusal"],
  signal: AbortSignal,
): Promise<ClaimEnd> {
  const { commitments } = group;
  if (commitments.length === 1) {
    work.findings.refused.push(...commitments.map((commitment) => ({ commitment, refusal })));
    return { kind: "nothing_left" };
  }
  for (const part of partsOf(commitments, Math.ceil(commitments.length / 2))) {
    const end = await claimFirst(work, { ...group, commitments: part }, signal);
    if (end.kind !== "nothing_left") return end;
  }
  return { kind: "nothing_left" };
}

/** Keeps the rows whose proofs show our receipt and at least the newest fee on the source. */
export function checkProofs(
  group: ClaimGroup,
  { relayers, fees }: Pick<Extract<Proved, { kind: "proved" }>, "relayers" | "fees">,
): Pick<ClaimFindings, "lost" | "raised"> & {
  /** `undefined` when nothing is left. */
  readonly rest: ClaimGroup | undefined;
} {
  const { length } = group.commitments;
  if (relayers.length !== length || fees.length !== length) throw new Error("Proofs do not match the claims");
  const [kept, lost, raised]: [Hash256[], Hash256[], RaisedFee[]] = [[], [], []];
  for (const [index, commitment] of group.commitments.entries()) {
    const [relayer, proven = 0n, newest = 0n] = [relayers[index], fees[index], group.minFees.get(commitment)];
    if (relayer === undefined || !equalBytes(relayer, group.relayer)) lost.push(commitment);
    else if (proven < newest) raised.push({ commitment, newest, proven });
    else kept.push(commitment);
  }
  return { lost, raised, rest: kept.length === 0 ? undefined : { ...group, commitments: kept } };
}

/** Faults that a single commitment may cause for all that are proved together with it. */
const ABOUT_A_ROW: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["not_found", "too_large"]);

type Proved =
  | {
    readonly kind: "proved";
    readonly proof: Omit<WithdrawalProof, "beneficiaryDetails">;
    readonly relayers: readonly (Uint8Array | undefined)[];
    readonly fees: readonly bigint[];
  }
  | { readonly kind: "refused"; readonly refusal: Refusal };

async function proveClaim(context: FeeContext, group: ClaimGroup, signal: AbortSignal): Promise<Proved> {
  const { commitments, sourceHeight, destHeight } = group;
  const source = chainOf(context, group.source);
  const dest = chainOf(context, group.dest);
  const proved = await Promise.all([
    context.hub.reads.fetchStateRoot({ id: source.id, height: sourceHeight }, signal)
      .then((stateRoot) => source.proofs.proveFees(commitments, { height: sourceHeight, stateRoot }, signal)),
    context.hub.reads.fetchStateRoot({ id: dest.id, height: destHeight }, signal)
      .then((stateRoot) => dest.proofs.proveReceipts(commitments, { height: destHeight, stateRoot }, signal)),
  ]).catch(onFault((fault) => fault, ...ABOUT_A_ROW));
  if (proved instanceof RpcFault) {
    return { kind: "refused", refusal: { code: "bad_proof", detail: proved.message } };
  }
  const [fees, receipts] = proved;
  const proof = {
    commitments,
    sourceProof: { height: { id: source.id, height: sourceHeight }, proof: fees.proof },
    destProof: { height: { id: dest.id, height: destHeight }, proof: receipts.proof },
  };
  return { kind: "proved", proof, relayers: receipts.relayers, fees: fees.fees };
}

/** Signs the permission to credit another account; `undefined` when the delivering account is credited. */
async function permit(
  context: FeeContext,
  group: ClaimGroup,
  signal: AbortSignal,
): Promise<WithdrawalProof["beneficiaryDetails"]> {
  const { beneficiary } = group;
  if (beneficiary === undefined) return undefined;
  const key = findKey(context, group.relayer);
  if (key === undefined) throw new Error("A claim for a beneficiary has no key");
  const { nonceOf: { address, chain } } = beneficiary;
  const nonce = await context.hub.accounts.fetchRelayerNonce(address, chain, signal);
  const message = withdrawMessage({
    nonce,
    destChain: group.source,
    beneficiary: beneficiary.account,
  });
  return [beneficiary.account, await key.signMessage(message, signal)];
}

function chainOf(context: FeeContext, name: StateMachine): Chain {
  const chain = context.chains.get(name);
  if (chain === undefined) throw new Error(`${name} is not configured`);
  return chain;
}
