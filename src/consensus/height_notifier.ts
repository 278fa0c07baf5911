/**
 * Notifications of new heights on the hub: rollups are proved at L1 blocks that the hub knows, so their workers poll as
 * soon as it knows a newer one, from any relayer.
 */
import type { TargetReads } from "../core/chains/consensus_target.ts";
import type { StateMachineHeight, StateMachineId } from "../core/ismp/state_machine.ts";
import { stateMachineIdKey } from "../core/ismp/state_machine.ts";
import type { Clock } from "../core/runtime/clock.ts";
import type { Wake } from "../core/runtime/waiting.ts";
import type { Worker } from "../core/runtime/worker.ts";

interface Followed {
  readonly id: StateMachineId;
  readonly wakes: Wake[];
  /** Newest height that was reported; `undefined`: none yet. */
  height: bigint | undefined;
}

/** Subscriptions to heights of chains. */
export class HeightNotifier {
  readonly #followed = new Map<string, Followed>();

  /** Wakes `wake` whenever the hub knows a newer height of `id`. */
  follow(id: StateMachineId, wake: Wake): void {
    const key = stateMachineIdKey(id);
    const followed = this.#followed.get(key) ?? { id, wakes: [], height: undefined };
    followed.wakes.push(wake);
    this.#followed.set(key, followed);
  }

  /** Chains with subscribers. */
  get followed(): readonly StateMachineId[] {
    return [...this.#followed.values()].map(({ id }) => id);
  }

  /**
   * Reports a height and wakes the subscribers if it is newer. The first height of a chain wakes nobody: workers poll
   * at their start anyway.
   */
  notify({ id, height }: StateMachineHeight): void {
    const followed = this.#followed.get(stateMachineIdKey(id));
    if (followed === undefined) return;
    const isFirst = followed.height === undefined;
    if (followed.height !== undefined && followed.height >= height) return;
    followed.height = height;
    if (!isFirst) followed.wakes.forEach((wake) => wake.wake());
  }
}

/** Creates a worker that polls the hub for the heights of a followed chain. */
export function heightNotifierWorker(
  deps: {
    readonly clock: Clock;
    readonly hub: { readonly reads: Pick<TargetReads, "fetchLatestHeight"> };
    readonly notifier: HeightNotifier;
  },
  id: StateMachineId,
  everyMs: number,
): Worker {
  return {
    name: `heights of ${stateMachineIdKey(id)}`,
    run: async (signal) => {
      for (;;) {
        const height = await deps.hub.reads.fetchLatestHeight(id, signal);
        if (height !== undefined) deps.notifier.notify({ id, height });
        await deps.clock.sleep(everyMs, signal);
      }
    },
  };
}
