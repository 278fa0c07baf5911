/** Injected randomness, so tests control it. */

/** Source of randomness. */
export interface Randomness {
  /** Uniformly distributed in [0, 1). */
  fraction(): number;
  /** `count` cryptographically secure bytes. */
  bytes(count: number): Uint8Array;
}

/** Randomness of the operating system. */
export const systemRandomness: Randomness = {
  fraction(): number {
    const [word = 0] = crypto.getRandomValues(new Uint32Array(1));
    return word / 2 ** 32;
  },
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};
