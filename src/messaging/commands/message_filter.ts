/** Options that select messages, for several commands. */
import { findChain } from "../../core/commands/chain_name.ts";
import type { NamedSection } from "../../core/config/chain_names.ts";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../core/encoding/bytes.ts";
import { systemClock } from "../../core/runtime/system_clock.ts";
import type { MessagingConfig } from "../config/schema.ts";
import type { MessageFilter } from "../ledger/message_search.ts";
import {
  holdReasons,
  type MessageReason,
  messageReasons,
  type MessageState,
  messageStates,
} from "../ledger/message_state.ts";
import { type Command as Parser, InvalidArgumentError } from "commander";

/** Values of the options. */
export interface FilterOptions {
  readonly status?: readonly MessageState[];
  readonly reason?: readonly MessageReason[];
  /** Chains as the operator names them. */
  readonly source?: string;
  readonly dest?: string;
  readonly module?: Hex;
  /** Unix milliseconds. */
  readonly since?: number;
}

/** Adds the options. */
export function addFilterOptions(parser: Parser): Parser {
  return parser
    .option(
      "--status <list>",
      `only messages with these: ${messageStates.join(", ")}`,
      toListOf(messageStates),
    )
    .option(
      "--reason <list>",
      `only messages that wait or ended for these reasons, e.g. ${holdReasons.slice(1, 3).join(",")}`,
      toListOf(messageReasons),
    )
    .option("--source <chain>", "only requests from this chain: its section's name, or e.g. EVM-1")
    .option("--dest <chain>", "only requests to this chain")
    .option("--module <module>", "only messages of this sender, hex", toModule)
    .option("--since <time>", "only what changed since: 90m, 2h, 3d, or 2026-01-31T12:00Z", toSince);
}

/** Converts the options to a search of the ledger. @throws {CommandRefusal} for a chain that is none. */
export function toMessageFilter(
  { config }: { readonly config: MessagingConfig },
  { status, reason, source, dest, module, since }: FilterOptions,
): MessageFilter {
  return {
    states: status,
    reasons: reason,
    requestSource: source === undefined ? undefined : findChain(chainSections(config), source),
    requestDest: dest === undefined ? undefined : findChain(chainSections(config), dest),
    module: module === undefined ? undefined : fromHex(module),
    sinceMs: since,
  };
}

/** Sections of chains, the hub's first. */
export function chainSections({ hub, chains }: MessagingConfig): readonly NamedSection[] {
  return [hub, ...chains];
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time, or how long ago, to Unix milliseconds. @throws {InvalidArgumentError} */
export function toSince(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const each = unitMs[unit];
  if (each !== undefined) return systemClock.now() - Number(count) * each;
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new InvalidArgumentError("Expected 90m, 2h, 3d, or a date such as 2026-01-31T12:00Z.");
}

/** Parses a module. @throws {InvalidArgumentError} */
function toModule(text: string): Hex {
  if (/^0x(?:[0-9a-fA-F]{2})+$/.test(text)) return toHex(fromHex(text));
  throw new InvalidArgumentError("Expected the bytes of a module in hex, with 0x.");
}

function toListOf<T extends string>(allowed: readonly T[]): (text: string) => readonly T[] {
  return (text) =>
    text.split(",").map((word) => {
      const found = allowed.find((each) => each === word.trim());
      if (found === undefined) throw new InvalidArgumentError(`Known are ${allowed.join(", ")}.`);
      return found;
    });
}

/** Parses the first 6 hex digits or more of a hash, with or without `0x`. @throws {InvalidArgumentError} */
export function toHashPrefix(text: string): Hex {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{6,64})$/.exec(text) ?? [];
  if (digits !== undefined) return `0x${digits.toLowerCase()}`;
  throw new InvalidArgumentError("Expected a commitment or transaction hash in hex, or its first digits.");
}

/**
 * Parses 32 bytes in hex, with or without `0x`: what acts on a message takes no prefix, for anybody can send a message whose
 * commitment begins like another one. @throws {InvalidArgumentError}
 */
export function toHash(text: string): Hash256 {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text) ?? [];
  if (digits !== undefined) return toHash256(`0x${digits.toLowerCase()}`);
  throw new InvalidArgumentError("Expected the 32 bytes of a commitment or transaction hash in hex.");
}
