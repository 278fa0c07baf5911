/**
 * Gates of modules: applications that accept deliveries of one relayer only name it in `relayer()`, the host's manager
 * also in `params()`. Facts: docs/protocol/evm-host.md section 13. The modules are anybody's contracts: a call has
 * little gas, and an answer of another shape is none.
 */
import { fromHex, type Hex, toHex } from "../../encoding/bytes.ts";
import { type Address, presentAddress } from "../../evm/address.ts";
import { DAY_MS } from "../../pricing/loss_bound.ts";
import { dropOldest, partsOf } from "../../runtime/slices.ts";
import type { Certain, Gate, ModuleGates } from "../reads.ts";
import { readCertain } from "./certain_reads.ts";
import { EvmPart } from "./evm_context.ts";
import { callResult, type Query } from "./queries.ts";

/** Selector of `relayer()`. */
const RELAYER: Hex = "0x8406c079";
/** Selector of `params()`: of the host's manager, the words admin and host. */
const PARAMS: Hex = "0xcff0ab96";

/** Gas of one call: a proxy's getter takes a third of it, and nobody answers with more than 180 kB. */
const CALL_GAS = 100_000n;
/** Modules of one request: together their answers have at most some megabytes. */
const MODULES_AT_ONCE = 20;

/** Pause after endpoints disagreed about a closed gate, ms. */
const DOUBT_MS = 10 * 60_000;
/** Validity of an answer that is not certain where nothing is known, ms: the simulation decides. */
const UNKNOWN_MS = 60_000;
/** Time after the last certain answer from which a gate in doubt counts as open, ms. */
const MAX_DOUBT_MS = 2 * DAY_MS;
/** Maximum number of modules remembered. */
const MAX_MODULES = 1_000;

/** Gates of the modules of one chain. */
export class EvmGates extends EvmPart implements ModuleGates {
  readonly #known = new Map<Hex, Gate>();
  /** Contracts of the host that {@link pollHost} compares. */
  #host: string | undefined;

  async fetchGates(modules: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Gate[]> {
    const nowMs = this.context.at.clock.now();
    const addresses = modules.map(toHex);
    const due = [...new Set(addresses)].filter((module) =>
      module.length === 42 && !((this.#known.get(module)?.untilMs ?? 0) > nowMs)
    );
    for (const part of partsOf(due, MODULES_AT_ONCE)) await this.#read(part, signal);
    const open: Gate = { account: undefined, readAtMs: nowMs, untilMs: nowMs + UNKNOWN_MS };
    return addresses.map((module) => this.#known.get(module) ?? open);
  }

  find(module: Uint8Array): Gate | undefined {
    return this.#known.get(toHex(module));
  }

  forget(module?: Uint8Array): void {
    if (module === undefined) this.#known.clear();
    else this.#known.delete(toHex(module));
  }

  async pollHost(signal: AbortSignal): Promise<boolean> {
    if (![...this.#known.values()].some(({ account }) => account !== undefined)) return false;
    const before = this.#host;
    const { handler, hostManager } = await this.context.hostParams.read(signal);
    this.#host = `${handler} ${hostManager}`;
    if (before === undefined || before === this.#host) return false;
    this.forget();
    return true;
  }

  async #read(modules: readonly Address[], signal: AbortSignal): Promise<void> {
    const { endpoints } = this.context.at;
    const { handler, hostManager } = await this.context.hostParams.read(signal);
    this.#host ??= `${handler} ${hostManager}`;
    const asked = modules.flatMap((module) => [
      { module, data: RELAYER },
      ...module === hostManager ? [{ module, data: PARAMS }] : [],
    ]);
    const answers = await readCertain(endpoints, {
      queriesAt: (block) => asked.map(({ module, data }) => gateQuery(module, data, block)),
      since: {},
      // A module without the getter, or before its gate was set up.
      reverted: { value: undefined },
    }, signal);
    for (const module of modules) {
      this.#note(module, answers.filter((_, index) => asked[index]?.module === module));
    }
    dropOldest(this.#known, MAX_MODULES);
  }

  #note(module: Address, answers: readonly Certain<Uint8Array | undefined>[]): void {
    const nowMs = this.context.at.clock.now();
    const before = this.#known.get(module);
    this.#known.delete(module);
    const values = answers.flatMap((answer) => answer.kind === "certain" ? [answer.value] : []);
    if (values.length === answers.length) {
      const account = values.find((value) => value !== undefined);
      this.#known.set(module, { account, readAtMs: nowMs, untilMs: nowMs + DAY_MS });
    } else if (before?.account !== undefined && nowMs < before.readAtMs + MAX_DOUBT_MS) {
      this.#known.set(module, { ...before, untilMs: nowMs + DOUBT_MS });
    } else {
      this.#known.set(module, { account: undefined, readAtMs: nowMs, untilMs: nowMs + UNKNOWN_MS });
    }
  }
}

/** Query of the account that a getter names; zero, and every answer of another shape, is none. */
function gateQuery(module: Address, data: Hex, block: bigint): Query<Uint8Array | undefined> {
  const { call, read } = callResult({ to: module, data, gas: CALL_GAS }, block);
  const words = data === PARAMS ? 2 : 1;
  return {
    call,
    read: (result) => {
      const found = new RegExp(`^0x0{24}([0-9a-f]{40})(?:[0-9a-f]{64}){${words - 1}}$`, "i").exec(
        read(result),
      );
      const address = found?.[1] === undefined ? undefined : presentAddress(found[1]);
      return address === undefined ? undefined : fromHex(address);
    },
  };
}
