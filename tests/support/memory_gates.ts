/** Gates of modules in memory: who alone may deliver to them, remembered for a day as the EVM adapter does. */
import type { Gate, ModuleGates } from "../../src/core/chains/reads.ts";
import { type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";

const DAY_MS = 86_400_000;

/** Gates of one chain's modules. */
export class MemoryGates implements ModuleGates {
  /** The only account of each gated module. */
  readonly accounts = new Map<Hex, Uint8Array>();
  /** The only account of all other modules; `undefined`: they are open. */
  others: Uint8Array | undefined;
  /** True when governance has changed the host since it was polled. */
  hasHostChanged = false;
  /** Modules that were read, in order. */
  readonly reads: Hex[] = [];
  readonly #clock: Clock;
  readonly #known = new Map<Hex, Gate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  fetchGates(modules: readonly Uint8Array[]): Promise<readonly Gate[]> {
    return Promise.resolve(modules.map((module) => {
      const nowMs = this.#clock.now();
      const name = toHex(module);
      const known = this.#known.get(name);
      if (known !== undefined && nowMs < known.untilMs) return known;
      this.reads.push(name);
      const account = this.accounts.get(name) ?? this.others;
      const gate = { account, readAtMs: nowMs, untilMs: nowMs + DAY_MS };
      this.#known.set(name, gate);
      return gate;
    }));
  }

  find(module: Uint8Array): Gate | undefined {
    return this.#known.get(toHex(module));
  }

  forget(module?: Uint8Array): void {
    if (module === undefined) this.#known.clear();
    else this.#known.delete(toHex(module));
  }

  pollHost(): Promise<boolean> {
    const { hasHostChanged } = this;
    this.hasHostChanged = false;
    if (hasHostChanged) this.forget();
    return Promise.resolve(hasHostChanged);
  }
}
