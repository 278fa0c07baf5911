/** Checks of a chain for the operator, as the adapters list them: one list per round. */
import { about, type CheckRow } from "../checks/check_row.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";
import { formatDuration } from "../runtime/text_table.ts";
import type { RouterReader } from "../pricing/price_quote.ts";
import type { AccountNonces } from "./replacement.ts";

/** What the checks of a chain need of the hub. */
export interface ChainCheckContext {
  readonly hub: StateMachineId;
  /** Fetches the newest height of the chain that the hub knows; `undefined`: none, or the hub does not answer. */
  readonly fetchKnownHeight: (signal: AbortSignal) => Promise<bigint | undefined>;
  /** Compares the nonces of our account with those that the program has used; absent: they are not read. */
  readonly judgeNonces?: ((nonces: AccountNonces) => CheckRow) | undefined;
  /** Asks the sources of the native token's price, of which the host's router is one; absent: none is needed. */
  readonly checkPrices?:
    | ((router: RouterReader, signal: AbortSignal) => Promise<readonly CheckRow[]>)
    | undefined;
}

/** Age of the newest height above which its light client counts as stale, seconds: rollups are updated hourly. */
const STALE_AFTER_SEC = 6n * 3_600n;

/** A chain's view of another one. */
export interface KnownHeight {
  /** 0: none. */
  readonly height: bigint;
  /** When it was stored, Unix seconds; `undefined`: unknown. */
  readonly storedSec: bigint | undefined;
  /** Clock of the chain that knows it, Unix seconds. */
  readonly nowSec: bigint;
  /** `undefined`: not read. */
  readonly challengePeriodSec?: bigint;
  readonly isFrozen: boolean;
}

/** Row about `chain`, as `observer` knows it. @param id its consensus state id there. */
export function judgeKnownHeight(
  { chain, observer, id }: { readonly chain: string; readonly observer: string; readonly id: string },
  view: KnownHeight,
): CheckRow {
  const at = about(chain);
  const update = `run a consensus relayer for ${chain} (causeway-consensus), or check the running one`;
  if (view.isFrozen) {
    const advice = `ask the governance of ${observer}: ${chain} is rejected until the client is unfrozen`;
    return at.failed("hub_view", `the light client "${id}" on ${observer} is frozen`, advice);
  }
  if (view.height === 0n) {
    return at.failed("hub_view", `${observer} knows no height of ${chain} by "${id}"`, update);
  }
  const ageSec = view.storedSec === undefined ? undefined : view.nowSec - view.storedSec;
  const age = ageSec === undefined ? "age unknown" : `updated ${formatAge(ageSec)} ago`;
  const { challengePeriodSec } = view;
  const period = challengePeriodSec === undefined ? "" : `, challenge period ${challengePeriodSec} s`;
  const found = `${observer} knows height ${view.height} by "${id}", ${age}${period}`;
  const isStale = ageSec !== undefined && ageSec > STALE_AFTER_SEC;
  return at[isStale ? "warning" : "ok"]("hub_view", found, update);
}

/** Formats a duration of a chain's clock, seconds. */
export function formatAge(seconds: bigint): string {
  return formatDuration(Number(seconds) * 1_000);
}

/** Seconds by which a block may be in the future, and by which the newest one may be old. */
const CLOCK = { maxFutureSec: 15, maxAgeSec: 600 };

/** @param blockSec time of the newest block. @param at.nowMs clock of this machine. Both since 1970. */
export function judgeClock(
  chain: string,
  blockSec: bigint,
  { nowMs, maxAgeSec = CLOCK.maxAgeSec }: { readonly nowMs: number; readonly maxAgeSec?: number | undefined },
): CheckRow {
  const { ok, warning } = about(chain);
  const ageSec = Math.round(nowMs / 1_000 - Number(blockSec));
  if (ageSec < -CLOCK.maxFutureSec) {
    const found = `this machine's clock is ${-ageSec} s behind the newest block`;
    return warning("clock", found, "set the clock of this machine");
  }
  if (ageSec > maxAgeSec) {
    const advice = "check that the chain makes blocks, or set the clock of this machine";
    return warning("clock", `the newest block is ${ageSec} s old by this machine's clock`, advice);
  }
  return ok("clock", `the newest block is ${Math.max(0, ageSec)} s old`);
}
