/**
 * Shared state of the EVM adapter: endpoint set, host, our account, and what was learned about them.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { type HostParams, hostReads } from "../../evm/host_reads.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import { ENDPOINT_FAULTS, RpcFault, type RpcFaultCode } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Sightings } from "../../runtime/refreshed.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Simulation } from "../submission.ts";
import { readOnlyAccount, type SigningAccount } from "./account.ts";
import { chainGasLimit, type GasPrice, lowest } from "./gas.ts";
import { GasPrices } from "./gas_prices.ts";
import { NonceChoice } from "./nonces.ts";
import { accountBalance, contractRead, gasPrice, type Query } from "./queries.ts";
import { callAll, callOne } from "./rpc_batch.ts";

/** How far ahead of a block that was seen the next one is estimated, ms. */
const HEAD_TTL_MS = 60_000;
/** Missing capabilities of an endpoint are tried again after this time. */
const UNSUPPORTED_TTL_MS = 10 * 60_000;

/** Constant part of {@link EvmContext}. */
export interface EvmDependencies {
  readonly endpoints: RpcEndpointSet;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: StateMachineId;
  readonly chainId: number;
  readonly host: Address;
  readonly account: SigningAccount;
  /** Address of the account. */
  readonly sender: Address;
  readonly clientType: "Geth" | "Erigon";
  /** Percent by which the maximum gas price of a transaction exceeds what is expected. */
  readonly gasPriceBufferPercent: number;
  /** Maximum gas price of a transaction, wei; `undefined`: none is configured or known for the chain. */
  readonly maximumGasPriceWei: bigint | undefined;
  /** Maximum number of blocks of one `eth_getLogs`; `undefined`: no limit. */
  readonly blocksPerEventQuery: bigint | undefined;
}

/** Gas and gas price of a simulated call. */
export interface TraceOptions {
  readonly gas: bigint;
  readonly price: GasPrice | undefined;
}

/** Block that a transaction may be mined in. */
export interface BlockPlace {
  readonly number: bigint;
  /** Unix seconds. */
  readonly timestamp: bigint;
}

/** A block that was seen, and how many blocks a second there were before it; 0: not known. */
interface SeenBlock extends BlockPlace {
  readonly perSec: number;
}

/** Longest time between two blocks of a chain of which it is not known, seconds. */
const MAX_BLOCK_SEC = 12;

/**
 * Estimates the block after the newest one, `elapsedSec` after one was seen. It is never earlier than the newest one, of
 * whose time contracts keep notes: the block that was seen may have been the newest for one interval already.
 */
export function placeAfter({ number, timestamp, perSec }: SeenBlock, elapsedSec: number): BlockPlace {
  const intervalSec = perSec > 0 ? Math.min(MAX_BLOCK_SEC, 1 / perSec) : MAX_BLOCK_SEC;
  return {
    number: number + BigInt(Math.ceil(elapsedSec * perSec)) + 1n,
    timestamp: timestamp + BigInt(Math.ceil(elapsedSec + intervalSec)),
  };
}

/** Capabilities that endpoints of a chain may lack. */
export type Capability =
  /** `debug_traceCall` with logs. */
  | "tracing"
  /** `eth_simulateV1`. */
  | "simulating"
  /** Traces in a block with another number and time than the newest one. */
  | "overriding"
  /** The block tag `finalized`. */
  | "finalized"
  /** Calls on top of the block tag `pending`. */
  | "mempool"
  /** The OP stack's price oracle, which other chains do not have. */
  | "opStack";

/** Maximum wait for a competitor's transaction: it may never be mined. */
const MEMPOOL_PATIENCE_MS = 60_000;

/** State shared by the parts of one EVM chain's adapter. */
export class EvmContext {
  /** The newest block that was seen last. */
  #head: SeenBlock & { readonly atMs: number } | undefined;
  /** Until when an endpoint counts as lacking a capability, ms: by capability and host. */
  readonly #lacking = new Map<string, number>();
  /** Whether handlers have `batchCall`, as far as it was checked: they are stateless and immutable. */
  readonly batchingHandlers = new Map<Address, boolean>();
  /** The host's parameters. */
  readonly hostParams: HostParamsReader;
  /** Messages and proofs of competitors seen in the mempool. */
  readonly #contested: Sightings;
  /** Gas prices that endpoints name, bounded by comparison. */
  readonly prices: GasPrices;
  /** The nonce of the next transaction. */
  readonly nonces: NonceChoice;
  /** True once the OP stack's price oracle was seen; that it is missing is believed for a while only. */
  isOpStack = false;
  /** True while the endpoint that was asked last knew the block tag `finalized`. */
  hasFinalized = false;

  /** False for a chain that is only a source: nothing is sent to it. */
  get signs(): boolean {
    return this.at.account !== readOnlyAccount;
  }

  constructor(readonly at: EvmDependencies) {
    this.hostParams = new HostParamsReader(at);
    this.nonces = new NonceChoice(at);
    this.#contested = new Sightings(at.clock);
    this.prices = new GasPrices(at);
  }

  /**
   * The next block, by the newest one seen and the clock: a contract that is simulated in it cannot tell by number and
   * time. `undefined` when none was seen recently, or an endpoint takes no such simulations.
   */
  get nextBlock(): BlockPlace | undefined {
    const { clock, endpoints } = this.at;
    const seen = this.newest;
    if (seen === undefined || endpoints.hosts.some((host) => this.isUnsupported("overriding", host))) {
      return undefined;
    }
    return placeAfter(seen, Math.max(0, clock.now() - seen.atMs) / 1_000);
  }

  /** The newest block that was seen recently. */
  get newest(): SeenBlock & { readonly atMs: number } | undefined {
    return this.#head !== undefined && this.at.clock.now() - this.#head.atMs < HEAD_TTL_MS
      ? this.#head
      : undefined;
  }

  /** Records the newest block. */
  noteHead({ number, timestamp }: BlockPlace): void {
    const before = this.#head;
    const blocks = number - (before?.number ?? number);
    const seconds = timestamp - (before?.timestamp ?? timestamp);
    const perSec = blocks > 0n && seconds > 0n ? Number(blocks) / Number(seconds) : before?.perSec ?? 0;
    this.#head = { number, timestamp, perSec, atMs: this.at.clock.now() };
  }

  /**
   * Gas and price for the first simulation of a transaction whose gas is unknown. Erigon requires a price and that
   * the account can pay for all the gas, so the balance limits it there; other clients charge nothing without a
   * price.
   */
  async traceOptions(signal: AbortSignal): Promise<TraceOptions> {
    const gas = chainGasLimit(this.at.chainId);
    if (this.at.clientType !== "Erigon") return { gas, price: undefined };
    const queries = [gasPrice, accountBalance(this.at.sender)] as const;
    const [gasPriceWei, balanceWei] = await callAll(this.at.endpoints, queries, { signal });
    const payable = gasPriceWei === 0n ? gas : balanceWei / gasPriceWei;
    return { gas: lowest(gas, payable), price: { type: "legacy", gasPriceWei } };
  }

  /** True when this endpoint, or every one, recently lacked the capability. */
  isUnsupported(capability: Capability, host?: string): boolean {
    const nowMs = this.at.clock.now();
    const hosts = host === undefined ? this.at.endpoints.hosts : [host];
    return hosts.every((each) => nowMs < (this.#lacking.get(`${capability} ${each}`) ?? 0));
  }

  /** Records what is in the mempool; false when it has been there for too long to be waited for. */
  isWorthWaiting(what: Hash256): boolean {
    return this.#contested.ageMs(what) < MEMPOOL_PATIENCE_MS;
  }

  /** Creates a fault of the chain that is no single endpoint's. */
  fault(code: RpcFaultCode, method: string, detail: string): RpcFault {
    const { endpoints: { chain, hosts } } = this.at;
    return new RpcFault(code, { chain, endpointHost: hosts.join(", "), method }, { detail });
  }

  /**
   * Records that an endpoint lacks a capability. @param by the endpoint, or the fault of the call that needs it, where
   * other calls of the same request were answered; faults of the endpoint as a whole tell nothing about it
   */
  noteUnsupported(capability: Capability, by: string | RpcFault): void {
    if (by instanceof RpcFault && (by.code === "reverted" || ENDPOINT_FAULTS.has(by.code))) return;
    const host = by instanceof RpcFault ? by.where.endpointHost : by;
    this.#lacking.set(`${capability} ${host}`, this.at.clock.now() + UNSUPPORTED_TTL_MS);
  }
}

/** Part of one EVM chain's adapter. */
export abstract class EvmPart {
  constructor(protected readonly context: EvmContext) {}
}

/** Governance changes these rarely; every signing reads them again anyway. */
const HOST_PARAMS_TTL_MS = 5 * 60_000;

/** Parameters of one host. */
class HostParamsReader {
  #known: { readonly params: HostParams; readonly atMs: number } | undefined;

  constructor(readonly at: Pick<EvmDependencies, "endpoints" | "clock" | "log" | "host">) {}

  /** Query of the parameters; pass its result to {@link note}. */
  get query(): Query<HostParams> {
    return contractRead(this.at.host, hostReads.hostParams);
  }

  /** Returns the parameters, at most five minutes old; usually no request. */
  async read(signal: AbortSignal): Promise<HostParams> {
    const known = this.#known;
    if (known !== undefined && this.at.clock.now() - known.atMs < HOST_PARAMS_TTL_MS) return known.params;
    const params = await callOne(this.at.endpoints, this.query, { signal });
    this.note(params);
    return params;
  }

  /** Records parameters that were just read. True when the handler changed. */
  note(params: HostParams): boolean {
    const before = this.#known?.params ?? params;
    this.#logChanges(before, params);
    this.#known = { params, atMs: this.at.clock.now() };
    return before.handler !== params.handler;
  }

  /**
   * Returns the result of `simulate`, which calls the handler from {@link read}; runs it again if governance has
   * replaced that handler since the parameters were read.
   */
  async simulate(simulate: () => Promise<Simulation>, signal: AbortSignal): Promise<Simulation> {
    const { handler } = await this.read(signal);
    const simulation = await simulate();
    if (simulation.kind === "accepted" || simulation.refusal.code !== "handler_replaced") return simulation;
    this.note(await callOne(this.at.endpoints, this.query, { signal }));
    return (await this.read(signal)).handler === handler ? simulation : await simulate();
  }

  /** Logs contracts and accounts that matter to a relayer and are others now. */
  #logChanges(before: HostParams, params: HostParams): void {
    const changes = REPORTED.filter((name) => before[name] !== params[name])
      .map((name) => [name, `${before[name]} -> ${params[name]}`]);
    if (changes.length > 0) this.at.log.info("host_changed", Object.fromEntries(changes));
  }
}

/** Parameters of a host that are reported when they change. */
const REPORTED = ["handler", "consensusClient", "feeToken", "hostManager"] as const;
