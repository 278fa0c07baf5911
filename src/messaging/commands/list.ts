/** `list`: messages by what they have in common, newest first. `retry`: those that wait are attempted again now. */
import { formatList } from "../../core/commands/plain_text.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import type { OperationContext } from "./command.ts";
import { addFilterOptions, type FilterOptions, toMessageFilter } from "./message_filter.ts";
import { type MessageView, toMessageView } from "./message_view.ts";
import { InvalidArgumentError } from "commander";

interface ListOptions extends FilterOptions {
  readonly limit: number;
}

/** The command. */
export const listCommand = defineOperation({
  name: "list",
  description: "Lists messages with their status and why they wait.",
  examples: ["list --status=held --since=2h", "list --source=ethereum --dest=EVM-56 --json"],
  afterHelp:
    `Most recently found first; a message has a line for each leg (to the hub, from the hub). "next" is when
it is attempted; "-": it is sent, or over, or is not attempted by itself.`,
  exitStatus: { 0: "also when nothing matches", 1: "it cannot be read" },
  needs: "read",
  addOptions: (parser) =>
    void addFilterOptions(parser).option("--limit <count>", "number of messages, at most 1000", toLimit, 50),
  work: (context: OperationContext, [options]: readonly [ListOptions]) => {
    const filter = toMessageFilter(context, options);
    const messages = context.ledger.messages.search(filter, options.limit).map(toMessageView);
    const isAll = messages.length < options.limit;
    // As far as the limit goes, and the number of all.
    return { messages, total: isAll ? messages.length : context.ledger.messages.count(filter) };
  },
  show: ({ messages, total }, nowMs) => {
    if (messages.length === 0) return "No message matches.";
    const table = formatList(messages.map((message) => toLine(message, nowMs)));
    return total > messages.length ? `${table}\n${total} match, ${messages.length} shown.` : table;
  },
});

const toLine = (
  { foundAt, from, to, source, dest, status, reason, nextAttemptAt, commitment }: MessageView,
  nowMs: number,
) => {
  const isDue = nextAttemptAt !== undefined && Date.parse(nextAttemptAt) <= nowMs;
  return {
    found: foundAt,
    leg: `${from} -> ${to}`,
    request: `${source} -> ${dest}`,
    status,
    reason,
    next: isDue ? "next round" : nextAttemptAt ?? "-",
    commitment,
  };
};

function toLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000) return limit;
  throw new InvalidArgumentError("Expected a number from 1 to 1000.");
}

/** The command. */
export const retryCommand = defineOperation({
  name: "retry",
  description: "Attempts messages again now that wait for a later time or would never be attempted again.",
  examples: ["retry --reason=unprofitable --dest=EVM-56", "retry"],
  afterHelp:
    `Every rule still applies: what does not pay is held again, what you hold or what is suspended stays
(release lets it go, relay delivers one message whatever the profit rule says). Without a running
relayer the messages are attempted when it starts.`,
  exitStatus: { 0: "also when nothing matches", 1: "the database cannot be used" },
  needs: "write",
  addOptions: (parser) => void addFilterOptions(parser),
  work: (context: OperationContext, [options]: readonly [FilterOptions]) => {
    const { ledger, wake } = context;
    const filter = toMessageFilter(context, options);
    const reasons = ledger.transaction(() => {
      const waiting = ledger.messages.countOpenByReason(filter);
      ledger.messages.wakeMatching(filter);
      return waiting;
    });
    wake();
    // By the reason for which they waited; none: they had their turn.
    return { reasons };
  },
  show: ({ reasons }) => {
    if (reasons.length === 0) return "No open message matches.";
    return formatList(reasons.map(({ reason = "had their turn", count }) => ({
      waitedFor: reason === "held_by_operator" ? `${reason} (stays held: release lets it go)` : reason,
      messages: count,
    })));
  },
});
