/** Requests that an operator allows to a chain (`requests_per_second`): all its endpoints together, since plans are billed. */
import type { Clock } from "../runtime/clock.ts";

/** Longest wait for a turn; calls that would wait longer fail with `over_budget`. */
const MAX_BUDGET_WAIT_MS = 10_000;
/** Calls of this time may be made at once after a pause, milliseconds. */
const BURST_MS = 1_000;

/** Calls to one chain, spread over time. Each call of a batch counts, as providers count them. */
export class RequestBudget {
  readonly #clock: Pick<Clock, "now" | "sleep">;
  readonly #msPerCall: number;
  /** Unix milliseconds at which the calls made so far are within the rate. */
  #coveredUntilMs = 0;

  /** @param perSecond calls per second, above 0 */
  constructor(clock: Pick<Clock, "now" | "sleep">, perSecond: number) {
    this.#clock = clock;
    this.#msPerCall = 1_000 / perSecond;
  }

  /**
   * Waits until these calls are within the rate. A request of more calls than a second allows is sent whole; the next
   * ones wait correspondingly longer. @returns `undefined`, or the wait in milliseconds where it exceeds
   * {@link MAX_BUDGET_WAIT_MS}: the calls must not be made.
   */
  async take(calls: number, signal: AbortSignal): Promise<number | undefined> {
    const nowMs = this.#clock.now();
    const waitMs = Math.max(0, this.#coveredUntilMs - BURST_MS - nowMs);
    if (waitMs > MAX_BUDGET_WAIT_MS) return waitMs;
    this.#coveredUntilMs = Math.max(this.#coveredUntilMs, nowMs) + calls * this.#msPerCall;
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    return undefined;
  }
}

/** What a fault says of calls that may not be made for this time. */
export function describeBudget(leftMs: number): string {
  return `requests_per_second is used up for ${Math.ceil(leftMs / 1_000)} s`;
}

/** Finds the budget of a chain; `undefined`: the operator set none. */
export type BudgetOf = (chain: string) => RequestBudget | undefined;

/** Budgets of the chains of a configuration. */
export function createBudgets(
  clock: Pick<Clock, "now" | "sleep">,
  sections: readonly { readonly stateMachine: string; readonly requestsPerSecond?: number | undefined }[],
): BudgetOf {
  const budgets = new Map(
    sections.flatMap(({ stateMachine, requestsPerSecond: rate }) =>
      rate === undefined ? [] : [[stateMachine, new RequestBudget(clock, rate)] as const]
    ),
  );
  return (chain) => budgets.get(chain);
}
