/** An EVM chain in memory with what deliveries ask beside `memory_chain.ts`: host parameters and a client of the hub. */
import type {
  ConsensusClientKind,
  HostConsensusView,
  StoredAuthoritySet,
} from "../../src/core/chains/hub_client.ts";
import type { Delivery, SigningInput, SigningResult, Simulation } from "../../src/core/chains/submission.ts";
import type { HostParamsReader } from "../../src/core/chains/evm/evm_context.ts";
import type { Address } from "../../src/core/evm/address.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { MemoryChain, type MemoryChainOptions } from "./memory_chain.ts";
import type { MemoryNode } from "./memory_node.ts";
import { hostParamsWith, memoryHostParams } from "./memory_params.ts";
import { RecordedLog } from "./recorded_log.ts";

/** A chain beside the hub with a handler that governance may replace, and a client of the hub. */
export class MemoryEvm extends MemoryChain {
  /** True when the handler has `batchCall`. */
  hasBatchCall = true;
  readonly #params: HostParamsReader;
  #handler: Address | undefined;

  constructor(node: MemoryNode, clock: Clock, options: MemoryChainOptions) {
    super(node, clock, options);
    const log = options.log ?? new RecordedLog();
    const ask = (signal: AbortSignal): Promise<Address> =>
      this.call("fetchHostParams", signal, () => this.seenBlock.state.handler);
    this.#params = memoryHostParams(this.id.stateMachine, { clock, log }, ask);
  }

  /** The one that its endpoint named last. */
  protected override get handler(): Address {
    return this.#handler ?? super.handler;
  }

  /** What signs asks the host once more. */
  protected override hasOtherHandler(handler: Address): boolean {
    const params = hostParamsWith(handler);
    this.#handler = params.handler;
    return this.#params.note(params);
  }

  override simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const simulate = async (): Promise<Simulation> => {
      this.#handler = (await this.#params.read(signal)).handler;
      return await super.simulate(delivery, signal);
    };
    return this.#params.simulate(simulate, signal);
  }

  override async sign(
    delivery: Delivery,
    input: SigningInput,
    signal: AbortSignal,
  ): Promise<SigningResult> {
    this.#handler = (await this.#params.read(signal)).handler;
    return await super.sign(delivery, input, signal);
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
