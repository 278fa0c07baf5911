/**
 * Loop that claims rewards of the hub's treasury for `[hub].signer`; without a signer the rows wait. Rules:
 * docs/protocol/messaging.md section 17; polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/{outbound_consensus,outbound_request}.rs.
 */
import { equalBytes, type Hash256, toHash256, toHex } from "../../../core/encoding/bytes.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";
import { postRequestCodec } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { onFault } from "../../../core/rpc/call.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import { type FeeContext, feeWorker } from "../fee_context.ts";
import { findErrorName, type HubCallEnd, isAboutChain } from "../hub_calls.ts";
import { MaturedHeights } from "../../../core/chains/matured_heights.ts";
import type { RewardRow, SubmissionRow } from "../../ledger/ledger.ts";
import type { RelayerHubCall } from "../../../core/chains/hub.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { Refusal } from "../../../core/chains/submission.ts";
import { contractSlotKey, epochRelayerSlot } from "../../../core/evm/host_storage.ts";
import type { Proof } from "../../../core/ismp/proof.ts";
import { consensusClaimMessage, requestClaimMessage } from "../../../core/ismp/signed_messages.ts";
import { CONFIRM_AFTER_MS } from "../../relay/decisions/retry_schedule.ts";

/** Poll interval of rewards, and pause of a refused one, ms. */
const REWARD_INTERVAL_MS = 600_000;

/** Reward as the hub sees it. */
interface RewardView {
  /** True when the hub has paid it to anybody, in a final block. */
  readonly isClaimed: boolean;
  /** The hub's offer for it, in its native token; 0: nothing. */
  readonly offered: bigint;
}

/** Why a reward ends without a claim, and as what; `undefined`: it is claimed. */
function findRewardEnd(
  { isClaimed, offered }: RewardView,
): { readonly state: "claimed" | "refused"; readonly detail: string } | undefined {
  if (isClaimed) return { state: "claimed", detail: "claimed_already" };
  return offered === 0n ? { state: "refused", detail: "nothing_offered" } : undefined;
}

/**
 * Errors of the pallet that no later attempt changes. "Already claimed" is none: the block that says so may not be final
 * for hours, and what is paid in a final one is seen before the next claim.
 */
const FINAL: ReadonlySet<string> = new Set([
  "OutboundNoRewardConfigured",
  "OutboundSignerMismatch",
  "OutboundDestinationNotEvm",
  "OutboundSignatureNotEvm",
  "OutboundRequestNoRewardConfigured",
  "OutboundRequestSignerMismatch",
  "OutboundRequestNotKnown",
  "OutboundRequestSourceNotHyperbridge",
  "OutboundRequestModuleIdTooLong",
  "OutboundRequestUnsupportedDestination",
]);

/**
 * True when no later claim of the reward can succeed; a lagging client or an empty treasury is temporary.
 * @param error name of the pallet's error; `undefined`: the transaction pool refused without a reason
 */
export function isFinalRefusal(error: string | undefined): boolean {
  return FINAL.has(error ?? "");
}

/** Maximum number of claims sent in one round; the others follow in the next ones, oldest first. */
const CLAIMS_PER_ROUND = 20;

/** Reward rounds and the state kept between them: heights in their challenge period. */
export class RewardRounds {
  readonly #context: FeeContext;
  readonly #heights: MaturedHeights;

  constructor(context: FeeContext) {
    this.#context = context;
    this.#heights = new MaturedHeights(context.hub);
  }

  /** Settles pending claims and sends those that are due; returns the number of pending claims. */
  async run(signal: AbortSignal): Promise<number> {
    const context = this.#context;
    await settleRewards(context, signal);
    const { hubKey } = context;
    const rows = this.#listDue();
    if (hubKey !== undefined && rows.length > 0) {
      await this.#claimDue(rows, toHash256(hubKey.address), signal);
    }
    return context.calls.listOpen("claim").length;
  }

  /** Rewards that no claim carries and whose time has come, oldest first. */
  #listDue(): readonly RewardRow[] {
    const { calls, ledger, clock, isUp, chains } = this.#context;
    const carried = new Set(calls.listOpen("claim").flatMap(({ id }) => keysOf(ledger, id)));
    return ledger.rewards.listOpen().filter((row) =>
      !carried.has(keyOf(row.chain, toRewardItem(row))) && row.nextAttemptAtMs <= clock.now() &&
      isUp(row.chain) && chains.get(row.chain)?.relayer !== undefined
    );
  }

  /** Claims what can be proved now; a chain that lags does not hold back the others. */
  async #claimDue(rows: readonly RewardRow[], payee: Hash256, signal: AbortSignal): Promise<void> {
    const context = this.#context;
    const matured = await this.#readMatured(rows, signal);
    const listed = rows.some(({ kind }) => kind === "request")
      ? await context.hub.rewards.fetchRewardedModules(signal)
      : new Map<string, bigint>();
    let claims = 0;
    for (const row of rows) {
      const proofHeight = matured.get(row.chain);
      if (proofHeight === undefined || proofHeight < row.height) continue; // waits; no request to the hub needed
      const view = await this.#view(row, listed, signal);
      const end = findRewardEnd(view);
      if (end !== undefined) this.#end(row, end);
      else if (++claims <= CLAIMS_PER_ROUND) {
        await this.#claim({ row, proofHeight, payee }, view.offered, signal);
      }
    }
  }

  /** Newest heights of the rows' chains on the hub whose challenge period is over. */
  async #readMatured(
    rows: readonly RewardRow[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<StateMachine, bigint | undefined>> {
    const chains = [...new Set(rows.map(({ chain }) => chain))]
      .flatMap((name) => this.#context.chains.get(name) ?? []);
    return new Map(
      await Promise.all(
        chains.map(async ({ id }) =>
          [id.stateMachine, (await this.#heights.read(id, signal)).matured] as const
        ),
      ),
    );
  }

  async #view(
    row: RewardRow,
    listed: ReadonlyMap<string, bigint>,
    signal: AbortSignal,
  ): Promise<RewardView> {
    const { hub } = this.#context;
    if (row.kind === "rotation") {
      const setId = BigInt(row.reference);
      const { amount, isClaimed } = await hub.rewards.fetchRotationReward(row.chain, setId, signal);
      return { isClaimed, offered: amount };
    }
    const { from } = decodeStrict(postRequestCodec, row.payload, "PostRequest");
    const isClaimed = await hub.rewards.fetchIsRequestClaimed(toHash256(row.reference), signal);
    return { isClaimed, offered: listed.get(toHex(from)) ?? 0n };
  }

  #end(row: RewardRow, end: NonNullable<ReturnType<typeof findRewardEnd>>): void {
    const { ledger, log } = this.#context;
    const state = ledger.transaction(() => endReward(this.#context, row, end));
    if (state !== "pending") log.info("reward_failed.dropped", { ...rewardFields(row), reason: end.detail });
  }

  async #claim(claim: RewardClaim, offered: bigint, signal: AbortSignal): Promise<void> {
    const context = this.#context;
    const { row } = claim;
    const isSent = await claimReward(context, claim, signal).catch(onFault((error) => {
      signal.throwIfAborted();
      // The chain does not answer: retried later, not counted as a failure of the reward.
      const nextAttemptAtMs = context.clock.now() + REWARD_INTERVAL_MS / 10;
      context.ledger.transaction(() =>
        void context.ledger.rewards.update(row, { state: "pending", nextAttemptAtMs })
      );
      context.log.debug("read_failed.rewards", { ...rewardFields(row), error });
      return false;
    }));
    if (isSent) context.log.info("claim_sent.reward", { ...rewardFields(row), offered });
  }
}

/** Poll interval for pending claims, ms. */
const SETTLE_EVERY_MS = 10_000;

/** Creates the worker that claims rewards, every ten minutes. */
export function rewardsWorker(context: FeeContext): Worker {
  return feeWorker(context, "rewards", () => {
    const rounds = new RewardRounds(context);
    return async (signal) => await rounds.run(signal) > 0 ? SETTLE_EVERY_MS : REWARD_INTERVAL_MS;
  });
}

/** Reward to claim. */
interface RewardClaim {
  readonly row: RewardRow;
  readonly proofHeight: bigint;
  /** Account of the hub that is paid. */
  readonly payee: Hash256;
}

/** Claims one reward: proof, signature of the chain's key, dry run, journal, broadcast. True when its claim was sent. */
async function claimReward(
  context: FeeContext,
  claim: RewardClaim,
  signal: AbortSignal,
): Promise<boolean> {
  const { row } = claim;
  const chain = context.chains.get(row.chain);
  if (chain === undefined) throw new Error(`${row.chain} is not configured`);
  const height = claim.proofHeight;
  const stateRoot = await context.hub.reads.fetchStateRoot({ id: chain.id, height }, signal);
  const provable = { ...claim, chain, at: { height, stateRoot } };
  const call = row.kind === "rotation"
    ? await rotationCall(context, provable, signal)
    : await requestCall(provable, signal);
  if (call === undefined) {
    // Another relayer's receipt, or one that a reorganisation removed: there is no reward.
    const detail = row.kind === "request" ? "the receipt is not ours" : "the chain has no host contract";
    context.ledger.transaction(() => void context.ledger.rewards.update(row, { state: "refused", detail }));
    context.log.info("reward_failed.unclaimable", { ...rewardFields(row), detail });
    return false;
  }
  const refusal = await context.hub.hubCalls.dryRunCall(call, signal);
  if (refusal !== undefined) {
    const state = context.ledger.transaction(() => writeRefusal(context, row, refusal));
    const level = state === "pending" && !isAboutChain(refusal) && row.attempts === 0 ? "warn" : "info";
    context.log[level]("reward_failed.rejected", { ...rewardFields(row), detail: refusal.detail, state });
    return false;
  }
  const item = toRewardItem(row);
  const refused = await context.calls.send({
    call,
    kind: "claim",
    items: [{ commitment: item, requestCommitment: item, target: row.chain }],
    onJournal: () => {},
  }, signal);
  if (refused === undefined) return true;
  context.ledger.transaction(() => void writeRefusal(context, row, refused));
  return false;
}

/** Reward with the chain that proves it, and the state root of the height at which it does. */
interface ProvableReward extends RewardClaim {
  readonly chain: Chain;
  readonly at: { readonly height: bigint; readonly stateRoot: Hash256 | undefined };
}

async function rotationCall(
  context: FeeContext,
  { chain, row, at, payee }: ProvableReward,
  signal: AbortSignal,
): Promise<RelayerHubCall | undefined> {
  const host = context.hostOf(row.chain);
  if (host === undefined) return undefined;
  const setId = BigInt(row.reference);
  const key = contractSlotKey(host, epochRelayerSlot(setId));
  const stateProof = proofAt(chain, at.height, await chain.proofs.proveState([key], at, signal));
  const message = consensusClaimMessage({ setId, destChain: row.chain, payee });
  const signature = await chain.signMessage(message, signal);
  return { kind: "claimRotation", claim: { stateProof, setId, payee, signature } };
}

/** Builds the claim of a request's reward; `undefined`: the chain's receipt at that height does not name us. */
async function requestCall(
  { chain, row, at, payee }: ProvableReward,
  signal: AbortSignal,
): Promise<RelayerHubCall | undefined> {
  const commitment = toHash256(row.reference);
  const { proof, relayers: [relayer] } = await chain.proofs.proveReceipts([commitment], at, signal);
  const isOurs = relayer !== undefined && chain.relayer !== undefined && equalBytes(relayer, chain.relayer);
  if (!isOurs) return undefined;
  const message = requestClaimMessage({ commitment, destChain: row.chain, payee });
  const signature = await chain.signMessage(message, signal);
  const request = decodeStrict(postRequestCodec, row.payload, "PostRequest");
  return {
    kind: "claimRequest",
    claim: { request, stateProof: proofAt(chain, at.height, proof), payee, signature },
  };
}

function proofAt(chain: Chain, height: bigint, proof: Uint8Array): Proof {
  return { height: { id: chain.id, height }, proof };
}

/** Records the consequence of a refusal. Call it within a ledger transaction. */
function writeRefusal(
  context: FeeContext,
  row: RewardRow,
  refusal: Refusal,
): "pending" | "claimed" | "refused" {
  const { detail } = refusal;
  const isOfChain = isAboutChain(refusal);
  if (!isOfChain && isFinalRefusal(findErrorName(refusal))) {
    return endReward(context, row, { state: "refused", detail });
  }
  const attempts = row.attempts + (isOfChain ? 0 : 1);
  const nextAttemptAtMs = context.clock.now() + REWARD_INTERVAL_MS;
  return context.ledger.rewards.update(row, { state: "pending", attempts, nextAttemptAtMs, detail }).state;
}

/**
 * Ends a reward for a reason that was found hours ago, too; after the first time it waits for the second. Returns its
 * state. Call it within a ledger transaction.
 */
function endReward(
  { ledger, clock }: FeeContext,
  row: RewardRow,
  end: { readonly state: "claimed" | "refused"; readonly detail: string },
): "pending" | "claimed" | "refused" {
  const nowMs = clock.now();
  const isConfirmed = row.detail === end.detail && nowMs - row.updatedAtMs >= CONFIRM_AFTER_MS;
  const { detail } = end;
  const wait = { state: "pending", detail, nextAttemptAtMs: nowMs + CONFIRM_AFTER_MS } as const;
  return ledger.rewards.update(row, isConfirmed ? end : wait).state === "pending" ? "pending" : end.state;
}

/** Settles every pending reward claim, including those of an earlier run; what is lost is claimed again. */
async function settleRewards(context: FeeContext, signal: AbortSignal): Promise<void> {
  const { calls, ledger, log } = context;
  const apply = (submission: SubmissionRow, end: HubCallEnd): void => {
    const keys = keysOf(ledger, submission.id);
    const row = ledger.rewards.listOpen().find((each) =>
      keys.includes(keyOf(each.chain, toRewardItem(each)))
    );
    calls.end(submission, end, () => {
      if (row === undefined || end.state === "dropped") return;
      if (end.state === "final") ledger.rewards.update(row, { state: "claimed" });
      else {
        writeRefusal(context, row, { code: "unspecified", detail: end.detail });
      }
    });
    if (row !== undefined && end.state === "final") {
      log.info("reward_claimed", { ...rewardFields(row), hubBlock: end.block.height });
    }
  };
  await calls.settle("claim", apply, signal);
}

/** Derives the 32-byte key of a reward in the journal: the commitment, or the set id as a word. */
function toRewardItem({ kind, reference }: Pick<RewardRow, "kind" | "reference">): Hash256 {
  if (kind === "rotation") return `0x${BigInt(reference).toString(16).padStart(64, "0")}`;
  return toHash256(reference);
}

/** Keys of the rewards that a claim carries. */
function keysOf({ submissions }: FeeContext["ledger"], id: number): readonly string[] {
  return submissions.itemsOf(id).map(({ target, commitment }) => keyOf(target, commitment));
}

function keyOf(chain: StateMachine, item: Hash256): string {
  return `${chain} ${item}`;
}

/** Log fields that identify a reward. */
function rewardFields(row: RewardRow): Readonly<Record<string, unknown>> {
  return { chain: row.chain, kind: row.kind, reference: row.reference };
}
