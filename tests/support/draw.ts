/** Decisions of a seed. */
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
