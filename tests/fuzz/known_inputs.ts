/** Inputs that a decoder once neither took nor refused, by the name of its target. */
export const KNOWN_INPUTS: readonly { readonly target: string; readonly bytes: `0x${string}` }[] = [
  {
    // A number of authorities that no number of the language holds.
    target: "decodeBeefyClientState",
    bytes: `0x${"00".repeat(3 * 32)}${"10".padEnd(64, "0")}${"00".repeat(4 * 32)}`,
  },
  {
    // A set of four thousand million authorities: listing them took all memory.
    target: "decodeBeefyJustification",
    bytes: `0x0100${"00".repeat(12)}00ffffffff00`,
  },
  {
    // No metadata; as one of an old version it took a tenth of a second.
    target: "readMetadata",
    bytes: "0xb8f6130a0e0e5e0505d9b305c386be3c08ce75b18cbd17fae8332cf6c04d",
  },
];
