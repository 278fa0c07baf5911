/** Chance as the rest of the program sees it: handed in, so that tests decide what is drawn. */

/** A source of chance. */
export interface Randomness {
  /** Evenly from [0, 1). */
  fraction(): number;
  /** `count` bytes, good enough for keys. */
  bytes(count: number): Uint8Array;
}

/** Chance of the machine. */
export const systemRandomness: Randomness = {
  fraction(): number {
    const [word = 0] = crypto.getRandomValues(new Uint32Array(1));
    return word / 2 ** 32;
  },
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};
