/**
 * Heights of one chain for which another one accepts proofs. Remembers heights whose challenge period is not over, so
 * that a chain whose height advances faster than that still has a matured one.
 */
import type { StateMachine, StateMachineHeight, StateMachineId } from "../../core/ismp/state_machine.ts";
import {
  type ChallengeRule,
  isMatured,
  newestMatured,
  rememberHeights,
  type StoredHeight,
} from "../relay/decisions/heights.ts";
import type { ChainCapabilities } from "../../core/chains/capabilities.ts";
import type { ChainReads } from "../../core/chains/reads.ts";

/** Heights of a counterparty known to a chain. */
export interface KnownHeights {
  /** Newest height; 0: none. */
  readonly newest: bigint;
  /** Newest height whose challenge period is over; `undefined`: none. */
  readonly matured: bigint | undefined;
}

/** Chain whose view of others is read. */
interface MaturityWatcher {
  readonly capabilities: Pick<ChainCapabilities, "challengeRule">;
  readonly reads: Pick<ChainReads, "fetchView" | "fetchUpdateTime">;
}

/** Tracks the heights of counterparties known to one chain. */
export class MaturedHeights {
  readonly #watcher: MaturityWatcher;
  readonly #stored = new Map<StateMachine, readonly StoredHeight[]>();

  constructor(watcher: MaturityWatcher) {
    this.#watcher = watcher;
  }

  /** Reads the known heights of `counterparty`. One round trip, two for a height with a challenge period. */
  async read(counterparty: StateMachineId, signal: AbortSignal): Promise<KnownHeights> {
    const view = await this.#watcher.reads.fetchView(counterparty, signal);
    if (view.height === 0n) return { newest: 0n, matured: undefined };
    const rule: ChallengeRule = {
      nowSec: view.nowSec,
      challengePeriodSec: view.challengePeriodSec,
      comparison: this.#watcher.capabilities.challengeRule,
    };
    if (isMatured(view.nowSec, rule)) return { newest: view.height, matured: view.height };
    const stored = await this.#remember({ id: counterparty, height: view.height }, rule, signal);
    return { newest: view.height, matured: newestMatured(stored, rule) };
  }

  async #remember(
    newest: StateMachineHeight,
    rule: ChallengeRule,
    signal: AbortSignal,
  ): Promise<readonly StoredHeight[]> {
    const name = newest.id.stateMachine;
    const known = this.#stored.get(name) ?? [];
    const fresh = known.some(({ height }) => height === newest.height)
      ? undefined
      : await this.#watcher.reads.fetchUpdateTime(newest, signal);
    const all = fresh === undefined ? known : [...known, { height: newest.height, updatedAtSec: fresh }];
    const kept = rememberHeights(all, newest.height, rule);
    this.#stored.set(name, kept);
    return kept;
  }
}
