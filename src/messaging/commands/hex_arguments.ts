/** Commitments, hashes of transactions, modules and routes on the command line. */
import { InvalidArgumentError } from "commander";
import { formatHoldSubject, parseHoldSubject } from "../relay/decisions/hold_subject.ts";

/** Parses 32 bytes in hex, with or without `0x`. @throws {InvalidArgumentError} */
export function toHashText(text: string): string {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text) ?? [];
  if (digits !== undefined) return `0x${digits.toLowerCase()}`;
  throw new InvalidArgumentError("Expected the 32 bytes of a commitment or transaction hash in hex.");
}

/** Parses a module or route. @throws {InvalidArgumentError} */
export function toSubjectText(text: string): string {
  const subject = parseHoldSubject(text);
  if (subject !== undefined) return formatHoldSubject(subject);
  throw new InvalidArgumentError("Expected a module in hex with 0x, or a route such as EVM-1:EVM-56.");
}
