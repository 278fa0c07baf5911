/** An EVM chain in memory with what deliveries ask beside `memory_chain.ts`: the handler as it was read, and a client of the hub. */
import type {
  ConsensusClientKind,
  HostConsensusView,
  StoredAuthoritySet,
} from "../../src/core/chains/hub_client.ts";
import type { Delivery, Simulation } from "../../src/core/chains/submission.ts";
import type { Address } from "../../src/core/evm/address.ts";
import { MemoryChain } from "./memory_chain.ts";

/** A chain beside the hub with a handler that governance may replace, and a client of the hub. */
export class MemoryEvm extends MemoryChain {
  /** True when the handler has `batchCall`. */
  hasBatchCall = true;
  /** The one that its endpoint named last. */
  #handler: Address | undefined;

  protected override get handler(): Address {
    return this.#handler ?? super.handler;
  }

  /** What signs asks the host once more. */
  protected override hasOtherHandler(handler: Address): boolean {
    const hasOther = this.#handler !== undefined && this.#handler !== handler;
    this.#handler = handler;
    return hasOther;
  }

  /** Calls the handler that was read last, and once more when the host has another one by now. */
  override async simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const before = this.#handler ??= await this.#readHandler(signal);
    const simulation = await super.simulate(delivery, signal);
    if (simulation.kind === "accepted" || simulation.refusal.code !== "handler_replaced") return simulation;
    this.#handler = await this.#readHandler(signal);
    return this.#handler === before ? simulation : await super.simulate(delivery, signal);
  }

  #readHandler(signal: AbortSignal): Promise<Address> {
    return this.call("fetchHostParams", signal, () => this.seenBlock.state.handler);
  }

  override get hubClient(): this {
    return this;
  }

  /** Hosts in memory take proofs of any kind; the consensus relayer has doubles of its own. */
  fetchConsensusView(): Promise<HostConsensusView> {
    return Promise.reject(new Error("No consensus relayer runs here"));
  }

  fetchClientKind(): Promise<ConsensusClientKind> {
    return Promise.resolve("router");
  }

  fetchAuthoritySet(signal: AbortSignal): Promise<StoredAuthoritySet> {
    return this.call("fetchAuthoritySet", signal, () => {
      const { setId } = this.node.head.state;
      return { setId, stateBytes: setId === undefined ? 96 : 256 };
    });
  }

  fetchHasBatchCall(signal: AbortSignal): Promise<boolean> {
    return this.call("fetchHasBatchCall", signal, () => this.hasBatchCall);
  }
}
