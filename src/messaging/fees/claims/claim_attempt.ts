/**
 * Builds the call that claims a group of fees and dry-runs it on the hub. A refused group is bisected until the invalid
 * rows are isolated; nothing is sent here. A row is claimed only when the hub says so (I7); one bad row must not keep
 * the fees of 49 others.
 * Rules: docs/protocol/messaging.md sections 14.2 and 14.3.
 */
import type { RelayerHubCall } from "../../../core/chains/hub.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { Refusal } from "../../../core/chains/submission.ts";
import { equalBytes, type Hash256 } from "../../../core/encoding/bytes.ts";
import type { WithdrawalProof } from "../../../core/ismp/fees.ts";
import { beneficiaryMessage } from "../../../core/ismp/signed_messages.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault, type RpcFaultCode } from "../../../core/rpc/call.ts";
import type { ClaimBeneficiary, ClaimGroup } from "./claim_plan.ts";
import { type FeeContext, findKey, isAboutChain } from "../fee_context.ts";
import { partsOf } from "../../../core/runtime/slices.ts";

/** Claim that the hub would accept now. */
export interface ReadyClaim {
  readonly group: ClaimGroup;
  readonly call: RelayerHubCall;
  /** `Relayer.Nonce` that the beneficiary's permission is signed for. */
  readonly nonce: bigint | undefined;
}

/** Row that the hub refuses even on its own. */
export interface RefusedRow {
  readonly commitment: Hash256;
  readonly refusal: Refusal;
}

/** Result of bisecting a group. */
export interface BisectedClaims {
  /** To be sent one after the other; usually a single claim with every valid row. */
  readonly ready: readonly ReadyClaim[];
  readonly refused: readonly RefusedRow[];
  /** Rows whose receipt at the proof height is not ours. */
  readonly lost: readonly Hash256[];
  /** Rows whose latest fee is not in the state of the source at the proof height. */
  readonly raised: readonly RaisedFee[];
  /** Set when the hub is not ready for any claim of this pair. */
  readonly wait: Refusal | undefined;
}

/**
 * Maximum number of times a claim is signed again because its nonce was used meanwhile; after that the group counts as
 * refused.
 */
const MAX_NONCE_MOVES = 3;

/** Faults that a single commitment may cause for all that are proved together with it. */
const ABOUT_A_ROW: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["not_found", "too_large"]);

/** Rows that are left out of the claim because of their proofs. */
type LeftOut = Pick<BisectedClaims, "lost" | "raised">;

const nothingLeftOut: LeftOut = { lost: [], raised: [] };

type ClaimDryRun =
  & LeftOut
  & (
    | { readonly kind: "ready"; readonly claim: ReadyClaim }
    | { readonly kind: "empty" }
    | {
      readonly kind: "refused";
      readonly refusal: Refusal;
      readonly group: ClaimGroup;
      readonly nonce?: { readonly signed: bigint; readonly now: bigint } | undefined;
    }
  );

/**
 * Finds the rows of a group that can be claimed together. Call it while holding the beneficiary's nonce (see
 * `NonceTurns`).
 */
export async function bisectClaims(
  context: FeeContext,
  group: ClaimGroup,
  signal: AbortSignal,
): Promise<BisectedClaims> {
  const first = await bisectOnce(context, { group, nonceMoves: 0 }, signal);
  if (first.ready.length < 2) return first;
  const commitments = first.ready.flatMap((claim) => claim.group.commitments);
  const whole = await dryRunClaim(context, { ...group, commitments }, signal);
  const isWhole = whole.kind === "ready" && whole.lost.length === 0 && whole.raised.length === 0;
  return isWhole ? { ...first, ready: [whole.claim] } : first;
}

async function bisectOnce(
  context: FeeContext,
  { group, nonceMoves }: { readonly group: ClaimGroup; readonly nonceMoves: number },
  signal: AbortSignal,
): Promise<BisectedClaims> {
  const dryRun = await dryRunClaim(context, group, signal);
  const { lost, raised } = dryRun;
  const none: BisectedClaims = { ready: [], refused: [], lost, raised, wait: undefined };
  if (dryRun.kind === "ready") return { ...none, ready: [dryRun.claim] };
  if (dryRun.kind === "empty") return none;
  const { refusal } = dryRun;
  if (isAboutChain(refusal)) return { ...none, wait: refusal };
  const nonce = nonceMoves < MAX_NONCE_MOVES ? dryRun.nonce : undefined;
  const next = afterRefusal(dryRun.group, nonce);
  if (next.kind === "defer") {
    return { ...none, refused: [{ commitment: next.commitment, refusal }] };
  }
  const moved = next.why === "nonce_moved" ? nonceMoves + 1 : nonceMoves;
  const parts: BisectedClaims[] = [none];
  for (const part of next.groups) {
    parts.push(await bisectOnce(context, { group: part, nonceMoves: moved }, signal));
  }
  return {
    ready: parts.flatMap((part) => part.ready),
    refused: parts.flatMap((part) => part.refused),
    lost: parts.flatMap((part) => part.lost),
    raised: parts.flatMap((part) => part.raised),
    wait: parts.map((part) => part.wait).find((wait) => wait !== undefined),
  };
}

async function dryRunClaim(
  context: FeeContext,
  group: ClaimGroup,
  signal: AbortSignal,
): Promise<ClaimDryRun> {
  const proofs = await proveClaim(context, group, signal);
  if (proofs.kind === "refused") return { ...proofs, group, ...nothingLeftOut };
  const { lost, raised, rest } = checkProofs(group, proofs);
  if (rest === undefined) return { kind: "empty", lost, raised };
  if (rest.commitments.length < group.commitments.length) {
    const dryRun = await dryRunClaim(context, rest, signal);
    return { ...dryRun, lost: [...lost, ...dryRun.lost], raised: [...raised, ...dryRun.raised] };
  }
  const permission = await permit(context, group, signal);
  const proof: WithdrawalProof = { ...proofs.proof, beneficiaryDetails: permission?.details };
  const call: RelayerHubCall = { kind: "accumulate", proof };
  const refusal = await context.hub.hubCalls.dryRunCall(call, signal);
  if (refusal === undefined) {
    return { kind: "ready", claim: { group, call, nonce: permission?.nonce }, ...nothingLeftOut };
  }
  if (permission === undefined) return { kind: "refused", refusal, group, ...nothingLeftOut };
  const { beneficiary } = permission;
  const nonce = { signed: permission.nonce, now: await readNonce(context, beneficiary, signal) };
  return { kind: "refused", refusal, group, nonce, ...nothingLeftOut };
}

/** Keeps the rows whose proofs show our receipt and at least the newest fee on the source. */
export function checkProofs(
  group: ClaimGroup,
  { relayers, fees }: Pick<Extract<Proved, { kind: "proved" }>, "relayers" | "fees">,
): LeftOut & {
  /** `undefined` when nothing is left. Its fee is not reduced: the hub sums what it finds. */
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
  try {
    const [fees, receipts] = await Promise.all([
      context.hub.reads.fetchStateRoot({ id: source.id, height: sourceHeight }, signal)
        .then((root) =>
          source.proofs.proveFees(commitments, { height: sourceHeight, stateRoot: root }, signal)
        ),
      context.hub.reads.fetchStateRoot({ id: dest.id, height: destHeight }, signal)
        .then((root) =>
          dest.proofs.proveReceipts(commitments, { height: destHeight, stateRoot: root }, signal)
        ),
    ]);
    const proof = {
      commitments,
      sourceProof: { height: { id: source.id, height: sourceHeight }, proof: fees.proof },
      destProof: { height: { id: dest.id, height: destHeight }, proof: receipts.proof },
    };
    return { kind: "proved", proof, relayers: receipts.relayers, fees: fees.fees };
  } catch (error) {
    if (!(error instanceof RpcFault) || !ABOUT_A_ROW.has(error.code)) throw error;
    return { kind: "refused", refusal: { code: "bad_proof", detail: error.message } };
  }
}

/** Permission of the delivering key to credit another account. */
interface Permission {
  readonly beneficiary: ClaimBeneficiary;
  readonly nonce: bigint;
  readonly details: NonNullable<WithdrawalProof["beneficiaryDetails"]>;
}

/** Signs the permission to credit another account; `undefined` when the delivering account is credited. */
async function permit(
  context: FeeContext,
  group: ClaimGroup,
  signal: AbortSignal,
): Promise<Permission | undefined> {
  const { beneficiary } = group;
  if (beneficiary === undefined) return undefined;
  const key = findKey(context, group.relayer);
  if (key === undefined) throw new Error("A claim for a beneficiary has no key");
  const nonce = await readNonce(context, beneficiary, signal);
  const message = beneficiaryMessage({
    nonce,
    sourceChain: group.source,
    beneficiary: beneficiary.account,
  });
  return { beneficiary, nonce, details: [beneficiary.account, await key.signMessage(message, signal)] };
}

/** Reads the nonce that the permission for a beneficiary is signed with. */
export function readNonce(
  context: FeeContext,
  { nonceOf }: ClaimBeneficiary,
  signal: AbortSignal,
): Promise<bigint> {
  return context.hub.accounts.fetchRelayerNonce(nonceOf.address, nonceOf.chain, signal);
}

function chainOf(context: FeeContext, name: StateMachine): Chain {
  const chain = context.chains.get(name);
  if (chain === undefined) throw new Error(`${name} is not configured`);
  return chain;
}

/** Request whose proof shows less than its latest fee: the hub would pay the old one, and only once. */
export interface RaisedFee {
  readonly commitment: Hash256;
  /** Units of the source's fee token. */
  readonly newest: bigint;
  readonly proven: bigint;
}

/** What follows for a group that the hub refused. */
export type AfterRefusal =
  /** Submit these, one after the other, each with a fresh nonce. */
  | {
    readonly kind: "submit";
    readonly groups: readonly ClaimGroup[];
    readonly why: "nonce_moved" | "bisect";
  }
  /** This row alone is refused: receipt, fee and claim are read again, then it waits like a failed hub message. */
  | { readonly kind: "defer"; readonly commitment: Hash256 };

/**
 * Decides what follows for a group that the transaction pool or the pallet refused.
 * @param nonce `Relayer.Nonce` when it was signed and now; `undefined` without a beneficiary
 */
export function afterRefusal(
  group: ClaimGroup,
  nonce: { readonly signed: bigint; readonly now: bigint } | undefined,
): AfterRefusal {
  if (nonce !== undefined && nonce.signed !== nonce.now) {
    return { kind: "submit", groups: [group], why: "nonce_moved" };
  }
  const [commitment] = group.commitments;
  if (commitment === undefined) throw new Error("Empty group of claims");
  if (group.commitments.length === 1) return { kind: "defer", commitment };
  const groups = partsOf(group.commitments, Math.ceil(group.commitments.length / 2)).map((commitments) => ({
    ...group,
    commitments,
  }));
  return { kind: "submit", groups, why: "bisect" };
}
