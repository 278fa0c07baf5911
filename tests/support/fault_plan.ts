/** What goes wrong when: faults of a chain that a test plans by hand or draws from a seed. */
import { RpcFault, type RpcFaultCode } from "../../src/core/rpc/call.ts";
import type { Clock, Randomness } from "../../src/core/runtime/clock.ts";

/** One way in which a call goes wrong. */
export type PlannedFault =
  /** The endpoint says no (or nothing). */
  | { readonly kind: "throw"; readonly code: RpcFaultCode; readonly retryAfterMs?: number }
  /** No answer until the caller gives up. */
  | { readonly kind: "hang" }
  /** The answer takes longer. */
  | { readonly kind: "delay"; readonly ms: number }
  /** The thing is done, but its answer is lost. */
  | { readonly kind: "loseAnswer"; readonly code: RpcFaultCode }
  /** Something else happens before or after the thing is done, e.g. the death of the program. */
  | { readonly kind: "interrupt"; readonly when: "before" | "after"; readonly act: () => void };

interface Rule {
  readonly method: string;
  readonly fault: PlannedFault;
  skip: number;
  times: number;
}

/** The faults of one chain as one relayer sees it. Planned ones come first, in the order in which they were added. */
export class FaultPlan {
  readonly #rules: Rule[] = [];
  #chance: { random: Randomness; percent: number; faults: readonly PlannedFault[] } | undefined;

  /** Plans `fault` for calls of `method` ("*": any), after `skip` of them, `times` times. */
  add(
    method: string,
    fault: PlannedFault,
    { skip = 0, times = 1 }: { skip?: number; times?: number } = {},
  ): void {
    this.#rules.push({ method, fault, skip, times });
  }

  /** Forgets every planned fault of `method`. */
  clear(method: string): void {
    for (const rule of this.#rules) if (rule.method === method) rule.times = 0;
  }

  /** From now on each call goes wrong with `percent` %, in a way drawn from `faults`. 0: never. */
  draw(random: Randomness, percent: number, faults: readonly PlannedFault[]): void {
    this.#chance = { random, percent, faults };
  }

  /** The fault of this call. */
  take(method: string): PlannedFault | undefined {
    for (const rule of this.#rules) {
      if ((rule.method !== method && rule.method !== "*") || rule.times === 0) continue;
      if (rule.skip > 0) {
        rule.skip--;
        continue;
      }
      rule.times--;
      return rule.fault;
    }
    const chance = this.#chance;
    if (chance === undefined || chance.random.fraction() * 100 >= chance.percent) return undefined;
    return chance.faults[Math.floor(chance.random.fraction() * chance.faults.length)];
  }
}

/** Does `work` as the fault lets it. */
export async function doFaulty<T>(
  fault: PlannedFault | undefined,
  where: { readonly chain: string; readonly method: string; readonly clock: Clock },
  work: () => T,
  signal: AbortSignal,
): Promise<T> {
  switch (fault?.kind) {
    case undefined:
      return work();
    case "throw":
      throw planned(where, fault.code, fault.retryAfterMs);
    case "hang":
      return await hang(signal);
    case "delay":
      await where.clock.sleep(fault.ms, signal);
      return work();
    case "loseAnswer":
      work();
      throw planned(where, fault.code);
    case "interrupt": {
      if (fault.when === "before") fault.act();
      signal.throwIfAborted();
      const result = work();
      if (fault.when === "after") fault.act();
      signal.throwIfAborted();
      return result;
    }
  }
}

function planned(
  where: { readonly chain: string; readonly method: string },
  code: RpcFaultCode,
  retryAfterMs?: number,
): RpcFault {
  const place = { chain: where.chain, endpointHost: "memory", method: where.method };
  return new RpcFault(code, place, { detail: "planned", retryAfterMs });
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
