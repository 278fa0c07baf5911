/**
 * Context shared by the fee workers: the ledger, the hub with its accounts, the chains that pay fees, and the keys that
 * claim them. Calls to the hub are journalled before their bytes are sent (I3) and polled until they are final; this
 * works from the journal alone, so calls of an earlier run are found too. Start reading at `claims/claims_worker.ts`,
 * `withdrawals/withdrawal_worker.ts` and `rewards/rewards_worker.ts`.
 */
import type { HubChain } from "../../core/chains/hub.ts";
import type { Chain } from "../../core/chains/port.ts";
import { equalBytes, formatDecimal } from "../../core/encoding/bytes.ts";
import type { Signature } from "../../core/ismp/fees.ts";
import type { SignedMessage } from "../../core/ismp/signed_messages.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { keepFault, RpcFault } from "../../core/rpc/call.ts";
import { Limit } from "../../core/runtime/limit.ts";
import type { Leg, RelayDeps, RelaySettings } from "../relay/leg.ts";
import type { ChainFees } from "../../core/chains/fees.ts";
import { nextAttemptMs, type RetryClass } from "../relay/decisions/retry_schedule.ts";
import { endpointBackoff, nextDelayMs } from "../../core/runtime/retry.ts";
import { dropOldest } from "../../core/runtime/slices.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import type { EventCode, LogFields } from "../../core/telemetry/log.ts";
import type { HubCalls, NonceTurns } from "./hub_calls.ts";

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
  return [hubKey, ...context.chains.values().map(toFeeKey)]
    .find((key) => key !== undefined && equalBytes(key.address, address));
}

/** The key that a chain's adapter signs with, if there is one: `[hub].signer` of the hub's. */
export function toFeeKey(chain: Pick<Chain, "relayer" | "signMessage">): FeeKey | undefined {
  const { relayer: address } = chain;
  return address && { address, signMessage: (message, signal) => chain.signMessage(message, signal) };
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
type UnitChain = Pick<Chain, "id"> & { readonly fees: Pick<ChainFees, "fetchFees"> };

/** Decimals of fee tokens as read last, so that a log line costs no request. */
export class FeeUnits {
  readonly #decimals = new Map<StateMachine, number>();

  /** Reads the decimals of a chain's fee token, whatever was read before: amounts depend on it. */
  async learn(chain: UnitChain, signal: AbortSignal): Promise<number> {
    const { decimals } = await chain.fees.fetchFees([], signal);
    this.#decimals.set(chain.id.stateMachine, decimals);
    return decimals;
  }

  /** Once per chain, for log lines only: if the chain does not answer now, its decimals stay unknown. */
  async tryLearn(chain: UnitChain | undefined, signal: AbortSignal): Promise<void> {
    if (chain === undefined || this.#decimals.has(chain.id.stateMachine)) return;
    await this.learn(chain, signal).catch(keepFault);
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
  /** Time of the first of them. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Maximum number of keys of a list; the oldest is forgotten first, and attempted again. */
const MAX_DEFERRED = 10_000;

/** List of deferred keys, kept in memory only: after a restart everything is attempted again. */
export class Deferred {
  readonly #context: Pick<FeeContext, "clock" | "log" | "random">;
  readonly #retryClass: RetryClass;
  readonly #entries = new Map<string, Entry>();

  constructor(context: Pick<FeeContext, "clock" | "log" | "random">, retryClass: RetryClass) {
    this.#context = context;
    this.#retryClass = retryClass;
  }

  /** Records another failure; returns the number of consecutive failures. */
  add(key: string): number {
    const nowMs = this.#context.clock.now();
    const { attempts: before = 0, sinceMs = nowMs } = this.#entries.get(key) ?? {};
    const attempts = before + 1;
    const untilMs = nextAttemptMs({
      retryClass: this.#retryClass,
      attempts,
      nowMs,
      retryFrequencySec: undefined,
      jitter: this.#context.random.fraction(),
    });
    this.#entries.set(key, { attempts, sinceMs, untilMs });
    dropOldest(this.#entries, MAX_DEFERRED);
    return attempts;
  }

  /** Works; where endpoints do not answer, `key` is deferred, which is logged, and there is no result. */
  async attempt<T>(
    key: string,
    work: () => Promise<T>,
    { event, signal, ...fields }: { readonly event: EventCode; readonly signal: AbortSignal } & LogFields,
  ): Promise<T | undefined> {
    const result = await work().catch(keepFault);
    if (!(result instanceof RpcFault)) {
      this.forget(key);
      return result;
    }
    signal.throwIfAborted();
    const failures = this.add(key);
    this.#context.log[failures === 3 ? "warn" : "debug"](event, { ...fields, failures, error: result });
    return undefined;
  }

  /** True while `key` is deferred. */
  has(key: string): boolean {
    return this.#context.clock.now() < (this.#entries.get(key)?.untilMs ?? 0);
  }

  /** Ends the wait of `key`. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** Time since the first of the consecutive failures of `key`, ms. */
  ageMs(key: string): number {
    const nowMs = this.#context.clock.now();
    return nowMs - (this.#entries.get(key)?.sinceMs ?? nowMs);
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

/**
 * Creates a worker that repeats rounds, each of which returns the pause behind it, ms. What endpoints do not answer is
 * tried again after a backoff.
 * @param start called at each start of the worker
 */
export function feeWorker(
  context: Pick<FeeContext, "clock" | "log" | "random">,
  name: "claims" | "withdrawals" | "rewards",
  start: () => (signal: AbortSignal) => Promise<number>,
): Worker {
  const run = async (signal: AbortSignal): Promise<void> => {
    const round = start();
    let failures = 0;
    while (!signal.aborted) {
      let pauseMs;
      try {
        pauseMs = await round(signal);
        failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFault)) throw error;
        failures++;
        context.log[failures === 3 ? "warn" : "debug"](`read_failed.${name}`, { failures, error });
        pauseMs = nextDelayMs(endpointBackoff, failures, context.random.fraction());
      }
      await context.clock.sleep(pauseMs, signal);
    }
  };
  return { name, run };
}
