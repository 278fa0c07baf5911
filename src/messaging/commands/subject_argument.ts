/** A module or route on the command line. */
import { formatHoldSubject, parseHoldSubject } from "../relay/decisions/hold_subject.ts";
import { InvalidArgumentError } from "commander";

/** Parses a module or route. @throws {InvalidArgumentError} */
export function toSubjectText(text: string): string {
  const subject = parseHoldSubject(text);
  if (subject !== undefined) return formatHoldSubject(subject);
  throw new InvalidArgumentError("Expected a module in hex with 0x, or a route such as EVM-1:EVM-56.");
}
