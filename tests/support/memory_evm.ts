/** An EVM chain in memory with what deliveries ask beside `memory_chain.ts`: fees, host parameters, a client of the hub. */
import type { PaidFees } from "../../src/core/chains/fees.ts";
import type {
  ConsensusClientKind,
  HostConsensusView,
  StoredAuthoritySet,
} from "../../src/core/chains/hub_client.ts";
import { type ProvenBlock, UnprovableKeyError } from "../../src/core/chains/proofs.ts";
import type { Delivery, SigningInput, SigningResult, Simulation } from "../../src/core/chains/submission.ts";
import type { HostParamsReader } from "../../src/core/chains/evm/evm_context.ts";
import { type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import type { FeeReader, StateProver } from "../../src/messaging/relay/leg.ts";
import { sealOfKeys } from "./memory_answers.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { MemoryChain, type MemoryChainOptions } from "./memory_chain.ts";
import type { MemoryNode } from "./memory_node.ts";
import { hostParamsWith, memoryHostParams } from "./memory_params.ts";
import { RecordedLog } from "./recorded_log.ts";

/** A chain beside the hub: fees of its requests, proofs of its state, and a client of the hub. */
export class MemoryEvm extends MemoryChain implements FeeReader, StateProver {
  /** Decimals of the fee token. */
  decimals = 18;
  /** What the host's router says; `undefined`: it has no pool. */
  routerPrice27: bigint | undefined = undefined;
  /** True when the handler has `batchCall`. */
  hasBatchCall = true;
  /** Keys whose value this chain cannot prove, lower-case hex. */
  readonly unprovable = new Set<Hex>();
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

  override fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<PaidFees> {
    return this.call("fetchFees", signal, () => {
      const { fees } = this.seen;
      return { units: commitments.map((commitment) => fees.get(commitment)), decimals: this.decimals };
    });
  }

  override fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return this.call("fetchFeeTokenDecimals", signal, () => this.decimals);
  }

  override fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined> {
    return this.call("fetchRouterPrice", signal, () => this.routerPrice27);
  }

  override proveState(
    keys: readonly Uint8Array[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    return this.call("proveState", signal, () => {
      const bad = keys.find((key) => this.unprovable.has(toHex(key)));
      if (bad !== undefined) throw new UnprovableKeyError("account_not_present", bad);
      return sealOfKeys(this.blockAt(height, "proveState").hash, keys);
    });
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
