/** Every command: short ones, and the list, which has a line for each. Those of both programs are in the core. */
import { type Command, defineCommand } from "../../core/commands/command.ts";
import { sharedCommands } from "../../core/commands/shared_commands.ts";
import { accumulateFees } from "./accumulate_fees.ts";
import type { MessagingRun } from "./command.ts";
import { profitCommand } from "./profit.ts";
import { relayCommand } from "./relay.ts";
import { showCommand } from "./show.ts";
import { defineCheckCommand } from "../../core/commands/check_command.ts";
import { formatTable, shownTime } from "../../core/runtime/text_table.ts";
import { addFilterOptions, type FilterOptions, toFilterInput, toSubjectText } from "./message_filter.ts";
import { defineLogLevelCommand, formatLogLevel } from "../../core/commands/log_level_command.ts";
import type { MessageView } from "../control/message_view.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { toStateMachine } from "../../core/runtime/command_line.ts";
import { InvalidArgumentError } from "commander";

const LIST_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db list --status=held --since=2h
  causeway --config=relayer.toml --db=relayer.db list --source=EVM-1 --dest=EVM-56 --json

Most recently found first; a message has a line for each leg (to the hub, from the hub). "next" is when
it is attempted; "-": it is sent, or over, or is not attempted by itself. The running relayer answers;
when none runs, the database is read.

Exit status: 0 also when nothing matches, 1 it cannot be read, 2 wrong command line.`;

interface ListOptions extends FilterOptions {
  readonly limit?: number;
  readonly json?: boolean;
}

/** The command. */
const listCommand = defineCommand<MessagingRun, ListOptions>({
  name: "list",
  description: "Lists messages with their status and why they wait.",
  summary: "list messages",
  afterHelp: LIST_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void addFilterOptions(parser)
      .option("--limit <count>", "number of messages, at most 1000 (default 50)", toLimit)
      .option("--json", "print JSON")
      .action((options: ListOptions) => choose(options)),
  run: async (run, { limit = 50, json = false, ...filter }) => {
    const { ask } = await import("../control/ask.ts");
    const { listOperation } = await import("../control/operations/list.ts");
    const { print, clock } = run.deps;
    return await ask(run, {
      operation: listOperation,
      input: { filter: toFilterInput(filter, clock.now()), limit },
      show: (output) => {
        if (json) return print(JSON.stringify(output));
        if (output.messages.length === 0) return print("No message matches.");
        print(formatTable([
          ["found", "leg", "request", "status", "reason", "next", "commitment"],
          ...output.messages.map((message) => toCells(message, clock.now())),
        ]));
        if (output.total > output.messages.length) {
          print(`${output.total} match, ${output.messages.length} shown.`);
        }
      },
    });
  },
});

function toCells(message: MessageView, nowMs: number): readonly (string | undefined)[] {
  return [
    shownTime(message.foundAt),
    `${message.from} -> ${message.to}`,
    `${message.source} -> ${message.dest}`,
    message.status,
    message.reason,
    nextText(message, nowMs),
    message.commitment,
  ];
}

function nextText({ nextAttemptAt }: MessageView, nowMs: number): string {
  if (nextAttemptAt === undefined) return "-";
  return Date.parse(nextAttemptAt) <= nowMs ? "next round" : shownTime(nextAttemptAt) ?? "-";
}

function toLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000) return limit;
  throw new InvalidArgumentError("Expected a number from 1 to 1000.");
}

const SCAN_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db scan EVM-1 --from=21000000 --to=21000500

Reads the messages of these blocks again on every leg that begins at the chain, as far as the leg has
read them before, and records those that are missing: there should be none.

Exit status: 0 done, 1 blocks could not be read, 2 wrong command line.`;

interface ScanOptions {
  readonly chain: StateMachine;
  readonly from: string;
  readonly to: string;
  readonly json?: boolean;
}

/** The command. */
const scanCommand = defineCommand<MessagingRun, ScanOptions>({
  name: "scan",
  description: "Reads blocks of a chain again and reports what was missed.",
  summary: "read blocks again and report what was missed",
  afterHelp: SCAN_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<state-machine>", "configured chain or the hub, e.g. EVM-1", toStateMachine)
      .requiredOption("--from <block>", "first block", toHeightText)
      .requiredOption("--to <block>", "last block", toHeightText)
      .option("--json", "print JSON")
      .action((chain: StateMachine, options: Omit<ScanOptions, "chain">) => choose({ chain, ...options })),
  run: async (run, { chain, from, to, json = false }) => {
    const { ask } = await import("../control/ask.ts");
    const { scanOperation } = await import("../control/operations/scan.ts");
    return await ask(run, {
      operation: scanOperation,
      input: { chain, from, to },
      afterMs: undefined,
      show: (output) => {
        if (json) return run.deps.print(JSON.stringify(output));
        run.deps.print(formatTable([
          ["leg", "blocks", "messages", "missed"],
          ...output.legs.map(({ from, to, blocks, messages, missed }) => [
            `${from} -> ${to}`,
            blocks === undefined ? "not read before" : `${blocks.from} to ${blocks.to}`,
            String(messages),
            missed.length === 0 ? "none" : missed.join(" "),
          ]),
        ]));
      },
    });
  },
});

function toHeightText(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the number of a block.");
}

/** The command. */
const check = defineCheckCommand<MessagingRun>({
  description:
    `Checks endpoints, chains, contracts, light clients, accounts, prices and the database, all at once,
and prints what was found and what to do. Sends no transaction and does not change the database; it may run
beside the relayer.`,
  example: "causeway --config=relayer.toml --db=relayer.db check",
  run: async (run, { isJson }) =>
    (await import("./run_check.ts")).runCheck(run, isJson || run.deps.logFormat === "json"),
});

const STATUS_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db status

Prints what the status page shows: what is in the way, chains with their endpoints, heights and wallets,
legs with what waits, the last deliveries, claims, withdrawals and warnings. Without a running relayer
it shows what the database knows.

Exit status: 0 done, 1 the database cannot be read, 2 wrong command line.`;

interface StatusOptions {
  readonly json?: boolean;
}

/** The command. */
const statusCommand = defineCommand<MessagingRun, StatusOptions>({
  name: "status",
  description: "Shows what the relayer does now, and what is in its way.",
  summary: "show what the relayer does now",
  afterHelp: STATUS_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.option("--json", "print JSON").action((options: StatusOptions) => choose(options)),
  run: async (run, { json = false }) => {
    const { ask } = await import("../control/ask.ts");
    const { statusOperation } = await import("../control/operations/status.ts");
    const { formatStatus } = await import("../status/status_view.ts");
    return await ask(run, {
      operation: statusOperation,
      input: {},
      show: (status) => run.deps.print(json ? JSON.stringify(status) : formatStatus(status)),
    });
  },
});

const RETRY_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db retry --reason=unprofitable --dest=EVM-56
  causeway --config=relayer.toml --db=relayer.db retry

Every rule still applies: what does not pay is held again, what you hold or what is suspended stays
(release lets it go, relay delivers one message whatever the profit rule says). Without a running
relayer the messages are attempted when it starts.

Exit status: 0 also when nothing matches, 1 the database cannot be used, 2 wrong command line.`;

/** The command. */
const retryCommand = defineCommand<MessagingRun, FilterOptions>({
  name: "retry",
  description: "Attempts messages again now that wait for a later time or would never be attempted again.",
  summary: "attempt held messages now",
  afterHelp: RETRY_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void addFilterOptions(parser).action((options: FilterOptions) => choose(options)),
  run: async (run, filter) => {
    const { ask } = await import("../control/ask.ts");
    const { retryOperation } = await import("../control/operations/list.ts");
    const { print, clock } = run.deps;
    return await ask(run, {
      operation: retryOperation,
      input: { filter: toFilterInput(filter, clock.now()) },
      show: ({ reasons }) => {
        if (reasons.length === 0) return print("No open message matches.");
        const rows = reasons.map(({ reason, count }) => [reason ?? "had their turn", String(count)]);
        print(formatTable([["waited for", "messages"], ...rows], { toTheRight: (column) => column === 1 }));
      },
    });
  },
});

const HOLD_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db hold 0x00000000000000000000000000000000000000aa
  causeway --config=relayer.toml --db=relayer.db hold EVM-1:EVM-56
  causeway --config=relayer.toml --db=relayer.db hold '*:EVM-56'

A module is the sender or receiver of the request. What is in a transaction already is not called back,
and what times out meanwhile ends. Holds survive a restart; release ends them.

Exit status: 0 done, 1 the database cannot be used, 2 wrong command line.`;

/** The command. */
const holdCommand = defineCommand<MessagingRun, string>({
  name: "hold",
  description: "Holds the messages of a module, or from one chain to another, until they are released.",
  summary: "hold the messages of a module or route",
  afterHelp: HOLD_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<module or route>", "0x..., or EVM-1:EVM-56 with * for any chain", toSubjectText)
      .action((subject: string) => choose(subject)),
  run: async (run, subject) => {
    const { ask } = await import("../control/ask.ts");
    const { holdOperation } = await import("../control/operations/release.ts");
    return await ask(run, {
      operation: holdOperation,
      input: { subject },
      show: (output) => {
        run.deps.print(`${output.subject} ${output.isNew ? "is held" : "was held already"}.`);
        run.deps.print(`Held now: ${output.held.join(", ")}`);
      },
    });
  },
});

const RELEASE_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db release EVM-1:EVM-56
  causeway --config=relayer.toml --db=relayer.db release 0x00000000000000000000000000000000000000aa
  causeway --config=relayer.toml --db=relayer.db release

Releases what "hold" holds, and messages that are suspended because deliveries from their sender to
their receiver cost gas and had no effect (after two retries the relayer stops retrying on its
own): by sender or receiver, or with *:<chain> all that go to a chain. Modules that take deliveries
of another account only are read again at once. Without an argument everything is released. Each
release is printed.

Exit status: 0 also when nothing is held, 1 the database cannot be used, 2 wrong command line.`;

/** The command. */
const releaseCommand = defineCommand<MessagingRun, string | undefined>({
  name: "release",
  description: "Lets the messages travel again that the operator holds, and those that are suspended.",
  summary: "release held and suspended messages",
  afterHelp: RELEASE_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("[module or route]", "0x..., or EVM-1:EVM-56 as it was held", toSubjectText)
      .action((subject: string | undefined) => choose(subject)),
  run: async (run, subject) => {
    const { ask } = await import("../control/ask.ts");
    const { releaseOperation } = await import("../control/operations/release.ts");
    const { print } = run.deps;
    return await ask(run, {
      operation: releaseOperation,
      input: subject === undefined ? {} : { subject },
      show: ({ holds, pairs, gated, left }) => {
        for (const text of holds) print(`${text} released`);
        for (const { target, from, to } of pairs) print(`${target}: ${from} -> ${to} released`);
        if (gated > 0) print(`Gates are read again; messages that waited for another account: ${gated}`);
        if (holds.length + pairs.length + gated === 0) print("No messages of that are held or suspended.");
        if (left.length > 0) print(`Held still: ${left.join(", ")}`);
      },
    });
  },
});

/** The command. */
const logLevelCommand = defineLogLevelCommand<MessagingRun>({
  example: "causeway --config=relayer.toml --db=relayer.db log-level debug",
  failure: "no relayer runs on this database",
  run: async (run, level) => {
    const { ask } = await import("../control/ask.ts");
    const { logLevelOperation } = await import("../../core/commands/control_operation.ts");
    return await ask(run, {
      operation: logLevelOperation,
      input: { level },
      show: (output) => run.deps.print(formatLogLevel(output)),
    });
  },
});

const BACKUP_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db backup /backups/relayer-2026-01-31.db

The copy is a whole database that the relayer can be started with (--db). It appears under its name
when it is complete, and can be read by its owner only. A running relayer relays on meanwhile.

Exit status: 0 done, 1 it could not be made, or the file exists, 2 wrong command line.`;

/** The command. */
const backupCommand = defineCommand<MessagingRun, string>({
  name: "backup",
  description: "Writes a consistent copy of the database to a new file.",
  summary: "copy the database, also while the relayer runs",
  afterHelp: BACKUP_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<file>", "new file").action((file: string) => choose(file)),
  run: async (run, file) => (await import("./run_backup.ts")).runBackup(run, file),
});

/** In the order of the help. */
export const commands: readonly Command<MessagingRun>[] = [
  check,
  statusCommand,
  listCommand,
  showCommand,
  relayCommand,
  retryCommand,
  holdCommand,
  releaseCommand,
  scanCommand,
  profitCommand,
  logLevelCommand,
  accumulateFees,
  backupCommand,
  ...sharedCommands,
];
