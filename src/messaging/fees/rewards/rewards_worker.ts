/** Loop that claims rewards of the hub's treasury for `[hub].signer`; without a signer the rows wait. */
import { type Hash256, toHash256, toHex } from "../../../core/encoding/bytes.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";
import { postRequestCodec } from "../../../core/ismp/request.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import { type FeeContext, isPassing } from "../fee_context.ts";
import { MaturedHeights } from "../../../core/chains/matured_heights.ts";
import { claimReward, rewardFields, settleRewards } from "./reward_claims.ts";
import { planRewards, REWARD_INTERVAL_MS, type RewardPlan } from "./reward_decisions.ts";
import type { RewardKey, RewardRow } from "../../ledger/ledger.ts";

/** Maximum number of claims sent in one round; the others follow in the next ones, oldest first. */
const CLAIMS_PER_ROUND = 20;

/** Reward as the hub sees it. */
interface HubView {
  readonly isClaimed: boolean;
  readonly offered: bigint;
}

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
        row.state === "pending" && row.nextAttemptAtMs <= context.clock.now() && context.isUp(row.chain)
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
    const views = new Map<string, HubView>();
    for (const row of rows) {
      const height = matured.get(row.chain);
      if (height === undefined || height < row.height) continue; // waits; no request to the hub needed
      views.set(keyText(row), await this.#view(row, listed, signal));
    }
    return planRewards(rows, {
      nowMs: context.clock.now(),
      hasPayee: true,
      hasSigner: (chain) => context.chains.get(chain)?.relayer !== undefined,
      maturedHeight: (chain) => matured.get(chain),
      isClaimed: (key) => views.get(keyText(key))?.isClaimed,
      offered: (key) => views.get(keyText(key))?.offered,
    });
  }

  async #view(
    row: RewardRow,
    listed: ReadonlyMap<string, bigint>,
    signal: AbortSignal,
  ): Promise<HubView> {
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
    ledger.transaction(() => {
      for (const { row, to, why } of settled) ledger.rewards.update(row, { state: to, detail: why });
    });
    for (const { row, why } of settled) {
      log.info("reward_dropped", { ...rewardFields(row), reason: why });
    }
  }

  async #claim(
    claim: RewardPlan["claims"][number],
    payee: Hash256,
    signal: AbortSignal,
  ): Promise<void> {
    const context = this.#context;
    try {
      const result = await claimReward(context, { ...claim, payee }, signal);
      if (result === "sent") {
        context.log.info("reward_claim_sent", { ...rewardFields(claim.row), offered: claim.offered });
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
      context.log.debug("reward_claim_failed", { ...rewardFields(claim.row), error });
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
          context.log.debug("rewards_interrupted", { error });
          pauseMs = REWARD_INTERVAL_MS / 10;
        }
        await context.clock.sleep(pauseMs, signal);
      }
    },
  };
}
