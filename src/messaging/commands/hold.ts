/**
 * `hold`: messages of a module or route wait until they are released. `release`: these travel again, and those of
 * suspended pairs of modules, whose deliveries were paid for and had no effect: after two retries the relayer stops
 * retrying on its own.
 */
import { findChain } from "../../core/commands/chain_name.ts";
import { CommandRefusal } from "../../core/commands/command.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import { fromHex, toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Ledger, SuspensionRow } from "../ledger/ledger.ts";
import { messageStates } from "../ledger/message_state.ts";
import { formatHoldSubject, type HoldSubject, parseHoldSubject } from "../relay/decisions/route.ts";
import type { OperationContext } from "./command.ts";
import { chainSections } from "./message_filter.ts";

/** The command. */
export const holdCommand = defineOperation({
  name: "hold",
  description: "Holds the messages of a module, or from one chain to another, until they are released.",
  examples: ["hold 0x00000000000000000000000000000000000000aa", "hold ethereum:EVM-56", "hold '*:EVM-56'"],
  afterHelp:
    `A module is the sender or receiver of the request. What is in a transaction already is not called back,
and what times out meanwhile ends. Holds survive a restart; release ends them.`,
  exitStatus: { 0: "done", 1: "it is no module or route, or the database cannot be used" },
  needs: "write",
  addOptions: (parser) =>
    void parser.argument("<module or route>", "0x..., or chain:chain with * for any chain"),
  work: (context: OperationContext, [text]: readonly [string]) => {
    const { ledger } = context;
    const parsed = toSubject(context, text);
    const subject = formatHoldSubject(parsed);
    const isNew = ledger.transaction(() => ledger.operatorHolds.add(subject));
    const waiting = countWaiting(context, parsed);
    return {
      subject,
      /** False: it was held before. */
      isNew,
      /** Number of messages that wait now and were sent by the module, or belong to the route. */
      waiting,
      /** Everything that is held now. */
      held: ledger.operatorHolds.list(),
    };
  },
  show: ({ subject, isNew, waiting, held }) =>
    `${subject} ${isNew ? "is held" : "was held already"}. Messages of it that wait now: ${waiting}\n` +
    `Held now: ${held.join(", ")}`,
});

/** What the operator names; chains by the name of their section, too. @throws {CommandRefusal} */
function toSubject({ config }: OperationContext, text: string): HoldSubject {
  const named = text.split(/\s*(?::|->)\s*/);
  const isRoute = named.length === 2;
  const ends = isRoute
    ? named.map((end) => end === "*" ? end : findChain(chainSections(config), end))
    : named;
  const subject = parseHoldSubject(ends.join(":"));
  if (subject === undefined) {
    throw new CommandRefusal(
      `${text} is neither a module (0x and hex digits) nor a route such as EVM-1:EVM-56.`,
    );
  }
  return subject;
}

function countWaiting({ ledger }: OperationContext, subject: HoldSubject): number {
  const states = messageStates.filter((state) => state === "seen" || state === "ready" || state === "held");
  return ledger.messages.count(
    subject.kind === "module"
      ? { states, module: fromHex(subject.module) }
      : { states, requestSource: subject.source, requestDest: subject.dest },
  );
}

/** The command. */
export const releaseCommand = defineOperation({
  name: "release",
  description: "Lets the messages travel again that the operator holds, and those that are suspended.",
  examples: ["release ethereum:EVM-56", "release 0x00000000000000000000000000000000000000aa", "release"],
  afterHelp:
    `Releases what "hold" holds, and messages that are suspended because deliveries from their sender to
their receiver cost gas and had no effect (after two retries the relayer stops retrying on its
own): by sender or receiver, or with *:<chain> all that go to a chain. Modules that take deliveries
of another account only are read again at once. Without an argument everything is released. Each
release is printed.`,
  exitStatus: {
    0: "also when nothing is held",
    1: "it is no module or route, or the database cannot be used",
  },
  needs: "write",
  addOptions: (parser) => void parser.argument("[module or route]", "0x..., or chain:chain as it was held"),
  work: (context: OperationContext, [text]: readonly [string?]) => {
    const subject = text === undefined ? undefined : toSubject(context, text);
    const holds = releaseHolds(context, subject);
    const { ledger, config: { chains } } = context;
    const pairs = releaseSuspended(ledger, chains.map(({ stateMachine }) => stateMachine), subject);
    const gated = releaseGated(context, subject);
    context.wake();
    return {
      /** Holds of the operator. */
      holds,
      /** Suspended pairs of modules. */
      pairs: pairs.map(({ target, sender, receiver }) => ({
        target,
        from: toHex(sender),
        to: toHex(receiver),
      })),
      /** Messages whose modules are read again: they accept deliveries of another account only. */
      gated,
      /** What is held still. */
      left: ledger.operatorHolds.list(),
    };
  },
  show: ({ holds, pairs, gated, left }) =>
    [
      ...holds.map((text) => `${text} released`),
      ...pairs.map(({ target, from, to }) => `${target}: ${from} -> ${to} released`),
      ...gated > 0 ? [`Gates are read again; messages that waited for another account: ${gated}`] : [],
      ...holds.length + pairs.length + gated === 0 ? ["No messages of that are held or suspended."] : [],
      ...left.length > 0 ? [`Held still: ${left.join(", ")}`] : [],
    ].join("\n"),
});
/** Removes holds; messages of others are held again when they are attempted. */
function releaseHolds({ ledger }: OperationContext, subject: HoldSubject | undefined): string[] {
  return ledger.transaction(() => {
    const wanted = subject === undefined ? ledger.operatorHolds.list() : [formatHoldSubject(subject)];
    const removed = wanted.filter((text) => ledger.operatorHolds.remove(text));
    if (removed.length > 0) ledger.messages.wakeMatching({ reasons: ["held_by_operator"] });
    return removed;
  });
}

/** Reads gates again, now; messages to modules that are gated still are held again. Returns how many waited. */
function releaseGated(context: OperationContext, subject: HoldSubject | undefined): number {
  if (subject?.kind === "route") return 0;
  if (context.isRunning) {
    const module = subject === undefined ? undefined : fromHex(subject.module);
    for (const { target } of context.relaying().legs) target.gates?.forget(module);
  }
  const { ledger } = context;
  return ledger.transaction(() => ledger.messages.wakeMatching({ reasons: ["gated"] }));
}

/** Releases suspended pairs, in a transaction of its own, and clears their failures; their messages are due again. */
export function releaseSuspended(
  ledger: Ledger,
  chains: readonly StateMachine[],
  subject: HoldSubject | undefined,
): readonly SuspensionRow[] {
  return ledger.transaction(() => {
    const meant = chains.flatMap((chain) => ledger.suspensions.listActive(chain))
      .filter((pair) => isMeant(pair, subject));
    // Those of other pairs are held again when they are attempted.
    for (const pair of meant) {
      ledger.suspensions.remove(pair);
      ledger.messages.wakeMatching({ target: pair.target, reasons: ["suspended", "not_executed"] });
    }
    return meant;
  });
}

function isMeant({ sender, receiver, target }: SuspensionRow, subject: HoldSubject | undefined): boolean {
  switch (subject?.kind) {
    case undefined:
      return true;
    case "module":
      return [sender, receiver].some((module) => toHex(module) === subject.module);
    case "route": // pairs are known by the chain that they are delivered to, whatever chain they come from
      return subject.source === undefined && (subject.dest ?? target) === target;
  }
}
