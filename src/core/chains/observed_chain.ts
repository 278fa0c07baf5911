/** A chain whose reads, proofs and simulations an observer is notified of; everything else is the chain's own. */
import type { ChainObserver } from "./chain_board.ts";
import type { Chain } from "./port.ts";

/** Returns the chain with observed parts. */
export function observeChain<C extends Chain>(chain: C, observer: ChainObserver): C {
  const of = chain.id.stateMachine;
  const { reads, proofs, simulator, fees, gas } = chain;
  return {
    ...chain,
    reads: override(reads, {
      fetchView: async (counterparty, signal) => {
        const view = await reads.fetchView(counterparty, signal);
        observer.noteCounterparty(of, counterparty.stateMachine, view.height);
        observer.note(of, "isFrozen", view.isFrozen);
        return view;
      },
    }),
    proofs: override(proofs, {
      proveMessages: async (messages, at, signal) => {
        const startMs = observer.now();
        const proof = await proofs.proveMessages(messages, at, signal);
        observer.noteStage(at.target.id.stateMachine, "proven", observer.now() - startMs);
        return proof;
      },
    }),
    simulator: override(simulator, {
      simulate: async (delivery, signal) => {
        const startMs = observer.now();
        const simulation = await simulator.simulate(delivery, signal);
        observer.noteStage(of, "simulated", observer.now() - startMs);
        return simulation;
      },
    }),
    fees: override(fees, {
      fetchFeeTokenDecimals: async (signal) => {
        const decimals = await fees.fetchFeeTokenDecimals(signal);
        observer.noteFeeToken(of, decimals);
        return decimals;
      },
    }),
    ...gas !== undefined && {
      gas: override(gas, {
        fetchGasQuote: async (signal) => {
          const quote = await gas.fetchGasQuote(signal);
          observer.note(of, "gasPriceWei", quote.gasPriceWei);
          return quote;
        },
        fetchBalance: async (signal) => {
          const balanceWei = await gas.fetchBalance(signal);
          observer.note(of, "balanceWei", balanceWei);
          return balanceWei;
        },
      }),
    },
  };
}

/** Returns a part of a chain with other methods; those that are not named run on the part itself. */
function override<Part extends object>(part: Part, methods: Partial<Part>): Part {
  return new Proxy(part, {
    get: (target, name) => {
      const own: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}
