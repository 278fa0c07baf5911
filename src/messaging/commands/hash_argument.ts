/** A commitment or the hash of a transaction on the command line. */
import { InvalidArgumentError } from "commander";

/** Parses 32 bytes in hex, with or without `0x`. @throws {InvalidArgumentError} */
export function toHashText(text: string): string {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text) ?? [];
  if (digits !== undefined) return `0x${digits.toLowerCase()}`;
  throw new InvalidArgumentError("Expected the 32 bytes of a commitment or transaction hash in hex.");
}
