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
  /** True: the extrinsic is full, and the newest block is not reached. */
  readonly hasMore: boolean;
  /** Reason that there is nothing (more) to prove; absent: the newest block is proved, or there is more. */
  readonly reason?: string;
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
  const end = (rest: Partial<UpdateChain> = {}): UpdateChain => ({
    updates,
    state,
    milestone: undefined,
    hasMore: false,
    ...rest,
  });
  while (updates.length < MAX_CHAINED_UPDATES) {
    const plan = planUpdate(state, head, place.hub.nowSec);
    if (plan.action === "wait") return end({ reason: plan.reason });
    const isCatchingUp = plan.action === "catch_up";
    const { stored } = plan;
    const milestone = stored && await findMilestone(place, stored, signal);
    if (stored !== undefined && milestone === undefined) {
      const reason =
        `no endpoint of rpc_urls has block ${stored.milestone.endBlock} of milestone ${stored.number} yet`;
      return end({ reason });
    }
    const { signed: { header: { height } } } = head;
    const signed = isCatchingUp ? await findLastOfSet(place, state, height, signal) : head.signed;
    const update = await complete(place, { signed, milestone }, signal);
    state = verified(place, state, update);
    updates.push(update);
    if (!isCatchingUp) return end({ milestone: stored });
  }
  return end({ hasMore: true });
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
  stored: StoredMilestone,
  signal: AbortSignal,
): Promise<ProvenMilestone | undefined> {
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

/** What is to be proved. */
type Plan =
  /** Nothing. */
  | { readonly action: "wait"; readonly reason: string }
  /** Older blocks first: the validators changed since the trusted block, and the client does not know them. */
  | { readonly action: "catch_up"; readonly stored?: undefined }
  /** The newest block: for its milestone, or for the trust in it alone. */
  | { readonly action: "advance"; readonly stored: StoredMilestone | undefined };

/** True when the client's next validators signed the block. */
function isSignedByNextSet(
  { nextValidatorsHash }: Pick<TrustedHeimdall, "nextValidatorsHash">,
  { validatorsHash }: Pick<CometHeader, "validatorsHash">,
): boolean {
  return validatorsHash === nextValidatorsHash;
}

/** Decides what is to be proved. @param nowSec clock of the hub, Unix seconds. */
function planUpdate(
  { heimdall, finalizedBlock }: PolygonConsensusState,
  { signed: { header }, milestone: stored }: HeimdallHead,
  nowSec: bigint,
): Plan {
  if (header.height <= heimdall.height) {
    return { action: "wait", reason: `the hub knows Heimdall block ${header.height}, the node's newest` };
  }
  if (!isSignedByNextSet(heimdall, header)) return { action: "catch_up" };
  if (stored !== undefined && stored.milestone.endBlock > finalizedBlock) {
    return { action: "advance", stored };
  }
  const ageSec = nowSec - heimdall.timestampSec;
  if (ageSec * RENEWALS_PER_PERIOD >= heimdall.trustingPeriodSec) {
    return { action: "advance", stored: undefined };
  }
  const reason = stored === undefined
    ? "Heimdall has no milestone yet"
    : `the hub knows block ${stored.milestone.endBlock}, which milestone ${stored.number} made final`;
  return { action: "wait", reason };
}
