/**
 * Watches the age of each chain's newest update in `maximum_update_intervals`, from any relayer, and ends the
 * program when one is too old: its supervisor restarts it and can raise an alert. Source:
 * docs/protocol/hub-consensus.md section 3.5.
 */
import type { ConsensusTarget, TargetReads } from "../core/chains/consensus_target.ts";
import type { UpdateLimit } from "./config/keys.ts";
import { stateMachineIdKey } from "../core/ismp/state_machine.ts";
import { keepFault, RpcFault } from "../core/rpc/call.ts";
import type { Clock } from "../core/runtime/clock.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { Log } from "../core/telemetry/log.ts";

/** A chain whose view of other chains is watched. */
type Watcher = Pick<ConsensusTarget, "id"> & {
  readonly reads: Pick<TargetReads, "fetchLatestHeight" | "fetchUpdateTime" | "fetchNowSec">;
};

/** Dependencies of the monitor. */
export interface MonitorDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly hub: Watcher;
  /** Substrate chains that follow the hub: where they are watched, their view of the hub is watched as well. */
  readonly followers?: readonly Watcher[];
}

/** Delay of the first pass after the start, milliseconds. */
const FIRST_PASS_MS = 600_000;

/** Interval between passes, milliseconds. */
const PASS_EVERY_MS = 180_000;

/** At least one watched chain gets no updates: the program exits with `exitCodes.stalled`. */
export class StallFault extends Error {
  override readonly name = "StallFault";
  readonly code = "stalled";
  /** @param pairs as in the log, e.g. `EVM-1/ETH0 -> POLKADOT-3367`. */
  constructor(readonly pairs: readonly string[]) {
    super(`No updates for too long: ${pairs.join(", ")}`);
  }
}

/** View that one chain has of another. */
interface Direction extends UpdateLimit {
  readonly at: Watcher;
  /** Names of both, for the log. */
  readonly pair: string;
}

/** Creates a worker that throws {@link StallFault} when a watched chain is late. */
export function monitorWorker(deps: MonitorDeps, limits: readonly UpdateLimit[]): Worker {
  const directions = toDirections(deps, limits);
  return {
    name: "monitor of update intervals",
    run: async (signal) => {
      const startMs = deps.clock.now();
      await deps.clock.sleep(FIRST_PASS_MS, signal);
      for (;;) {
        const checked = await Promise.all(directions.map(async (direction) =>
          // Each independently of failures of the others.
          await isLate({ ...deps, startMs }, direction, signal) ? [direction.pair] : []
        ));
        const late = checked.flat();
        if (late.length > 0) throw new StallFault(late);
        await deps.clock.sleep(PASS_EVERY_MS, signal);
      }
    },
  };
}

/** The hub's view of each watched chain, and its view of the hub where this program proves the hub to it. */
function toDirections(
  { hub, followers = [] }: MonitorDeps,
  limits: readonly UpdateLimit[],
): readonly Direction[] {
  const toDirection = (at: Watcher, id: UpdateLimit["id"], maxSec: bigint): Direction => {
    return { at, id, maxSec, pair: `${stateMachineIdKey(id)} -> ${at.id.stateMachine}` };
  };
  return limits.filter(({ id }) => id.stateMachine !== hub.id.stateMachine).flatMap(({ id, maxSec }) => [
    toDirection(hub, id, maxSec),
    ...followers.filter((chain) => chain.id.stateMachine === id.stateMachine)
      .map((at) => toDirection(at, hub.id, maxSec)),
  ]);
}

/** True when a view is as old as its limit. One that cannot be read is not: that is logged. @param deps.startMs when the monitor started. */
async function isLate(
  deps: MonitorDeps & { readonly startMs: number },
  direction: Direction,
  signal: AbortSignal,
): Promise<boolean> {
  const { pair } = direction;
  const found = await fetchAge(deps, direction, signal).catch(keepFault);
  if (found instanceof RpcFault) {
    signal.throwIfAborted();
    deps.log.warn("read_failed.update_age", { pair, error: found });
    return false;
  }
  const facts = { pair, ...found };
  const late = facts.ageSec >= direction.maxSec;
  if (late) deps.log.error("update_overdue", facts);
  else if (facts.ageByThisMachineSec === undefined) deps.log.warn("update_missing", facts);
  return late;
}

/** Age of the newest update. A chain without any is as old as this program: others may have been about to prove it. */
async function fetchAge(
  { clock, startMs }: { readonly clock: Clock; readonly startMs: number },
  { at: { reads }, id, maxSec: limitSec }: Direction,
  signal: AbortSignal,
): Promise<{
  readonly lastHeight: bigint | undefined;
  readonly ageSec: bigint;
  readonly limitSec: bigint;
  /** Reveals a halted hub: its own clock halts with it. Absent: there is no update. */
  readonly ageByThisMachineSec: bigint | undefined;
}> {
  const toSec = (ms: number): bigint => BigInt(Math.floor(ms / 1_000));
  const lastHeight = await reads.fetchLatestHeight(id, signal);
  const updatedSec = lastHeight === undefined
    ? undefined
    : await reads.fetchUpdateTime({ id, height: lastHeight }, signal);
  const ageSec = updatedSec === undefined
    ? toSec(clock.now() - startMs)
    : await reads.fetchNowSec(signal) - updatedSec;
  const ageByThisMachineSec = updatedSec && toSec(clock.now()) - updatedSec;
  return { lastHeight, ageSec, limitSec, ageByThisMachineSec };
}
