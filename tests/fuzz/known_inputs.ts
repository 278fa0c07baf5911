/** Inputs that a decoder once neither took nor refused, by the name of its target. */
export const KNOWN_INPUTS: readonly { readonly target: string; readonly bytes: `0x${string}` }[] = [
  {
    // A number of authorities that no number of the language holds.
    target: "decodeBeefyClientState",
    bytes: `0x${"00".repeat(3 * 32)}${"10".padEnd(64, "0")}${"00".repeat(4 * 32)}`,
  },
];
