/** List of the hub's modules whose requests it rewards, refreshed periodically. */
import { fromHex, type Hex, toHex } from "../core/encoding/bytes.ts";
import { RpcFault } from "../core/rpc/call.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { RelayDeps } from "./relay/leg.ts";
import type { HubRewards } from "../core/chains/hub.ts";

const READ_EVERY_MS = 10 * 60_000;
const RETRY_MS = 10_000;

/** List of rewarded modules and the worker that refreshes it. */
export interface ListedModules {
  /**
   * Modules with a reward above 0, lower-case hex, with the reward in units of the hub's token; `undefined` until first
   * read.
   */
  readonly current: () => ReadonlyMap<Hex, bigint> | undefined;
  readonly worker: Worker | undefined;
}

/**
 * Creates the list and its worker. Unless `isPaid`, the list is empty: without a hub account no reward can be paid to
 * us.
 */
export function listModules(
  deps: RelayDeps,
  hub: { readonly rewards: Pick<HubRewards, "fetchRewardedModules"> },
  isPaid: boolean,
): ListedModules {
  if (!isPaid) return { current: () => NONE, worker: undefined };
  let current: ReadonlyMap<Hex, bigint> | undefined;
  const read = async (signal: AbortSignal): Promise<number> => {
    try {
      const rewards = await hub.rewards.fetchRewardedModules(signal);
      current = new Map(
        [...rewards].flatMap(([module, reward]) => reward > 0n ? [[toHex(fromHex(module)), reward]] : []),
      );
      return READ_EVERY_MS;
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      deps.log.debug("module_list_unreadable", { error });
      return RETRY_MS;
    }
  };
  const worker: Worker = {
    name: "rewarded modules",
    run: async (signal) => {
      while (!signal.aborted) await deps.clock.sleep(await read(signal), signal);
    },
  };
  return { current: () => current, worker };
}

const NONE: ReadonlyMap<Hex, bigint> = new Map();
