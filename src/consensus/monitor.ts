/**
 * Watches the age of each chain's newest update in `maximum_update_intervals`, from any relayer, and ends the
 * program when one is too old: its supervisor restarts it and can raise an alert. Source:
 * docs/protocol/hub-consensus.md section 3.5.
 */
import type { ConsensusTarget, TargetReads } from "../core/chains/consensus_target.ts";
import type { UpdateLimit } from "./config/keys.ts";
import { stateMachineIdKey } from "../core/ismp/state_machine.ts";
import { RpcFault } from "../core/rpc/call.ts";
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

/** Creates a worker that throws {@link StallFault} when a watched chain is late. */
export function monitorWorker(deps: MonitorDeps, limits: readonly UpdateLimit[]): Worker {
  return {
    name: "monitor of update intervals",
    run: async (signal) => {
      const startMs = deps.clock.now();
      await deps.clock.sleep(FIRST_PASS_MS, signal);
      for (;;) {
        const late = await findLate({ ...deps, startMs }, limits, signal);
        if (late.length > 0) throw new StallFault(late);
        await deps.clock.sleep(PASS_EVERY_MS, signal);
      }
    },
  };
}

/** A monitor at work. */
interface RunningMonitor extends MonitorDeps {
  /** When it started, by the clock of this machine. */
  readonly startMs: number;
}

/** Checks all limits once, each independently of failures of the others. */
async function findLate(
  deps: RunningMonitor,
  limits: readonly UpdateLimit[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const checked = directions(deps, limits).map(async (direction) => {
    const pair = formatPair(direction);
    try {
      return await isLate(deps, direction, signal) ? [pair] : [];
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RpcFault)) throw error;
      deps.log.warn("read_failed.update_age", { pair, error });
      return [];
    }
  });
  return (await Promise.all(checked)).flat();
}

/** View that one chain has of another. */
interface Direction extends UpdateLimit {
  readonly at: Watcher;
}

/**
 * Directions to watch: the hub's view of each watched chain, and its view of the hub where this program proves the hub
 * to it.
 */
function directions(
  { hub, followers = [] }: MonitorDeps,
  limits: readonly UpdateLimit[],
): readonly Direction[] {
  return limits.filter(({ id }) => id.stateMachine !== hub.id.stateMachine).flatMap(({ id, maxSec }) => [
    { at: hub, id, maxSec },
    ...followers.filter((chain) => chain.id.stateMachine === id.stateMachine)
      .map((at) => ({ at, id: hub.id, maxSec })),
  ]);
}

function formatPair({ id, at }: Direction): string {
  return `${stateMachineIdKey(id)} -> ${at.id.stateMachine}`;
}

async function isLate(
  { clock, log, startMs }: RunningMonitor,
  direction: Direction,
  signal: AbortSignal,
): Promise<boolean> {
  const { at: hub, id, maxSec } = direction;
  const pair = formatPair(direction);
  const height = await hub.reads.fetchLatestHeight(id, signal);
  const updatedSec = height === undefined
    ? undefined
    : await hub.reads.fetchUpdateTime({ id, height }, signal);
  const toSec = (ms: number): bigint => BigInt(Math.floor(ms / 1_000));
  // A chain without any update is as old as this program: others may have been about to prove it.
  const ageSec = updatedSec === undefined
    ? toSec(clock.now() - startMs)
    : await hub.reads.fetchNowSec(signal) - updatedSec;
  const facts = {
    pair,
    lastHeight: height,
    ageSec,
    limitSec: maxSec,
    // Reveals a halted hub: its own clock halts with it.
    ageByThisMachineSec: updatedSec && toSec(clock.now()) - updatedSec,
  };
  if (isTooOld(ageSec, maxSec)) {
    log.error("update_overdue", facts);
    return true;
  }
  if (updatedSec === undefined) log.warn("update_missing", facts);
  return false;
}

/** True from the limit on, as in the reference implementation. */
export function isTooOld(ageSec: bigint, maxSec: bigint): boolean {
  return ageSec >= maxSec;
}
