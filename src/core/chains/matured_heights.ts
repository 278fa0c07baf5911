/**
 * Heights of a chain for which another one accepts proofs: their challenge period is over. Rules: docs/protocol/messaging.md
 * section 13.2. Substrate hosts require the period to be exceeded, EVM hosts to be reached (polytope-labs/hyperbridge:
 * modules/ismp/core/src/handlers.rs, evm/src/core/HandlerV2.sol).
 */
import type { StateMachine, StateMachineId } from "../ismp/state_machine.ts";
import type { ChainReads, CounterpartyView } from "./reads.ts";
import type { ChainCapabilities } from "./capabilities.ts";

/** Clock and rule of the chain that checks the proof. */
export interface ChallengeRule {
  readonly nowSec: bigint;
  readonly challengePeriodSec: bigint;
  /** `strict`: age must exceed the period (Substrate hosts); `reached`: equal is enough (EVM hosts). */
  readonly comparison: "strict" | "reached";
}

/** True when proofs against a commitment stored at `updatedAtSec` are accepted. */
export function isMatured(updatedAtSec: bigint, rule: ChallengeRule): boolean {
  if (rule.challengePeriodSec === 0n) return true;
  const age = rule.nowSec - updatedAtSec;
  return rule.comparison === "strict" ? age > rule.challengePeriodSec : age >= rule.challengePeriodSec;
}

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

/**
 * Tracks the heights of counterparties known to one chain. Remembers those whose challenge period is not over, so that a
 * chain whose height advances faster than that still has a matured one.
 */
export class MaturedHeights {
  readonly #watcher: MaturityWatcher;
  /** Ascending, with the time at which each was stored (Unix seconds). */
  readonly #stored = new Map<
    StateMachine,
    readonly { readonly height: bigint; readonly updatedAtSec: bigint }[]
  >();

  constructor(watcher: MaturityWatcher) {
    this.#watcher = watcher;
  }

  /** Reads the known heights of `counterparty`. One round trip, two for a height with a challenge period. */
  async read(counterparty: StateMachineId, signal: AbortSignal): Promise<KnownHeights> {
    const view = await this.#watcher.reads.fetchView(counterparty, signal);
    if (view.height === 0n) return { newest: 0n, matured: undefined };
    return { newest: view.height, matured: await this.find(view, counterparty, signal) };
  }

  /** Finds the newest height of `counterparty` against which proofs are accepted at the time of a view. */
  async find(
    view: Pick<CounterpartyView, "height" | "nowSec" | "challengePeriodSec">,
    counterparty: StateMachineId,
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    const { height, nowSec, challengePeriodSec } = view;
    if (challengePeriodSec === 0n) return height;
    const rule = { nowSec, challengePeriodSec, comparison: this.#watcher.capabilities.challengeRule };
    // A veto removes heights.
    const known = (this.#stored.get(counterparty.stateMachine) ?? []).filter((each) => each.height <= height);
    const updatedAtSec = known.at(-1)?.height === height
      ? undefined
      : await this.#watcher.reads.fetchUpdateTime({ id: counterparty, height }, signal);
    if (updatedAtSec !== undefined) known.push({ height, updatedAtSec });
    const matured = known.findLastIndex((each) => isMatured(each.updatedAtSec, rule));
    this.#stored.set(counterparty.stateMachine, known.slice(Math.max(0, matured)));
    return known[matured]?.height;
  }
}
