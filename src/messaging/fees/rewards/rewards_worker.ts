/**
 * Loop that claims rewards of the hub's treasury for `[hub].signer`; without a signer the rows wait. Rules:
 * docs/protocol/messaging.md section 17.
 */
import { equalBytes, type Hash256, toHash256, toHex } from "../../../core/encoding/bytes.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";
import { postRequestCodec } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import { type FeeContext, findErrorName, isAboutChain, isPassing } from "../fee_context.ts";
import { MaturedHeights } from "../../../core/chains/matured_heights.ts";
import {
  judgeRewardRefusal,
  planRewards,
  REWARD_INTERVAL_MS,
  type RewardPlan,
  type RewardView,
} from "./reward_decisions.ts";
import type { RewardKey, RewardRow, SubmissionRow } from "../../ledger/ledger.ts";
import type { RelayerHubCall } from "../../../core/chains/hub.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { Refusal } from "../../../core/chains/submission.ts";
import { contractSlotKey, epochRelayerSlot } from "../../../core/evm/host_storage.ts";
import type { Proof } from "../../../core/ismp/proof.ts";
import { consensusClaimMessage, requestClaimMessage } from "../../../core/ismp/signed_messages.ts";
import { CONFIRM_AFTER_MS } from "../../relay/decisions/retry_schedule.ts";
import { toRewardItem } from "./reward_record.ts";

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
    const rows = context.ledger.rewards.listOpen()
      .filter((row) =>
        row.state === "pending" && row.nextAttemptAtMs <= context.clock.now() && context.isUp(row.chain) &&
        context.chains.get(row.chain)?.relayer !== undefined
      );
    if (hubKey !== undefined && rows.length > 0) {
      const plan = await this.#plan(rows, signal);
      this.#settle(plan);
      const payee = toHash256(hubKey.address);
      for (const claim of plan.claims.slice(0, CLAIMS_PER_ROUND)) await this.#claim(claim, payee, signal);
    }
    return context.calls.listOpen("claim").length;
  }

  async #plan(rows: readonly RewardRow[], signal: AbortSignal): Promise<RewardPlan> {
    const context = this.#context;
    const chains = [...new Set(rows.map(({ chain }) => chain))].flatMap((name) =>
      context.chains.get(name) ?? []
    );
    const known = await Promise.all(chains.map((chain) => this.#heights.read(chain.id, signal)));
    const matured = new Map<StateMachine, bigint | undefined>(
      chains.map((chain, index) => [chain.id.stateMachine, known[index]?.matured]),
    );
    const hasRequests = rows.some(({ kind }) => kind === "request");
    const listed = hasRequests
      ? await context.hub.rewards.fetchRewardedModules(signal)
      : new Map<string, bigint>();
    const views = new Map<string, RewardView>();
    for (const row of rows) {
      const height = matured.get(row.chain);
      if (height === undefined || height < row.height) continue; // waits; no request to the hub needed
      views.set(keyText(row), await this.#view(row, listed, signal));
    }
    return planRewards(rows, {
      maturedHeight: (chain) => matured.get(chain),
      find: (key) => views.get(keyText(key)),
    });
  }

  async #view(
    row: RewardRow,
    listed: ReadonlyMap<string, bigint>,
    signal: AbortSignal,
  ): Promise<RewardView> {
    const { hub } = this.#context;
    if (row.kind === "rotation") {
      const { amount, isClaimed } = await hub.rewards.fetchRotationReward(
        row.chain,
        BigInt(row.reference),
        signal,
      );
      return { isClaimed, offered: amount };
    }
    const { from } = decodeStrict(postRequestCodec, row.payload, "PostRequest");
    const isClaimed = await hub.rewards.fetchIsRequestClaimed(toHash256(row.reference), signal);
    return { isClaimed, offered: listed.get(toHex(from)) ?? 0n };
  }

  #settle({ settled }: RewardPlan): void {
    const { ledger, log } = this.#context;
    if (settled.length === 0) return;
    const ended = ledger.transaction(() =>
      settled.filter(({ row, to, why }) => endReward(this.#context, row, { state: to, detail: why }) === to)
    );
    for (const { row, why } of ended) {
      log.info("reward_failed.dropped", { ...rewardFields(row), reason: why });
    }
  }

  async #claim(
    claim: RewardPlan["claims"][number],
    payee: Hash256,
    signal: AbortSignal,
  ): Promise<void> {
    const context = this.#context;
    try {
      if (await claimReward(context, { ...claim, payee }, signal)) {
        context.log.info("claim_sent.reward", { ...rewardFields(claim.row), offered: claim.offered });
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
      // The chain does not answer: retried later, not counted as a failure of the reward.
      const nextAttemptAtMs = context.clock.now() + REWARD_INTERVAL_MS / 10;
      context.ledger.transaction(() => {
        const row = context.ledger.rewards.find(claim.row);
        if (row?.state === "pending") {
          context.ledger.rewards.update(row, { state: "pending", nextAttemptAtMs });
        }
      });
      context.log.debug("read_failed.rewards", { ...rewardFields(claim.row), error });
    }
  }
}

function keyText({ kind, chain, reference }: RewardKey): string {
  return `${kind} ${chain} ${reference}`;
}

/** Poll interval for pending claims, ms. */
const SETTLE_EVERY_MS = 10_000;

/** Creates the worker that claims rewards, every ten minutes. */
export function rewardsWorker(context: FeeContext): Worker {
  return {
    name: "rewards",
    run: async (signal) => {
      const rounds = new RewardRounds(context);
      while (!signal.aborted) {
        let pauseMs = REWARD_INTERVAL_MS;
        try {
          if (await rounds.run(signal) > 0) pauseMs = SETTLE_EVERY_MS;
        } catch (error) {
          signal.throwIfAborted();
          if (!isPassing(error)) throw error;
          context.log.debug("read_failed.rewards", { error });
          pauseMs = REWARD_INTERVAL_MS / 10;
        }
        await context.clock.sleep(pauseMs, signal);
      }
    },
  };
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
  const call = row.kind === "rotation"
    ? await rotationCall(context, { ...claim, chain }, signal)
    : await requestCall(context, { ...claim, chain }, signal);
  if (call === undefined) return applyNoReceipt(context, row);
  const refusal = await context.hub.hubCalls.dryRunCall(call, signal);
  if (refusal !== undefined) return applyRefusal(context, row, refusal);
  const item = toRewardItem(row);
  const sent = await context.calls.send({
    call,
    kind: "claim",
    items: [{ commitment: item, requestCommitment: item, target: row.chain }],
    onJournal: () => void context.ledger.rewards.update(row, { state: "claiming" }),
    onRefused: (why) => void writeRefusal(context, row, { refusal: why, isFinal: false }),
  }, signal);
  return sent.kind === "sent";
}

/** Reward with the chain that proves it. */
interface ChainReward extends RewardClaim {
  readonly chain: Chain;
}

async function rotationCall(
  context: FeeContext,
  { chain, row, proofHeight, payee }: ChainReward,
  signal: AbortSignal,
): Promise<RelayerHubCall | undefined> {
  const host = context.hostOf(row.chain);
  if (host === undefined) return undefined;
  const setId = BigInt(row.reference);
  const key = contractSlotKey(host, epochRelayerSlot(setId));
  const stateRoot = await context.hub.reads.fetchStateRoot({ id: chain.id, height: proofHeight }, signal);
  const proof = await chain.proofs.proveState([key], { height: proofHeight, stateRoot }, signal);
  const message = consensusClaimMessage({ setId, destChain: row.chain, payee });
  const signature = await chain.signMessage(message, signal);
  const stateProof = proofAt(chain, proofHeight, proof);
  return { kind: "claimRotation", claim: { stateProof, setId, payee, signature } };
}

/** Builds the claim of a request's reward; `undefined`: the chain's receipt at that height does not name us. */
async function requestCall(
  context: FeeContext,
  { chain, row, proofHeight, payee }: ChainReward,
  signal: AbortSignal,
): Promise<RelayerHubCall | undefined> {
  const commitment = toHash256(row.reference);
  const stateRoot = await context.hub.reads.fetchStateRoot({ id: chain.id, height: proofHeight }, signal);
  const { proof, relayers: [relayer] } = await chain.proofs.proveReceipts(
    [commitment],
    { height: proofHeight, stateRoot },
    signal,
  );
  const isOurs = relayer !== undefined && chain.relayer !== undefined && equalBytes(relayer, chain.relayer);
  if (!isOurs) return undefined;
  const message = requestClaimMessage({ commitment, destChain: row.chain, payee });
  const signature = await chain.signMessage(message, signal);
  const request = decodeStrict(postRequestCodec, row.payload, "PostRequest");
  const stateProof = proofAt(chain, proofHeight, proof);
  return { kind: "claimRequest", claim: { request, stateProof, payee, signature } };
}

function proofAt(chain: Chain, height: bigint, proof: Uint8Array): Proof {
  return { height: { id: chain.id, height }, proof };
}

/** Handles another relayer's receipt, or one that a reorganisation removed: there is no reward. */
function applyNoReceipt(context: FeeContext, row: RewardRow): false {
  const detail = row.kind === "request" ? "the receipt is not ours" : "the chain has no host contract";
  context.ledger.transaction(() => void context.ledger.rewards.update(row, { state: "refused", detail }));
  context.log.info("reward_failed.unclaimable", { ...rewardFields(row), detail });
  return false;
}

function applyRefusal(context: FeeContext, row: RewardRow, refusal: Refusal): false {
  const state = context.ledger.transaction(() => writeRefusal(context, row, { refusal, isFinal: false }));
  const level = state === "pending" && !isAboutChain(refusal) && row.attempts === 0 ? "warn" : "info";
  context.log[level]("reward_failed.rejected", { ...rewardFields(row), detail: refusal.detail, state });
  return false;
}

/** Records the consequence of a refusal. Call it within a ledger transaction. */
function writeRefusal(
  context: FeeContext,
  row: RewardRow,
  { refusal, isFinal }: { readonly refusal: Refusal; readonly isFinal: boolean },
): "pending" | "claimed" | "refused" {
  const judged = isAboutChain(refusal)
    ? { state: "pending" as const, nextAttemptAtMs: context.clock.now() + REWARD_INTERVAL_MS }
    : judgeRewardRefusal(row, { error: findErrorName(refusal), isFinal }, context.clock.now());
  if (judged.state !== "pending") return endReward(context, row, { ...judged, detail: refusal.detail });
  context.ledger.rewards.update(row, { ...judged, detail: refusal.detail });
  return judged.state;
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

/** Settles every pending reward claim, including those of an earlier run; what no claim carries is claimed again. */
async function settleRewards(context: FeeContext, signal: AbortSignal): Promise<void> {
  const { calls, ledger: { rewards, submissions, transaction } } = context;
  const keysOf = ({ id }: SubmissionRow): readonly string[] =>
    submissions.itemsOf(id).map((item) => keyOf(item.target, item.commitment));
  const rowOf = (keys: readonly string[]): RewardRow | undefined =>
    rewards.listOpen().find((row) => keys.includes(keyOf(row.chain, toRewardItem(row))));
  for (const submission of calls.listOpen("claim")) {
    await settleOne(context, { submission, row: rowOf(keysOf(submission)) }, signal);
  }
  const carried = new Set(calls.listOpen("claim").flatMap(keysOf));
  transaction(() => {
    for (const row of rewards.listOpen()) {
      const isCarried = carried.has(keyOf(row.chain, toRewardItem(row)));
      if (row.state === "claiming" && !isCarried) rewards.update(row, { state: "pending" });
    }
  });
}

/** Settles one claim, unless it is pending. */
async function settleOne(
  context: FeeContext,
  { submission, row }: { readonly submission: SubmissionRow; readonly row: RewardRow | undefined },
  signal: AbortSignal,
): Promise<void> {
  const status = await context.calls.poll(submission, signal);
  const { submissions, rewards } = context.ledger;
  switch (status.kind) {
    case "open":
    case "included":
      return;
    case "final":
      context.ledger.transaction(() => {
        submissions.update(submission.id, { state: "final", block: status.block });
        if (row !== undefined) rewards.update(row, { state: "claimed" });
      });
      if (row !== undefined) {
        context.log.info("reward_claimed", { ...rewardFields(row), hubBlock: status.block.height });
      }
      return;
    case "failed":
      context.ledger.transaction(() => {
        submissions.update(submission.id, { state: "failed", block: status.block, detail: status.error });
        if (row === undefined) return;
        writeRefusal(context, row, { refusal: { code: "unspecified", detail: status.error }, isFinal: true });
      });
      return;
    case "gone":
      context.ledger.transaction(() => {
        submissions.update(submission.id, { state: "dropped", detail: "left the transaction pool" });
        if (row?.state === "claiming") rewards.update(row, { state: "pending" });
      });
      return;
  }
}

function keyOf(chain: StateMachine, item: Hash256): string {
  return `${chain} ${item}`;
}

/** Log fields that identify a reward. */
function rewardFields(row: RewardRow): Readonly<Record<string, unknown>> {
  return { chain: row.chain, kind: row.kind, reference: row.reference };
}
