/** Parts of chains whose answers an observer is notified of as they are read; everything else is the part's own. */
import type { ChainObserver } from "./chain_board.ts";
import type { Chain } from "./port.ts";

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

/** Returns the chain with its reads, proofs and simulations observed. */
export function observeChain<C extends Chain>(chain: C, observer: ChainObserver): C {
  const of = chain.id.stateMachine;
  const now = (): number => observer.now();
  return {
    ...chain,
    reads: observed(chain.reads, {
      fetchView: (view, [{ stateMachine }]) => {
        observer.noteCounterparty(of, stateMachine, view.height);
        observer.note(of, "isFrozen", view.isFrozen);
      },
    }),
    proofs: observed(chain.proofs, {
      proveMessages: (_proof, [, { target }], tookMs) =>
        observer.noteStage(target.id.stateMachine, "proven", tookMs),
    }, now),
    simulator: observed(chain.simulator, {
      simulate: (_simulation, _args, tookMs) => observer.noteStage(of, "simulated", tookMs),
    }, now),
    fees: observed(chain.fees, {
      fetchFees: ({ decimals }) => observer.noteFeeToken(of, decimals),
      fetchFeeTokenDecimals: (decimals) => observer.noteFeeToken(of, decimals),
    }),
    ...chain.gas === undefined ? {} : {
      gas: observed(chain.gas, {
        fetchGasQuote: ({ gasPriceWei }) => observer.note(of, "gasPriceWei", gasPriceWei),
        fetchBalance: (balanceWei) => observer.note(of, "balanceWei", balanceWei),
      }),
    },
  };
}
