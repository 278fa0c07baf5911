/** Parts of chains whose reads, proofs and simulations an observer is notified of; everything else is their own. */
import type { ConsensusStateId, StateMachineId } from "../ismp/state_machine.ts";
import type { ChainObserver } from "./chain_board.ts";
import type { ConsensusClientView, ConsensusTarget } from "./consensus_target.ts";
import type { HostConsensusView, HubLightClient } from "./hub_client.ts";
import type { Chain } from "./port.ts";

/** Returns the part with these methods in the place of its own. */
function withMethods<T extends object>(part: T, methods: Partial<T>): T {
  return new Proxy(part, {
    get: (own, name) => {
      const replaced: unknown = Reflect.get(methods, name);
      if (replaced !== undefined) return replaced;
      const value: unknown = Reflect.get(own, name);
      return typeof value === "function" ? value.bind(own) : value;
    },
  });
}

/** Returns the chain with observed parts. */
export function observeChain<C extends Chain>(chain: C, observer: ChainObserver): C {
  const { id: { stateMachine: name }, reads, proofs, simulator, fees, gas } = chain;
  return {
    ...chain,
    reads: withMethods(reads, {
      fetchView: async (counterparty, signal) => {
        const view = await reads.fetchView(counterparty, signal);
        observer.noteCounterparty(name, counterparty.stateMachine, view.height);
        observer.note(name, "isFrozen", view.isFrozen);
        return view;
      },
    }),
    proofs: withMethods(proofs, {
      proveMessages: async (messages, at, signal) => {
        const startMs = observer.now();
        const proof = await proofs.proveMessages(messages, at, signal);
        observer.noteStage(at.target.id.stateMachine, "proven", observer.now() - startMs);
        return proof;
      },
    }),
    simulator: withMethods(simulator, {
      simulate: async (delivery, signal) => {
        const startMs = observer.now();
        const simulation = await simulator.simulate(delivery, signal);
        observer.noteStage(name, "simulated", observer.now() - startMs);
        return simulation;
      },
    }),
    fees: withMethods(fees, {
      fetchFeeTokenDecimals: async (signal) => {
        const decimals = await fees.fetchFeeTokenDecimals(signal);
        observer.noteFeeToken(name, decimals);
        return decimals;
      },
    }),
    gas: gas && withMethods(gas, {
      fetchGasQuote: async (signal) => {
        const quote = await gas.fetchGasQuote(signal);
        observer.note(name, "gasPriceWei", quote.gasPriceWei);
        return quote;
      },
      fetchBalance: async (signal) => {
        const balanceWei = await gas.fetchBalance(signal);
        observer.note(name, "balanceWei", balanceWei);
        return balanceWei;
      },
    }),
  };
}

/** Notified of what was read of a target. Must not throw. */
export interface TargetReadObserver {
  onClient(id: ConsensusStateId, client: ConsensusClientView): void;
  /** Called with the latest height of a chain that the target has. */
  onHeight(of: StateMachineId, height: bigint): void;
}

/** Returns the target with observed reads. */
export function observeTarget(target: ConsensusTarget, observer: TargetReadObserver): ConsensusTarget {
  const { reads } = target;
  const observed = withMethods(reads, {
    fetchClient: async (id, block, signal) => {
      const client = await reads.fetchClient(id, block, signal);
      if (client !== undefined) observer.onClient(id, client);
      return client;
    },
    fetchLatestHeight: async (of, signal) => {
      const height = await reads.fetchLatestHeight(of, signal);
      if (height !== undefined) observer.onHeight(of, height);
      return height;
    },
  });
  return { ...target, reads: observed };
}

/** Returns the client with observed reads. @param onView must not throw */
export function observeHubClient(
  client: HubLightClient,
  onView: (view: HostConsensusView) => void,
): HubLightClient {
  return withMethods(client, {
    fetchConsensusView: async (hub, signal) => {
      const view = await client.fetchConsensusView(hub, signal);
      onView(view);
      return view;
    },
  });
}
