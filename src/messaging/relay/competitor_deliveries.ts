/**
 * Watches deliveries of other relayers until they are final: a message whose delivery is reorganised away is due again.
 * The state is not persisted: after a start, messages that ended within the last hour are checked again.
 */
import type { Chain } from "../../core/chains/port.ts";
import type { MessageRow } from "../ledger/ledger.ts";
import type { PipelineDeps } from "./leg.ts";
import { transition } from "./transitions.ts";
import { parseRow } from "./message_row.ts";

/** Age of ended messages that are checked after a start, ms: longer than any configured chain takes to finality. */
const LOOKBACK_MS = 3_600_000;

/** Poll interval while a delivery is not final yet, ms. */
const POLL_INTERVAL_MS = 15_000;

/** Maximum number of receipts read at once. */
const MAX_AT_ONCE = 100;

/** Deliveries of other relayers on one target. */
export class CompetitorDeliveries {
  readonly #deps: PipelineDeps;
  readonly #target: Chain;
  /** Everything that ended up to this time is final. */
  #finalUntilMs: number;
  /** Deliveries seen up to `untilMs` are final once `height` is. */
  #watched: { readonly untilMs: number; readonly height: bigint } | undefined;
  #pollAfterMs = 0;

  constructor(deps: PipelineDeps, target: Chain) {
    this.#deps = deps;
    this.#target = target;
    this.#finalUntilMs = deps.clock.now() - LOOKBACK_MS;
  }

  /** Checks once, if it is time; true when a message has to be delivered again. May throw an `RpcFault`. */
  async check(signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#deps.clock.now();
    if (nowMs < this.#pollAfterMs) return false;
    this.#pollAfterMs = nowMs + POLL_INTERVAL_MS;
    if (this.#watched === undefined) {
      // Rows of the current millisecond may still be written.
      const untilMs = nowMs - 1;
      if (this.#page(untilMs, 1).length > 0) {
        this.#watched = { untilMs, height: await this.#target.fetchHeight(signal) };
      }
      return false;
    }
    const { untilMs, height } = this.#watched;
    if (await this.#target.fetchFinalHeight(signal) < height) return false;
    const { hasChanges, isSure } = await this.#confirm({ untilMs, height }, signal);
    if (!isSure) return hasChanges; // checked again later
    this.#finalUntilMs = untilMs;
    this.#watched = undefined;
    this.#pollAfterMs = 0;
    return hasChanges;
  }

  #page(untilMs: number, limit: number, afterKey?: MessageRow): readonly MessageRow[] {
    const target = this.#target.id.stateMachine;
    return this.#deps.ledger.messages.listDeliveredByOther({
      target,
      afterMs: this.#finalUntilMs,
      untilMs,
      limit,
      afterKey,
    });
  }

  /** Reads the receipts of messages that ended up to then; those that certainly have none are due again. */
  async #confirm(
    { untilMs, height }: { readonly untilMs: number; readonly height: bigint },
    signal: AbortSignal,
  ): Promise<{ readonly hasChanges: boolean; readonly isSure: boolean }> {
    let hasChanges = false;
    let isSure = true;
    let last: MessageRow | undefined;
    for (;;) {
      const rows = this.#page(untilMs, MAX_AT_ONCE, last);
      if (rows.length === 0) return { hasChanges, isSure };
      last = rows.at(-1);
      const receipts = await this.#target.fetchReceipts(rows.map(parseRow), signal);
      const missing = rows.filter((_, index) => receipts[index] === undefined);
      if (missing.length === 0) continue;
      // A lagging node has not seen them yet: delivering again would waste gas.
      const certain = await this.#target.fetchCertainReceipts(missing.map(parseRow), { height }, signal);
      if (certain.some(({ kind }) => kind === "unsure")) isSure = false;
      const gone = missing.filter((_, index) => {
        const receipt = certain[index];
        return receipt?.kind === "certain" && receipt.value === undefined;
      });
      if (gone.length === 0) continue;
      hasChanges = true;
      this.#takeBack(gone);
    }
  }

  /** Makes messages due again whose deliveries were reorganised away. */
  #takeBack(gone: readonly MessageRow[]): void {
    const { ledger, clock } = this.#deps;
    ledger.transaction(() => {
      for (const { commitment, target } of gone) {
        const row = ledger.messages.find(commitment, target);
        if (row?.state !== "delivered_by_other") continue;
        const detail = "the receipt of another relayer is gone";
        transition(this.#deps, row, "ready", { detail, nextAttemptAtMs: clock.now() });
      }
    });
  }
}
