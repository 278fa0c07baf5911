/**
 * Cached parameters of the host, and the reaction when governance changes them: one line of the log, and another
 * simulation if the handler changed.
 */
import type { Address } from "../../evm/address.ts";
import { type HostParams, hostReads } from "../../evm/host_reads.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Simulation } from "../submission.ts";
import { Cached } from "./cached.ts";
import { hostChanges } from "./host_changes.ts";
import { contractRead, type Query } from "./queries.ts";
import { callOne } from "./rpc_batch.ts";

/** Governance changes these rarely; every signing reads them again anyway. */
const HOST_PARAMS_TTL_MS = 5 * 60_000;

/** Dependencies for reading the parameters of one host. */
export interface HostParamsContext {
  readonly endpoints: RpcEndpointSet;
  readonly clock: Clock;
  readonly log: Log;
  readonly host: Address;
}

/** Parameters of one host. */
export class HostParamsReader {
  readonly #at: HostParamsContext;
  readonly #cache: Cached<HostParams>;

  constructor(at: HostParamsContext) {
    this.#at = at;
    this.#cache = new Cached(at.clock, HOST_PARAMS_TTL_MS);
  }

  /** Query of the parameters; pass its result to {@link note}. */
  get query(): Query<HostParams> {
    return contractRead(this.#at.host, hostReads.hostParams);
  }

  /** Returns the parameters, at most five minutes old; usually no request. */
  async read(signal: AbortSignal): Promise<HostParams> {
    return await this.#cache.get(async () => {
      const params = await callOne(this.#at.endpoints, this.query, { signal });
      this.#logChanges(params);
      return params;
    });
  }

  /** Records parameters that were just read. True when the handler changed. */
  note(params: HostParams): boolean {
    const before = this.#cache.last;
    this.#logChanges(params);
    this.#cache.set(params);
    return before !== undefined && before.handler !== params.handler;
  }

  /**
   * Returns the result of `simulate`, which calls the handler from {@link read}; runs it again if governance has
   * replaced that handler since the parameters were read.
   */
  async simulate(simulate: () => Promise<Simulation>, signal: AbortSignal): Promise<Simulation> {
    const { handler } = await this.read(signal);
    const simulation = await simulate();
    if (simulation.kind === "accepted" || simulation.refusal.code !== "handler_replaced") return simulation;
    this.note(await callOne(this.#at.endpoints, this.query, { signal }));
    return (await this.read(signal)).handler === handler ? simulation : await simulate();
  }

  #logChanges(params: HostParams): void {
    const before = this.#cache.last;
    const changes = before === undefined ? undefined : hostChanges(before, params);
    if (changes !== undefined) this.#at.log.info("host_changed", changes);
  }
}
