/**
 * Readiness of a program: reasons for which it does not do its work although it runs, each with the time since which
 * it holds and what helps.
 */
import type { Clock } from "../runtime/clock.ts";
import type { MetricRegistry } from "./metrics.ts";

/** A reason, found at one time. */
export interface FoundReason {
  /** Stable code, e.g. `wallet_empty`. */
  readonly code: string;
  /** State machine; `undefined`: the program as a whole. */
  readonly chain: string | undefined;
  /** `EVM-1 -> POLKADOT-3367`; `undefined`: the chain as a whole. */
  readonly leg: string | undefined;
  /** What is the matter: a sentence. */
  readonly explanation: string;
  /** What the operator can do: a sentence. */
  readonly help: string;
  /** True: the work continues, less safely or less of it; such a reason does not make the program not ready. */
  readonly isWarning?: boolean | undefined;
  /** Unix milliseconds, where the time is known from elsewhere; else since it was first found. */
  readonly sinceMs?: number | undefined;
  /** Time for which it must have been found before it is reported, milliseconds; default 0. */
  readonly graceMs?: number;
}

/** A reason with the time since which it holds. */
export interface NotReadyReason extends Omit<FoundReason, "graceMs"> {
  readonly sinceMs: number;
}

/** Remembers since when each reason has been found. */
export class ReasonMemory {
  readonly #clock: Pick<Clock, "now">;
  #since: ReadonlyMap<string, number> = new Map();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Dates the reasons found now; those that are gone are forgotten. */
  date(found: readonly FoundReason[]): readonly NotReadyReason[] {
    const nowMs = this.#clock.now();
    const dated = found.map(({ graceMs = 0, ...reason }) => ({
      reason: { ...reason, sinceMs: reason.sinceMs ?? this.#since.get(keyOf(reason)) ?? nowMs },
      graceMs,
    }));
    this.#since = new Map(dated.map(({ reason }) => [keyOf(reason), reason.sinceMs]));
    return dated.filter(({ reason, graceMs }) => nowMs - reason.sinceMs >= graceMs).map(({ reason }) =>
      reason
    );
  }
}

/** Writes the gauges of readiness. */
export function writeReadiness(registry: MetricRegistry, reasons: readonly NotReadyReason[]): void {
  registry.clear("causeway_not_ready_reasons");
  registry.set("causeway_ready", {}, reasons.length === 0 ? 1 : 0);
  for (const { chain, code } of reasons) {
    registry.set("causeway_not_ready_reasons", { chain: chain ?? "", code }, 1);
  }
}

function keyOf({ code, chain, leg }: FoundReason): string {
  return JSON.stringify([code, chain, leg]);
}
