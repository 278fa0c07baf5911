/** This machine's clock against the newest block of a chain. Pure. */
import type { CheckRow } from "../checks/check_row.ts";

/** Seconds by which a block may be in the future, and by which the newest one may be old. */
const CLOCK = { maxFutureSec: 15, maxAgeSec: 600 };

/** @param blockSec time of the newest block. @param nowMs clock of this machine. Both since 1970. */
export function judgeClock(chain: string, blockSec: bigint, nowMs: number): CheckRow {
  const row = { chain, check: "clock" } as const;
  const ageSec = Math.round(nowMs / 1_000 - Number(blockSec));
  if (ageSec < -CLOCK.maxFutureSec) {
    return {
      ...row,
      result: "warning",
      found: `this machine's clock is ${-ageSec} s behind the newest block`,
      advice: "set the clock of this machine",
    };
  }
  if (ageSec > CLOCK.maxAgeSec) {
    return {
      ...row,
      result: "warning",
      found: `the newest block is ${ageSec} s old by this machine's clock`,
      advice: "check that the chain makes blocks, or set the clock of this machine",
    };
  }
  return { ...row, result: "ok", found: `the newest block is ${Math.max(0, ageSec)} s old` };
}
