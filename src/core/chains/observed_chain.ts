/** A chain whose reads, proofs and simulations an observer is notified of; everything else is the chain's own. */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Message } from "../ismp/message.ts";
import type { StateMachineHeight, StateMachineId } from "../ismp/state_machine.ts";
import type { ChainObserver } from "./chain_board.ts";
import type { ChainFees, ChainGas, GasQuote } from "./fees.ts";
import type { Chain } from "./port.ts";
import type {
  ChainProofs,
  FeeProof,
  MessageProof,
  ProofVerifier,
  ProvenBlock,
  ReceiptProof,
} from "./proofs.ts";
import type { ChainReads, CounterpartyView } from "./reads.ts";
import type { Simulator } from "./submission.ts";

/** Returns the chain with observed parts. */
export function observeChain<C extends Chain>(chain: C, observer: ChainObserver): C {
  const of = chain.id.stateMachine;
  return {
    ...chain,
    reads: new ObservedReads(chain, observer),
    proofs: new ObservedProofs(chain.proofs, observer),
    simulator: observeSimulator(chain, observer),
    fees: observeFees(chain, observer),
    ...chain.gas === undefined
      ? {}
      : { gas: observeGas(chain.gas, (name, value) => observer.note(of, name, value)) },
  };
}

class ObservedReads implements ChainReads {
  readonly #chain: Chain;
  readonly #observer: ChainObserver;

  constructor(chain: Chain, observer: ChainObserver) {
    this.#chain = chain;
    this.#observer = observer;
  }

  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return this.#chain.reads.fetchHeight(signal);
  }

  fetchFinalHeight(signal: AbortSignal): Promise<bigint> {
    return this.#chain.reads.fetchFinalHeight(signal);
  }

  async fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    const view = await this.#chain.reads.fetchView(counterparty, signal);
    const chain = this.#chain.id.stateMachine;
    this.#observer.noteCounterparty(chain, counterparty.stateMachine, view.height);
    this.#observer.note(chain, "isFrozen", view.isFrozen);
    return view;
  }

  fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint> {
    return this.#chain.reads.fetchBlockTime(height, signal);
  }

  fetchUpdateTime(height: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined> {
    return this.#chain.reads.fetchUpdateTime(height, signal);
  }

  fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined> {
    return this.#chain.reads.fetchStateRoot(of, signal);
  }

  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#chain.reads.fetchReceipts(messages, signal);
  }
}

class ObservedProofs implements ChainProofs {
  readonly #proofs: ChainProofs;
  readonly #observer: ChainObserver;

  constructor(proofs: ChainProofs, observer: ChainObserver) {
    this.#proofs = proofs;
    this.#observer = observer;
  }

  async proveMessages(
    messages: readonly Message[],
    at: { readonly height: bigint; readonly target: ProofVerifier },
    signal: AbortSignal,
  ): Promise<MessageProof> {
    const startMs = this.#observer.now();
    const proof = await this.#proofs.proveMessages(messages, at, signal);
    this.#observer.noteStage(at.target.id.stateMachine, "proven", this.#observer.now() - startMs);
    return proof;
  }

  proveFees(commitments: readonly Hash256[], at: ProvenBlock, signal: AbortSignal): Promise<FeeProof> {
    return this.#proofs.proveFees(commitments, at, signal);
  }

  proveReceipts(
    commitments: readonly Hash256[],
    at: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    return this.#proofs.proveReceipts(commitments, at, signal);
  }

  proveState(keys: readonly Uint8Array[], at: ProvenBlock, signal: AbortSignal): Promise<Uint8Array> {
    return this.#proofs.proveState(keys, at, signal);
  }
}

function observeSimulator({ id, simulator }: Chain, observer: ChainObserver): Simulator {
  return {
    simulate: async (delivery, signal) => {
      const startMs = observer.now();
      const simulation = await simulator.simulate(delivery, signal);
      observer.noteStage(id.stateMachine, "simulated", observer.now() - startMs);
      return simulation;
    },
  };
}

function observeFees({ id, fees }: Chain, observer: ChainObserver): ChainFees {
  return {
    fetchFees: (commitments, signal) => fees.fetchFees(commitments, signal),
    fetchFeeTokenDecimals: async (signal) => {
      const decimals = await fees.fetchFeeTokenDecimals(signal);
      observer.noteFeeToken(id.stateMachine, decimals);
      return decimals;
    },
  };
}

function observeGas(
  gas: ChainGas,
  note: (name: "gasPriceWei" | "balanceWei", value: bigint) => void,
): ChainGas {
  return {
    fetchRouterPrice: (signal) => gas.fetchRouterPrice(signal),
    fetchGasQuote: async (signal): Promise<GasQuote> => {
      const quote = await gas.fetchGasQuote(signal);
      note("gasPriceWei", quote.gasPriceWei);
      return quote;
    },
    fetchDataCost: (raw, signal) => gas.fetchDataCost(raw, signal),
    fetchBalance: async (signal) => {
      const balanceWei = await gas.fetchBalance(signal);
      note("balanceWei", balanceWei);
      return balanceWei;
    },
  };
}
