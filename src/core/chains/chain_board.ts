/**
 * What the relayer's own reads said of each chain last: the view of other chains, gas price and balance. No request is
 * made for it; chains are only listened to. Heights are on the board of endpoints.
 */
import type { StateMachine } from "../ismp/state_machine.ts";
import type { Clock } from "../runtime/clock.ts";

/** A value with the time at which it was read, Unix milliseconds. */
export interface Read<T> {
  readonly value: T;
  readonly atMs: number;
}

/** A chain's view of another one. */
export interface CounterpartyReading {
  readonly counterparty: StateMachine;
  /** Latest height that it knows. */
  readonly height: bigint;
  readonly atMs: number;
  /** Time at which that height was first seen, Unix milliseconds. */
  readonly roseAtMs: number;
}

/** A chain as it was last read; `undefined`: not read yet. */
export interface ChainSnapshot {
  readonly chain: StateMachine;
  readonly isFrozen: Read<boolean> | undefined;
  readonly gasPriceWei: Read<bigint> | undefined;
  readonly balanceWei: Read<bigint> | undefined;
  readonly feeTokenDecimals: number | undefined;
  readonly counterparties: readonly CounterpartyReading[];
}

/** Stage of a batch whose time is measured. */
export type BatchStage = "proven" | "simulated";

/** Values of {@link ChainSnapshot} that are noted one by one. */
export interface NotedValues {
  readonly isFrozen: boolean;
  readonly gasPriceWei: bigint;
  readonly balanceWei: bigint;
}

/** Observer of reads. Must not throw. */
export interface ChainObserver {
  note<Name extends keyof NotedValues>(chain: StateMachine, name: Name, value: NotedValues[Name]): void;
  noteCounterparty(chain: StateMachine, counterparty: StateMachine, height: bigint): void;
  noteFeeToken(chain: StateMachine, decimals: number): void;
  /** @param target chain that the batch goes to. */
  noteStage(target: StateMachine, stage: BatchStage, tookMs: number): void;
  /** Time for measuring, Unix milliseconds. */
  now(): number;
}

interface Known {
  readonly values: { -readonly [Name in keyof NotedValues]?: Read<NotedValues[Name]> };
  readonly counterparties: Map<StateMachine, CounterpartyReading>;
  feeTokenDecimals: number | undefined;
}

/** Called with the time of a stage. */
type OnStage = (target: StateMachine, stage: BatchStage, tookMs: number) => void;

/** Remembers the last reads of all chains. */
export class ChainBoard implements ChainObserver {
  readonly #clock: Pick<Clock, "now">;
  readonly #onStage: OnStage;
  readonly #known = new Map<StateMachine, Known>();

  constructor(deps: { readonly clock: Pick<Clock, "now">; readonly onStage: OnStage }) {
    this.#clock = deps.clock;
    this.#onStage = deps.onStage;
  }

  note<Name extends keyof NotedValues>(chain: StateMachine, name: Name, value: NotedValues[Name]): void {
    const read: Read<NotedValues[Name]> = { value, atMs: this.now() };
    Object.assign(this.#find(chain).values, { [name]: read });
  }

  noteCounterparty(chain: StateMachine, counterparty: StateMachine, height: bigint): void {
    const { counterparties } = this.#find(chain);
    const known = counterparties.get(counterparty);
    const atMs = this.now();
    const roseAtMs = known !== undefined && known.height >= height ? known.roseAtMs : atMs;
    counterparties.set(counterparty, { counterparty, height, atMs, roseAtMs });
  }

  noteFeeToken(chain: StateMachine, decimals: number): void {
    this.#find(chain).feeTokenDecimals = decimals;
  }

  noteStage(target: StateMachine, stage: BatchStage, tookMs: number): void {
    this.#onStage(target, stage, tookMs);
  }

  now(): number {
    return this.#clock.now();
  }

  /** Last reads of one chain. */
  read(chain: StateMachine): ChainSnapshot {
    const { values, counterparties, feeTokenDecimals } = this.#find(chain);
    return {
      chain,
      isFrozen: values.isFrozen,
      gasPriceWei: values.gasPriceWei,
      balanceWei: values.balanceWei,
      feeTokenDecimals,
      counterparties: [...counterparties.values()],
    };
  }

  #find(chain: StateMachine): Known {
    const found = this.#known.get(chain);
    if (found !== undefined) return found;
    const made: Known = { values: {}, counterparties: new Map(), feeTokenDecimals: undefined };
    this.#known.set(chain, made);
    return made;
  }
}
