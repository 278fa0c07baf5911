/**
 * Readiness of a program: what is in the way of its work although it runs, each with the time since which it holds, what
 * helps, and when it is tried next.
 */
import type { Clock } from "../runtime/clock.ts";
import { formatDuration } from "../runtime/text_table.ts";

/** A reason with the time since which it holds. */
export interface NotReadyReason {
  /** Stable code, e.g. `wallet_empty`. */
  readonly code: string;
  /** State machine; absent: the program as a whole. */
  readonly chain?: string | undefined;
  /** `EVM-1 -> POLKADOT-3367`; absent: the chain as a whole. */
  readonly leg?: string | undefined;
  /** What is the matter: a sentence. */
  readonly explanation: string;
  /** What the operator can do: a sentence. */
  readonly help: string;
  /** True: the work continues, less safely or less of it; such a reason does not make the program not ready. */
  readonly isWarning?: boolean | undefined;
  /** When it is tried next, Unix milliseconds; absent: in every round, or only by what helps. */
  readonly nextMs?: number | undefined;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

/** A reason, found at one time. */
export interface FoundReason extends Omit<NotReadyReason, "sinceMs"> {
  /** Unix milliseconds, where the time is known from elsewhere; else since it was first found with its {@link mark}. */
  readonly sinceMs?: number | undefined;
  /** A value whose change ends the reason, e.g. a height that should rise. */
  readonly mark?: string;
  /** Time for which it must have been found before it is reported, milliseconds; default 0. */
  readonly graceMs?: number;
}

/** What makes two reasons the same one. */
export function reasonKey({ code, chain, leg }: Pick<FoundReason, "code" | "chain" | "leg">): string {
  return JSON.stringify([code, chain, leg]);
}

/** Remembers since when each reason has been found. */
export class ReasonMemory {
  readonly #clock: Pick<Clock, "now">;
  #since: ReadonlyMap<string, number> = new Map();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Dates the reasons found now, those that only warn last; those that are gone are forgotten. */
  date(found: readonly FoundReason[]): readonly NotReadyReason[] {
    const nowMs = this.#clock.now();
    const since = new Map<string, number>();
    const shown = found.flatMap(({ graceMs = 0, mark, ...reason }) => {
      const key = `${reasonKey(reason)} ${mark}`;
      const sinceMs = reason.sinceMs ?? this.#since.get(key) ?? nowMs;
      since.set(key, sinceMs);
      return nowMs - sinceMs >= graceMs ? [{ ...reason, sinceMs }] : [];
    });
    this.#since = since;
    return shown.toSorted((a, b) => Number(a.isWarning ?? false) - Number(b.isWarning ?? false));
  }
}

/** What is the matter, what helps, and when it is tried next. */
export function describeReason(
  { explanation, help, nextMs }: Pick<FoundReason, "explanation" | "help" | "nextMs">,
  nowMs: number,
): string {
  const next = nextMs === undefined ? "" : ` Tried again in ${formatDuration(nextMs - nowMs)}.`;
  return `${explanation} ${help}${next}`;
}

/** Makes a sentence of a clause; the `0x` of an address stays. */
export function toSentence(clause: string): string {
  return `${clause.replace(/^[a-z](?!x)/, (first) => first.toUpperCase())}.`;
}

/** True when none of the reasons stops the work. */
export function isReady(reasons: readonly Pick<FoundReason, "isWarning">[]): boolean {
  return reasons.every(({ isWarning }) => isWarning === true);
}
