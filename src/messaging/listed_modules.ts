/** Which modules of the hub have their requests rewarded, as the hub says; read now and then. */
import type { RelayerHub } from "../core/chains/hub_accounts.ts";
import { fromHex, type Hex, toHex } from "../core/encoding/bytes.ts";
import { RpcFault } from "../core/rpc/fault.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { PipelineDeps } from "./relay/leg.ts";

const READ_EVERY_MS = 10 * 60_000;
const RETRY_MS = 10_000;

/** The list and the worker that keeps it. */
export interface ListedModules {
  /**
   * Modules with a reward above 0, lower-case hex, with the reward in units of the hub's token; `undefined` until it
   * was read for the first time.
   */
  readonly current: () => ReadonlyMap<Hex, bigint> | undefined;
  readonly worker: Worker | undefined;
}

/**
 * Keeps the hub's list while `isPaid`: without a hub account nobody could be paid, and the list counts as empty.
 */
export function listModules(
  deps: PipelineDeps,
  hub: Pick<RelayerHub, "fetchRewardedModules">,
  isPaid: boolean,
): ListedModules {
  if (!isPaid) return { current: () => NONE, worker: undefined };
  let current: ReadonlyMap<Hex, bigint> | undefined;
  const read = async (signal: AbortSignal): Promise<number> => {
    try {
      const rewards = await hub.fetchRewardedModules(signal);
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
