/**
 * Context shared by the fee workers: the ledger, the hub with its accounts, the chains that pay fees, and the keys that
 * claim them. Calls to the hub are journalled before their bytes are sent (I3) and polled until they are final; this
 * works from the journal alone, so calls of an earlier run are found too. Start reading at `claims/claims_worker.ts`,
 * `withdrawals/withdrawal_worker.ts` and `rewards/rewards_worker.ts`.
 */
import type { HubCallRefusal, HubChain, RelayerHubCall } from "../../core/chains/hub.ts";
import type { Chain } from "../../core/chains/port.ts";
import { equalBytes, formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import type { Signature } from "../../core/ismp/fees.ts";
import type { SignedMessage } from "../../core/ismp/signed_messages.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import { Limit } from "../../core/runtime/limit.ts";
import type { Leg, RelayDeps, RelaySettings } from "../relay/leg.ts";
import type { ChainFees } from "../../core/chains/fees.ts";
import { CONFIRM_AFTER_MS, nextAttemptMs, type RetryClass } from "../relay/decisions/retry_schedule.ts";
import type { BlockRef, BroadcastResult, Refusal, SubmissionOutcome } from "../../core/chains/submission.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { dropOldest } from "../../core/runtime/slices.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { Ledger, SubmissionItem, SubmissionKind, SubmissionRow } from "../ledger/ledger.ts";

/** The hub as the fee workers use it; it signs with `[hub].signer`. */
export type FeeHub = HubChain & Pick<Chain, "signMessage">;

/** One of our keys, which the hub recognises by its address. */
export interface FeeKey {
  /** 20 bytes on EVM chains, 32 bytes on Substrate chains. */
  readonly address: Uint8Array;
  /** Signs a message in the form in which the hub checks it. */
  signMessage(message: SignedMessage, signal: AbortSignal): Promise<Signature>;
}

/** Operator settings for withdrawals. */
export interface WithdrawalSettings {
  readonly frequencySec: number;
  /** Whole currency units. */
  readonly minimumAmount: number;
}

/** Context of the fee workers, handed to each of them once. */
export interface FeeContext extends RelayDeps {
  readonly hub: FeeHub;
  /** Every configured chain besides the hub. */
  readonly chains: ReadonlyMap<StateMachine, Chain>;
  /** False until a chain has passed its start check; it is not used before. */
  readonly isUp: (chain: StateMachine) => boolean;
  /** Key of `[hub].signer`; `undefined` without one. */
  readonly hubKey: FeeKey | undefined;
  readonly calls: HubCalls;
  readonly turns: NonceTurns;
  /** Locks of rounds of claims and of withdrawals: those of the worker and of an operator's command never overlap. */
  readonly claimTurn: Limit;
  readonly withdrawalTurn: Limit;
  /** True in the running relayer, where other workers settle transactions. */
  readonly isSettledElsewhere: boolean;
  /** True for chains whose leg has a worker, which delivers payments among its messages. */
  readonly isServed: (chain: StateMachine) => boolean;
  readonly units: FeeUnits;
  readonly settings: RelaySettings;
  readonly withdrawals: WithdrawalSettings;
  /** The leg from the hub to a configured chain; its turns are shared with the worker that delivers there. */
  readonly legTo: (chain: StateMachine) => Leg;
  /** Address of the host contract, 20 bytes; `undefined` for chains without one. */
  readonly hostOf: (chain: StateMachine) => Uint8Array | undefined;
}

/** Finds the key of an address, among our chain keys and the hub account; `undefined` when it is not configured. */
export function findKey(
  context: Pick<FeeContext, "chains" | "hubKey">,
  address: Uint8Array,
): FeeKey | undefined {
  const { hubKey } = context;
  if (hubKey !== undefined && equalBytes(hubKey.address, address)) return hubKey;
  for (const chain of context.chains.values()) {
    const { relayer } = chain;
    if (relayer === undefined || !equalBytes(relayer, address)) continue;
    return { address: relayer, signMessage: (message, signal) => chain.signMessage(message, signal) };
  }
  return undefined;
}

/** True for temporary faults of endpoints: the work is retried later and the worker continues. */
export function isPassing(error: unknown): error is RpcFault {
  return error instanceof RpcFault;
}

/** Finds the key of `[hub].signer`, if configured; the hub's adapter signs with it. */
export function findHubKey(hub: FeeHub, isConfigured: boolean): FeeKey | undefined {
  const { relayer } = hub;
  if (!isConfigured || relayer === undefined) return undefined;
  return { address: relayer, signMessage: (message, signal) => hub.signMessage(message, signal) };
}

/** Chain on which fees are paid out, with the receiving address. */
export interface PayingChain {
  readonly chain: Chain;
  readonly name: StateMachine;
  readonly ownAddress: Uint8Array;
}

/** Lists chains with a signer: fees can only be paid out there. */
export function payingChains(context: FeeContext): readonly PayingChain[] {
  return [...context.chains].flatMap(([name, chain]) =>
    chain.relayer === undefined ? [] : [{ chain, name, ownAddress: chain.relayer }]
  );
}

/** True for our own accounts on the chain, also for payments that others requested. */
export function isOwnPayee(context: FeeContext, { ownAddress }: PayingChain, account: Uint8Array): boolean {
  return equalBytes(ownAddress, account) || findKey(context, account) !== undefined;
}

/** A chain that can be asked for the decimals of its fee token. */
type UnitChain = Pick<Chain, "id"> & { readonly fees: Pick<ChainFees, "fetchFeeTokenDecimals"> };

/** Decimals of fee tokens as read last, so that a log line costs no request. */
export class FeeUnits {
  readonly #decimals = new Map<StateMachine, number>();

  /** Reads the decimals of a chain's fee token, whatever was read before: amounts depend on it. */
  async learn(chain: UnitChain, signal: AbortSignal): Promise<number> {
    const decimals = await chain.fees.fetchFeeTokenDecimals(signal);
    this.#decimals.set(chain.id.stateMachine, decimals);
    return decimals;
  }

  /** Once per chain, for log lines only: if the chain does not answer now, its decimals stay unknown. */
  async tryLearn(chain: UnitChain | undefined, signal: AbortSignal): Promise<void> {
    try {
      if (chain !== undefined && !this.#decimals.has(chain.id.stateMachine)) await this.learn(chain, signal);
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
    }
  }

  /** Decimals of a chain's fee token, if already known. */
  find(chain: StateMachine): number | undefined {
    return this.#decimals.get(chain);
  }

  /**
   * Formats an amount of the chain's fee token in whole units, or in its smallest units while the decimals are unknown.
   */
  text(chain: StateMachine, amount: bigint): string {
    const decimals = this.#decimals.get(chain);
    return decimals === undefined ? `${amount} units` : formatDecimal(amount, decimals);
  }
}

interface Entry {
  readonly attempts: number;
  readonly untilMs: number;
}

/** List of deferred keys, kept in memory only: after a restart everything is attempted again. */
export class Deferred {
  readonly #context: Pick<FeeContext, "clock" | "random">;
  readonly #retryClass: RetryClass;
  readonly #entries = new Map<string, Entry>();

  constructor(context: Pick<FeeContext, "clock" | "random">, retryClass: RetryClass) {
    this.#context = context;
    this.#retryClass = retryClass;
  }

  /** Records another failure; returns the number of consecutive failures. */
  add(key: string): number {
    const attempts = (this.#entries.get(key)?.attempts ?? 0) + 1;
    const untilMs = nextAttemptMs({
      retryClass: this.#retryClass,
      attempts,
      nowMs: this.#context.clock.now(),
      retryFrequencySec: undefined,
      jitter: this.#context.random.fraction(),
    });
    this.#entries.set(key, { attempts, untilMs });
    return attempts;
  }

  /** Clears the failures of `key`. */
  clear(key: string): void {
    this.#entries.delete(key);
  }

  /** True while `key` is deferred. */
  has(key: string): boolean {
    return this.#context.clock.now() < (this.#entries.get(key)?.untilMs ?? 0);
  }

  /** Number of consecutive failures of `key`. */
  attempts(key: string): number {
    return this.#entries.get(key)?.attempts ?? 0;
  }

  /** Number of keys that are deferred. */
  get size(): number {
    return [...this.#entries.keys()].filter((key) => this.has(key)).length;
  }
}

/** Maximum number of findings in doubt; the oldest is forgotten first, and made again. */
const MAX_DOUBTS = 10_000;

/** Findings that end something once they are made again hours later: no answer of one moment does. In memory only. */
export class Doubts {
  readonly #clock: Clock;
  readonly #first = new Map<string, { readonly finding: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records what was found about `key`; true when it was found hours ago, too. */
  confirms(key: string, finding: string): boolean {
    const known = this.#first.get(key);
    const first = known?.finding === finding ? known : { finding, atMs: this.#clock.now() };
    this.#first.set(key, first);
    dropOldest(this.#first, MAX_DOUBTS);
    return this.#clock.now() - first.atMs >= CONFIRM_AFTER_MS;
  }

  /** Forgets what was found: it is not so. */
  forget(key: string): void {
    this.#first.delete(key);
  }
}

/** Number of blocks after which an extrinsic that is neither in a block nor in the transaction pool is dropped. */
const PATIENCE_BLOCKS = 3n;

/** Refusals that concern the hub's view of a chain, not the content of the call. */
const ABOUT_THE_CHAIN: ReadonlySet<Refusal["code"]> = new Set<Refusal["code"]>([
  "not_ready",
  "host_frozen",
  "client_expired",
]);

/** Call to journal and send. */
export interface HubCallOrder {
  readonly call: RelayerHubCall;
  readonly kind: Extract<SubmissionKind, "accumulate" | "withdraw" | "claim">;
  readonly items: readonly SubmissionItem[];
  /** Writes the rows that depend on the call, in the same transaction as its journal entry. */
  readonly onJournal: (id: number) => void;
  /** Reverts those rows when the hub does not accept the bytes, in the transaction that records the refusal. */
  readonly onRefused: (refusal: Refusal) => void;
}

/** Outcome of the broadcast; `sent` also covers a lost response. */
export type HubCallSent =
  | { readonly kind: "sent"; readonly id: number }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Status of a call. */
export type HubCallStatus =
  /** Pending, or too recent to be dropped. */
  | { readonly kind: "open" }
  /** In a block that may still be reorganised. */
  | { readonly kind: "included"; readonly block: BlockRef }
  /** In a final block, succeeded. */
  | { readonly kind: "final"; readonly block: BlockRef }
  /** In a final block, failed. */
  | { readonly kind: "failed"; readonly block: BlockRef; readonly error: string }
  /** Left the transaction pool without being included. */
  | { readonly kind: "gone" };

/** True when the same call with other content would be refused for the same reason. */
export function isAboutChain(refusal: Refusal): boolean {
  return ABOUT_THE_CHAIN.has(refusal.code);
}

/** Finds the name of the pallet's error, without the pallet; `undefined` when the hub does not report one. */
export function findErrorName(refusal: Refusal | HubCallRefusal): string | undefined {
  const named = "error" in refusal ? refusal.error : refusal.detail;
  return named === undefined ? undefined : /^(?:\w+\.)?(\w+)$/.exec(named)?.[1];
}

/** Sends calls and tracks them. One instance per hub, shared by all workers that send. */
export class HubCalls {
  readonly #hub: HubChain;
  readonly #ledger: Ledger;
  readonly #log: Log;
  /** Submissions that are being broadcast right now. */
  readonly #leaving = new Set<number>();

  constructor(context: { readonly hub: HubChain; readonly ledger: Ledger; readonly log: Log }) {
    this.#hub = context.hub;
    this.#ledger = context.ledger;
    this.#log = context.log;
  }

  /** Builds the extrinsic, journals it with everything that depends on it, and broadcasts it. */
  async send(order: HubCallOrder, signal: AbortSignal): Promise<HubCallSent> {
    const submission = await this.#hub.hubCalls.prepareCall(order.call, signal);
    signal.throwIfAborted();
    const id = this.#ledger.transaction(() => {
      const entry = this.#ledger.submissions.record({ submission, kind: order.kind, items: order.items });
      order.onJournal(entry);
      return entry;
    });
    return await this.#handOver(id, order.onRefused, signal);
  }

  /** Broadcasts journalled bytes (again). */
  async resend(id: number, onRefused: HubCallOrder["onRefused"], signal: AbortSignal): Promise<HubCallSent> {
    return await this.#handOver(id, onRefused, signal);
  }

  /** Polls the status of a journalled call, and records blocks that are not final yet. */
  async poll(row: SubmissionRow, signal: AbortSignal): Promise<HubCallStatus> {
    if (this.#leaving.has(row.id)) return { kind: "open" };
    const outcome = await this.#hub.outcomes.fetchCallOutcome(row.submission, signal);
    switch (outcome.kind) {
      case "pending":
        if (row.state !== "broadcast") this.#note(row.id, { state: "broadcast" });
        return { kind: "open" };
      case "included":
        return this.#included(row, outcome);
      case "replaced":
        return { kind: "gone" };
      case "unknown": {
        const head = await this.#hub.reads.fetchHeight(signal);
        return { kind: head < row.submission.madeAtHeight + PATIENCE_BLOCKS ? "open" : "gone" };
      }
    }
  }

  /** Lists calls of one kind whose outcome is open, oldest first. */
  listOpen(kind: HubCallOrder["kind"]): readonly SubmissionRow[] {
    return this.#ledger.submissions.listUnresolved(this.#hub.id.stateMachine)
      .filter((row) => row.kind === kind);
  }

  #included(
    row: SubmissionRow,
    { block, isFinal, succeeded, refusal }: Extract<SubmissionOutcome, { kind: "included" }>,
  ): HubCallStatus {
    if (!isFinal) {
      if (row.state !== "included" || row.block?.hash !== block.hash) {
        this.#note(row.id, { state: "included", block });
      }
      return { kind: "included", block };
    }
    if (succeeded) return { kind: "final", block };
    return { kind: "failed", block, error: refusal?.detail ?? "failed" };
  }

  #note(id: number, change: { readonly state: "broadcast" | "included"; readonly block?: BlockRef }): void {
    this.#ledger.transaction(() => void this.#ledger.submissions.update(id, change));
  }

  async #handOver(
    id: number,
    onRefused: HubCallOrder["onRefused"],
    signal: AbortSignal,
  ): Promise<HubCallSent> {
    const row = this.#ledger.submissions.find(id);
    if (row === undefined) throw new Error(`Submission ${id} is not in the journal`);
    this.#leaving.add(id);
    try {
      const result = await this.#hub.sender.broadcast(row.submission, signal);
      return this.#applyBroadcast(id, result, onRefused);
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      const fields = { chain: this.#hub.id.stateMachine, transaction: row.submission.hash, error };
      this.#log.info("transaction_failed.broadcast_unknown", fields);
      return { kind: "sent", id };
    } finally {
      this.#leaving.delete(id);
    }
  }

  #applyBroadcast(
    id: number,
    result: BroadcastResult,
    onRefused: HubCallOrder["onRefused"],
  ): HubCallSent {
    if (result.kind === "sent" || result.kind === "alreadyKnown") {
      this.#note(id, { state: "broadcast" });
      return { kind: "sent", id };
    }
    const refusal: Refusal = result.kind === "refused"
      ? result.refusal
      : { code: "unspecified", detail: result.kind };
    this.#ledger.transaction(() => {
      this.#ledger.submissions.update(id, { state: "dropped", detail: refusal.detail });
      onRefused(refusal);
    });
    return { kind: "refused", refusal };
  }
}

/** Owner of a nonce: address and chain. */
export interface NonceOwner {
  readonly address: Uint8Array;
  readonly chain: StateMachine;
}

/**
 * Serialises signatures for the hub that use `Relayer.Nonce[(address, chain)]`: withdrawals, and claims for a
 * beneficiary. One at a time per pair, from reading the nonce to the journal entry; a second would use the same nonce.
 * Shared by the workers.
 */
export class NonceTurns {
  readonly #turns = new Map<string, Limit>();

  /** Runs `work` once no other worker uses the nonce. */
  run<T>(owner: NonceOwner, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const key = `${toHex(owner.address)} ${owner.chain}`;
    const turn = this.#turns.get(key) ?? new Limit(1);
    this.#turns.set(key, turn);
    return turn.run(work, signal);
  }
}
