/** Decisions of a seed, and damage to JSON by them. */
import type { Randomness } from "../../src/core/runtime/clock.ts";
import { seededRandomness } from "./seeded_randomness.ts";

/** Draws whole numbers and decisions: the same seed draws the same ones. */
export class Draw {
  readonly #random: Randomness;

  constructor(seed: number) {
    this.#random = seededRandomness(seed);
  }

  /** Both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#random.fraction() * (most - least + 1));
  }

  chance(percent: number): boolean {
    return this.#random.fraction() * 100 < percent;
  }
}

/** What stands where something else belongs. */
const ODD: readonly unknown[] = [
  ...[undefined, null, true, 5, -1, 0.5, 1e300, [], {}, [[]], { result: "0x10" }, { error: 1 }],
  ...["", "0x", "0X10", "0x1g", "-0x1", " 0x10", "10", "0xabc", "x".repeat(3_000)],
  ...[
    `0x4${"0".repeat(17)}`,
    `0x${"0".repeat(24)}`,
    ...[32, 33, 64, 200].map((digits) => `0x${"f".repeat(digits)}`),
  ],
];

/** A copy of a JSON value with one part, or the whole, replaced by something odd. */
export function damage(value: unknown, draw: Draw, odd: readonly unknown[] = ODD): unknown {
  const keys = typeof value === "object" && value !== null && !draw.chance(20) ? Object.keys(value) : [];
  const key = keys[draw.between(0, Math.max(0, keys.length - 1))];
  if (key === undefined) return odd[draw.between(0, odd.length - 1)];
  const part = damage(Reflect.get(Object(value), key), draw, odd);
  return Array.isArray(value) ? value.with(Number(key), part) : { ...Object(value), [key]: part };
}
