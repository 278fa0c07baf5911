/** Builds and sends the claim of one reward, and tracks it. Rules: docs/protocol/messaging.md section 17. */
import type { RelayerHubCall } from "../../../core/chains/hub.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { Refusal } from "../../../core/chains/submission.ts";
import { equalBytes, type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";
import { contractSlotKey, epochRelayerSlot } from "../../../core/evm/host_storage.ts";
import type { Proof } from "../../../core/ismp/proof.ts";
import { postRequestCodec } from "../../../core/ismp/message.ts";
import { consensusClaimMessage, requestClaimMessage } from "../../../core/ismp/signed_messages.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { FeeContext } from "../fee_context.ts";
import { findErrorName, isAboutChain } from "../hub_calls.ts";
import { judgeRewardRefusal, REWARD_INTERVAL_MS } from "./reward_decisions.ts";
import { toRewardItem } from "./reward_record.ts";
import type { RewardRow, SubmissionRow } from "../../ledger/ledger.ts";

/** Outcome for a reward: its claim was sent, it waits, or it is settled. */
export type RewardClaimResult = "sent" | "later" | "claimed" | "refused";

/** Reward to claim. */
export interface RewardClaim {
  readonly row: RewardRow;
  readonly proofHeight: bigint;
  /** Account of the hub that is paid. */
  readonly payee: Hash256;
}

/** Claims one reward: proof, signature of the chain's key, dry run, journal, broadcast. */
export async function claimReward(
  context: FeeContext,
  claim: RewardClaim,
  signal: AbortSignal,
): Promise<RewardClaimResult> {
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
  return sent.kind === "sent" ? "sent" : "later";
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
function applyNoReceipt(context: FeeContext, row: RewardRow): RewardClaimResult {
  const detail = row.kind === "request" ? "the receipt is not ours" : "the chain has no host contract";
  context.ledger.transaction(() => void context.ledger.rewards.update(row, { state: "refused", detail }));
  context.log.info("reward_unclaimable", { ...rewardFields(row), detail });
  return "refused";
}

function applyRefusal(context: FeeContext, row: RewardRow, refusal: Refusal): RewardClaimResult {
  const state = context.ledger.transaction(() => writeRefusal(context, row, { refusal, isFinal: false }));
  const level = state === "pending" && !isAboutChain(refusal) && row.attempts === 0 ? "warn" : "info";
  context.log[level]("reward_rejected", { ...rewardFields(row), detail: refusal.detail, state });
  return state === "pending" ? "later" : state;
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
  context.ledger.rewards.update(row, { ...judged, detail: refusal.detail });
  return judged.state;
}

/** Settles every pending reward claim, including those of an earlier run. */
export async function settleRewards(context: FeeContext, signal: AbortSignal): Promise<void> {
  const open = new Map(
    context.ledger.rewards.listOpen().map((row) => [keyOf(row.chain, toRewardItem(row)), row]),
  );
  const carried = new Set<string>();
  for (const submission of context.calls.listOpen("claim")) {
    const [item] = context.ledger.submissions.itemsOf(submission.id);
    const key = item && keyOf(item.target, item.commitment);
    const row = key === undefined ? undefined : open.get(key);
    if (await settleOne(context, { submission, row }, signal) && key !== undefined) carried.add(key);
  }
  for (const [key, row] of open) {
    if (row.state !== "claiming" || carried.has(key)) continue;
    const now = context.ledger.rewards.find(row);
    if (now?.state !== "claiming" || isCarriedNow(context, key)) continue;
    context.ledger.transaction(() => void context.ledger.rewards.update(row, { state: "pending" }));
  }
}

function isCarriedNow(context: FeeContext, key: string): boolean {
  return context.calls.listOpen("claim").some(({ id }) =>
    context.ledger.submissions.itemsOf(id).some((item) => keyOf(item.target, item.commitment) === key)
  );
}

/** True while the claim is pending. */
async function settleOne(
  context: FeeContext,
  { submission, row }: { readonly submission: SubmissionRow; readonly row: RewardRow | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  const status = await context.calls.poll(submission, signal);
  const { submissions, rewards } = context.ledger;
  switch (status.kind) {
    case "open":
    case "included":
      return true;
    case "final":
      context.ledger.transaction(() => {
        submissions.update(submission.id, { state: "final", block: status.block });
        if (row !== undefined) rewards.update(row, { state: "claimed" });
      });
      if (row !== undefined) {
        context.log.info("reward_claimed", { ...rewardFields(row), hubBlock: status.block.height });
      }
      return false;
    case "failed":
      context.ledger.transaction(() => {
        submissions.update(submission.id, { state: "failed", block: status.block, detail: status.error });
        if (row === undefined) return;
        writeRefusal(context, row, { refusal: { code: "unspecified", detail: status.error }, isFinal: true });
      });
      return false;
    case "gone":
      context.ledger.transaction(() => {
        submissions.update(submission.id, { state: "dropped", detail: "left the transaction pool" });
        if (row?.state === "claiming") rewards.update(row, { state: "pending" });
      });
      return false;
  }
}

function keyOf(chain: StateMachine, item: Hash256): string {
  return `${chain} ${item}`;
}

/** Log fields that identify a reward. */
export function rewardFields(row: RewardRow): Readonly<Record<string, unknown>> {
  return { chain: row.chain, kind: row.kind, reference: row.reference };
}
