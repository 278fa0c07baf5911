/**
 * `hold`: messages of a module or route wait until they are released. `release`: these travel again, and those of
 * suspended pairs of modules, whose deliveries were paid for and had no effect: after two retries the relayer stops
 * retrying on its own.
 */
import { OperationRefusal } from "../../../core/commands/control_operation.ts";
import { fromHex, type Hex, toHex } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { Ledger, SuspensionRow } from "../../ledger/ledger.ts";
import { formatHoldSubject, type HoldSubject, parseHoldSubject } from "../../relay/decisions/route.ts";
import type { Operation, OperationContext } from "../operation.ts";
import * as z from "zod";

const holdInput = z.strictObject({ subject: z.string().max(200) });

const holdOutput = z.object({
  subject: z.string(),
  /** False: it was held before. */
  isNew: z.boolean(),
  /** Everything that is held now. */
  held: z.array(z.string()),
});

/** The operation. */
export const holdOperation: Operation<z.output<typeof holdInput>, z.output<typeof holdOutput>> = {
  name: "hold",
  needs: "write",
  input: holdInput,
  output: holdOutput,
  run: ({ ledger }, { subject }) => {
    const parsed = parseHoldSubject(subject);
    if (parsed === undefined) throw new OperationRefusal(`${subject} is neither a module nor a route.`);
    const text = formatHoldSubject(parsed);
    const isNew = ledger.transaction(() => ledger.operatorHolds.add(text));
    return { subject: text, isNew, held: ledger.operatorHolds.list() };
  },
};

const input = z.strictObject({
  /** Module or route; absent: everything. */
  subject: z.string().max(200).optional(),
});

const output = z.object({
  /** Holds of the operator. */
  holds: z.array(z.string()),
  /** Suspended pairs of modules. */
  pairs: z.array(z.object({ target: z.string(), from: z.string(), to: z.string() })),
  /** Messages whose modules are read again: they accept deliveries of another account only. */
  gated: z.number(),
  /** What is held still. */
  left: z.array(z.string()),
});

/** The operation. */
export const releaseOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "release",
  needs: "write",
  input,
  output,
  run: (context, { subject }) => {
    const parsed = subject === undefined ? undefined : parseHoldSubject(subject);
    if (subject !== undefined && parsed === undefined) {
      throw new OperationRefusal(`${subject} is neither a module nor a route.`);
    }
    const holds = releaseHolds(context, parsed);
    const pairs = releasePairs(context, parsed);
    const gated = releaseGated(context, parsed);
    context.wake();
    return {
      holds,
      pairs: pairs.map(({ target, from, to }) => ({ target, from: toHex(from), to: toHex(to) })),
      gated,
      left: context.ledger.operatorHolds.list(),
    };
  },
};

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
  return ledger.transaction(() => ledger.messages.wakeMatching({ reasons: ["gated"] }))
    .reduce((sum, { count }) => sum + count, 0);
}

function releasePairs(
  { ledger, config }: OperationContext,
  subject: HoldSubject | undefined,
): readonly SuspensionRow[] {
  const chains: readonly StateMachine[] = config.chains.map(({ stateMachine }) => stateMachine);
  const scope = { ledger, hub: config.hub.stateMachine, chains };
  if (subject === undefined) return releaseAll(scope, {});
  if (subject.kind === "module") {
    return [...releaseAll(scope, { from: subject.module }), ...releaseAll(scope, { to: subject.module })];
  }
  // Suspended pairs are known by the chain that they are delivered to, whatever chain they come from.
  return subject.source === undefined ? releaseAll(scope, { chain: subject.dest }) : [];
}

/** Selection of module pairs; an absent field matches everything. */
export interface ReleaseChoice {
  /** Target chain of the deliveries. */
  readonly chain?: StateMachine | undefined;
  /** Sending module, lower-case hex. */
  readonly from?: Hex | undefined;
  /** Receiving module, lower-case hex. */
  readonly to?: Hex | undefined;
}

/** Releases the selected pairs, in a transaction of its own, and clears their failures; their messages are due again. */
export function releaseAll(
  { ledger, hub, chains }: {
    readonly ledger: Ledger;
    readonly hub: StateMachine;
    readonly chains: readonly StateMachine[];
  },
  choice: ReleaseChoice,
): readonly SuspensionRow[] {
  return ledger.transaction(() => {
    const active = chains.flatMap((chain) => ledger.suspensions.listActive(chain));
    const meant = active.filter((pair) => isMeant(pair, choice));
    // Those of other pairs are held again when they are attempted.
    for (const pair of meant) {
      ledger.suspensions.remove(pair);
      for (const reason of ["suspended", "not_executed"] as const) {
        ledger.messages.wake(hub, pair.target, reason);
      }
    }
    return meant;
  });
}

function isMeant(pair: SuspensionRow, { chain, from, to }: ReleaseChoice): boolean {
  return (chain ?? pair.target) === pair.target && (from ?? toHex(pair.from)) === toHex(pair.from) &&
    (to ?? toHex(pair.to)) === toHex(pair.to);
}
