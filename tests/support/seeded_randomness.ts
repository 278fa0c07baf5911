/** Chance that repeats: the same seed draws the same numbers. */
import type { Randomness } from "../../src/core/runtime/clock.ts";

/** A small generator (mulberry32) over a 32-bit seed; good enough for tests, never for keys. */
export function seededRandomness(seed: number): Randomness {
  let state = seed >>> 0;
  const word = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    fraction: () => word() / 2 ** 32,
    bytes: (count) => Uint8Array.from({ length: count }, () => word() & 0xff),
  };
}

/** Chance that always draws the same fraction. */
export function fixedRandomness(fraction: number): Randomness {
  return {
    fraction: () => fraction,
    bytes: (count) => new Uint8Array(count).fill(Math.floor(fraction * 256)),
  };
}
