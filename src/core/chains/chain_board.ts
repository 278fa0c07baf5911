/**
 * What the relayer's own reads said of each chain last: the view of other chains, gas price and balance. No request is
 * made for it; chains are only listened to. Heights are on the board of endpoints.
 */
import type { StateMachine } from "../ismp/state_machine.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Chain } from "./port.ts";
import type { CounterpartyView } from "./reads.ts";

/** A value with the time at which it was read, Unix milliseconds. */
export interface Read<T> {
  readonly value: T;
  readonly atMs: number;
}

/** A chain's view of another one. */
export interface CounterpartyReading extends Pick<CounterpartyView, "height" | "isFrozen"> {
  readonly counterparty: StateMachine;
  /** Time at which the chain accepted that height, Unix milliseconds; until it is known, when it was first seen. */
  readonly roseAtMs: number;
  /** False: the height was there already, and since when was not read yet. */
  readonly isDated: boolean;
}

/** A chain as it was last read; absent: not read yet. */
export interface ChainSnapshot {
  readonly gasPriceWei?: Read<bigint>;
  readonly balanceWei?: Read<bigint>;
  /** Address of our account. */
  readonly account?: Uint8Array | undefined;
  readonly feeTokenDecimals?: number;
  readonly counterparties: readonly CounterpartyReading[];
}

/** Stage of a batch whose time is measured. */
export type BatchStage = "proven" | "simulated";

/** Called with the time of a stage. @param target chain that the batch goes to */
type OnStage = (target: StateMachine, stage: BatchStage, tookMs: number) => void;

/** Remembers the last reads of all chains. */
export class ChainBoard {
  readonly #known = new Map<StateMachine, ChainSnapshot>();

  constructor(readonly deps: { readonly clock: Pick<Clock, "now">; readonly onStage: OnStage }) {}

  /** Last reads of one chain. */
  read(chain: StateMachine): ChainSnapshot {
    return this.#known.get(chain) ?? { counterparties: [] };
  }

  /** The chain with its reads, proofs and simulations observed. */
  observe<C extends Chain>(chain: C): C {
    const of = chain.id.stateMachine;
    const now = (): number => this.deps.clock.now();
    const note = (change: Partial<ChainSnapshot>): void =>
      void this.#known.set(of, { ...this.read(of), ...change });
    return {
      ...chain,
      reads: observed(chain.reads, {
        fetchView: (view, [{ stateMachine }]) =>
          note({ counterparties: this.#withView(of, stateMachine, view) }),
        fetchUpdateTime: (storedSec, [{ id, height }]) =>
          note({
            counterparties: this.read(of).counterparties.map((each) =>
              each.counterparty === id.stateMachine && each.height === height && !each.isDated
                ? { ...each, isDated: true, roseAtMs: Math.min(each.roseAtMs, toMs(storedSec)) }
                : each
            ),
          }),
      }),
      proofs: observed(chain.proofs, {
        proveMessages: (_proof, [, { target }], tookMs) =>
          this.deps.onStage(target.id.stateMachine, "proven", tookMs),
      }, now),
      simulator: observed(chain.simulator, {
        simulate: (_simulation, _args, tookMs) => this.deps.onStage(of, "simulated", tookMs),
      }, now),
      fees: observed(chain.fees, {
        fetchFees: ({ decimals: feeTokenDecimals }) => note({ feeTokenDecimals }),
      }),
      ...chain.gas === undefined ? {} : {
        gas: observed(chain.gas, {
          fetchGasQuote: ({ gasPriceWei: value }) => note({ gasPriceWei: { value, atMs: now() } }),
          fetchBalance: (value) => note({ account: chain.relayer, balanceWei: { value, atMs: now() } }),
        }),
      },
    };
  }

  #withView(
    of: StateMachine,
    counterparty: StateMachine,
    { height, isFrozen }: CounterpartyView,
  ): readonly CounterpartyReading[] {
    const { counterparties } = this.read(of);
    const known = counterparties.find((each) => each.counterparty === counterparty);
    const { roseAtMs, isDated } = known !== undefined && known.height >= height
      ? known
      : { roseAtMs: this.deps.clock.now(), isDated: known !== undefined };
    const reading = { counterparty, height, isFrozen, roseAtMs, isDated };
    return [...counterparties.filter((each) => each !== known), reading];
  }
}

/** Unix milliseconds of a time on a chain; infinite: unknown. */
function toMs(atSec: bigint | undefined): number {
  return atSec === undefined ? Infinity : Number(atSec) * 1_000;
}

/**
 * Observers by method: called with what it resolved to, its arguments, and the time that it took, ms. They must not
 * throw.
 */
export type Observers<T> = {
  readonly [Name in keyof T]?: T[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (result: Result, args: Args, tookMs: number) => void
    : never;
};

/** Returns the object with observed methods. @param now time, ms; absent: nothing is timed */
export function observed<T extends object>(of: T, observers: Observers<T>, now = (): number => 0): T {
  return new Proxy(of, {
    get(target, name): unknown {
      const method: unknown = Reflect.get(target, name, target);
      const note: unknown = Reflect.get(observers, name);
      if (typeof method !== "function") return method;
      if (typeof note !== "function") return method.bind(target);
      return async (...args: readonly unknown[]): Promise<unknown> => {
        const startMs = now();
        const result: unknown = await method.apply(target, args);
        note(result, args, now() - startMs);
        return result;
      };
    },
  });
}
