/**
 * Finds the updates that lead the hub's client to the newest Heimdall block: the last block of every set of validators
 * that it missed, then the newest block with its milestone. Each is verified as the hub will.
 */
import { mapError } from "../../spec/client_error.ts";
import type { HeimdallNode, StoredMilestone } from "./heimdall_node.ts";
import type { CometHeader } from "./spec/comet_header.ts";
import type {
  PolygonConsensusState,
  PolygonUpdate,
  ProvenMilestone,
  SignedHeimdallHeader,
  TrustedHeimdall,
} from "./spec/update.ts";
import { PolygonError } from "./spec/polygon_error.ts";
import { type PolygonHubView, verifyPolygonUpdate } from "./spec/verify_update.ts";
import type { EvmReader } from "../../evm_reader.ts";
import { ProverFault } from "../../prover.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";

/** Where updates are searched, and what they are verified against. */
export interface SearchPlace {
  readonly chain: StateMachine;
  readonly node: HeimdallNode;
  readonly bor: Pick<EvmReader, "fetchHeader">;
  readonly hub: PolygonHubView;
}

/** Updates in the order in which the hub takes them. */
export interface UpdateChain {
  readonly updates: readonly PolygonUpdate[];
  /** State of the client after them. */
  readonly state: PolygonConsensusState;
  /** Milestone of the last one. */
  readonly milestone: StoredMilestone | undefined;
  /** Why they end: the newest block is reached, the extrinsic is full, or there is nothing (more) to prove. */
  readonly end: "head" | "full" | "no_new_block" | "no_new_milestone" | "no_bor_block";
}

/** Newest block, with its milestone. */
export interface HeimdallHead {
  readonly signed: SignedHeimdallHeader;
  /** Newest milestone in the state that the block's header names. */
  readonly milestone: StoredMilestone | undefined;
}

/** Collects updates on a copy of the state, as many as fit into an extrinsic. */
export async function collectUpdates(
  place: SearchPlace,
  { trusted, head }: { readonly trusted: PolygonConsensusState; readonly head: HeimdallHead },
  signal: AbortSignal,
): Promise<UpdateChain> {
  const updates: PolygonUpdate[] = [];
  let state = trusted;
  const milestoneEnd = head.milestone?.milestone.endBlock;
  const { header } = head.signed;
  while (updates.length < MAX_CHAINED_UPDATES) {
    const plan = planPolygonUpdate(state, { head: header, milestoneEnd, nowSec: place.hub.nowSec });
    if (plan.action === "wait") return { updates, state, milestone: undefined, end: plan.reason };
    if (plan.action === "catch_up") {
      const signed = await findLastOfSet(place, state, header.height, signal);
      const update = await complete(place, { signed, milestone: undefined }, signal);
      state = verified(place, state, update);
      updates.push(update);
      continue;
    }
    const milestone = plan.withMilestone ? await findMilestone(place, head.milestone, signal) : undefined;
    if (plan.withMilestone && milestone === undefined) {
      return { updates, state, milestone: undefined, end: "no_bor_block" };
    }
    const update = await complete(place, { signed: head.signed, milestone }, signal);
    state = verified(place, state, update);
    updates.push(update);
    return { updates, state, milestone: milestone && head.milestone, end: "head" };
  }
  return { updates, state, milestone: undefined, end: "full" };
}

/** Finds the highest block below `head` that the client's next validators signed. The block after the trusted one is. */
async function findLastOfSet(
  { chain, node }: SearchPlace,
  { heimdall }: PolygonConsensusState,
  head: bigint,
  signal: AbortSignal,
): Promise<SignedHeimdallHeader> {
  let low = heimdall.height + 1n;
  let found = await node.fetchSignedHeader(low, signal);
  if (!isSignedByNextSet(heimdall, found.header)) {
    const detail =
      `block ${low} has other validators than block ${heimdall.height} announced, which the hub's ` +
      "client trusts: heimdall_rpc_url serves another chain or a fork";
    throw new ProverFault("bad_data", { chain, endpoint: node.host, detail });
  }
  for (let high = head; high - low > 1n;) {
    const middle = low + (high - low) / 2n;
    const signed = await node.fetchSignedHeader(middle, signal);
    if (isSignedByNextSet(heimdall, signed.header)) [low, found] = [middle, signed];
    else high = middle;
  }
  return found;
}

/** Adds the Bor header; `undefined`: no endpoint has the block yet. */
async function findMilestone(
  { bor }: SearchPlace,
  stored: StoredMilestone | undefined,
  signal: AbortSignal,
): Promise<ProvenMilestone | undefined> {
  if (stored === undefined) return undefined;
  const found = await bor.fetchHeader(stored.milestone.hash, signal);
  return found && { ...stored, borHeader: found.header };
}

/** Adds the validators of the next block. */
async function complete(
  { node }: SearchPlace,
  { signed, milestone }: Pick<PolygonUpdate, "milestone"> & { readonly signed: SignedHeimdallHeader },
  signal: AbortSignal,
): Promise<PolygonUpdate> {
  const nextValidators = await node.fetchValidators(signed.header.height + 1n, signal);
  return { signedHeader: signed, nextValidators, milestone };
}

/** State of the client after the update. */
function verified(
  { chain, node, hub }: SearchPlace,
  state: PolygonConsensusState,
  update: PolygonUpdate,
): PolygonConsensusState {
  return mapError(PolygonError, () => verifyPolygonUpdate(state, update, hub).consensusState, (cause) => {
    const { height } = update.signedHeader.header;
    const detail = `the hub would refuse an update of Heimdall block ${height} (${cause.code})`;
    return new ProverFault("bad_data", { chain, endpoint: node.host, detail }, { cause });
  });
}

/** Maximum number of updates in one extrinsic: about 30 KB each. */
const MAX_CHAINED_UPDATES = 8;

/** Parts of the trusting period after which a header is proved though there is no new milestone. */
const RENEWALS_PER_PERIOD = 4n;

/** What is known of the newest block. */
export interface PolygonPlanInput {
  readonly head: Pick<CometHeader, "height" | "validatorsHash">;
  /** Height of the Bor block that the newest milestone makes final; `undefined`: there is no milestone. */
  readonly milestoneEnd: bigint | undefined;
  /** Clock of the hub, Unix seconds. */
  readonly nowSec: bigint;
}

/** What is to be proved. */
export type PolygonPlan =
  /** Nothing. */
  | { readonly action: "wait"; readonly reason: "no_new_block" | "no_new_milestone" }
  /** Older blocks first: the validators changed since the trusted block, and the client does not know them. */
  | { readonly action: "catch_up" }
  /** The newest block: for its milestone, or for the trust in it alone. */
  | { readonly action: "advance"; readonly withMilestone: boolean };

/** True when the client's next validators signed the block. */
function isSignedByNextSet(
  { nextValidatorsHash }: Pick<TrustedHeimdall, "nextValidatorsHash">,
  { validatorsHash }: Pick<CometHeader, "validatorsHash">,
): boolean {
  return validatorsHash === nextValidatorsHash;
}

/** Decides what is to be proved. */
export function planPolygonUpdate(
  { heimdall, finalizedBlock }: PolygonConsensusState,
  { head, milestoneEnd, nowSec }: PolygonPlanInput,
): PolygonPlan {
  if (head.height <= heimdall.height) return { action: "wait", reason: "no_new_block" };
  if (!isSignedByNextSet(heimdall, head)) return { action: "catch_up" };
  if (milestoneEnd !== undefined && milestoneEnd > finalizedBlock) {
    return { action: "advance", withMilestone: true };
  }
  const ageSec = nowSec - heimdall.timestampSec;
  return ageSec * RENEWALS_PER_PERIOD < heimdall.trustingPeriodSec
    ? { action: "wait", reason: "no_new_milestone" }
    : { action: "advance", withMilestone: false };
}
