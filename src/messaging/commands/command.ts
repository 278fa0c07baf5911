/** What the messaging relayer hands to its commands, and what their operations work with: here or in the running relayer. */
import { CommandRefusal } from "../../core/commands/command.ts";
import type { LevelSetter, OperationNeed, OperationRun } from "../../core/commands/operation.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { ExitCode } from "../../core/runtime/exit_codes.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { MessagingConfig } from "../config/schema.ts";
import type { FeeContext } from "../fees/fee_context.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createFeeContext, planLegs, toRelaySettings } from "../legs.ts";
import type { Leg, RelayDeps } from "../relay/leg.ts";
import { type ProgramRun, type RunDeps, runSession, type Session, withLedger } from "../session.ts";
import { readStatus, type RelayStatus } from "../status/relay_status.ts";

/** Dependencies of a command, besides those of the long-running relayer. */
export interface CommandDeps extends RunDeps {
  /** Path of the database file; empty: the command works without one. */
  readonly database: string;
  /** Drops the right to write files, as `openLedger` does. */
  readonly dropWriteAccess: () => void;
  /** Opens the database for reading only, also beside a running relayer. */
  readonly openReadOnly: () => Ledger;
  /** True when a process works on the database. */
  readonly isHeld: () => boolean;
}

/** One run of a command. */
export interface MessagingRun extends ProgramRun<CommandDeps>, OperationRun<OperationContext> {}

/** Context of every operation. */
export interface OperationContext extends LevelSetter {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: MessagingConfig;
  /** True while a relayer runs on the database. */
  readonly isRunning: boolean;
  /** Hints to the workers that rows have become due; nothing when none run here. */
  readonly wake: () => void;
  /** What the status page shows. */
  readonly status: () => RelayStatus;
  /** What relays, for operations that need chains. */
  readonly relaying: () => Relaying;
}

/** The legs and fees of a relayer, or of a command's own process. */
export interface Relaying {
  readonly legs: readonly Leg[];
  readonly fees: FeeContext;
}

/**
 * Works in this process, on the database itself and, where it needs them, with connections of its own. A relayer that
 * runs without a socket keeps its database locked, so that nothing is ever done twice.
 */
export function workHere(
  run: ProgramRun<CommandDeps>,
  needs: OperationNeed,
  work: (context: OperationContext) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { deps, config } = run;
  const workOn = (ledger: Ledger, relaying?: Relaying): Promise<ExitCode> =>
    work({
      ...deps,
      ledger,
      config,
      isRunning: relaying === undefined && needs === "read" && deps.isHeld(),
      wake: () => {},
      status: () => readStatus({ ledger, config, clock: deps.clock }),
      relaying: () => {
        if (relaying === undefined) throw new Error("the operation does not declare that it needs chains");
        return relaying;
      },
    });
  switch (needs) {
    case "running":
      throw new CommandRefusal("No relayer runs on this database.");
    case "read":
    case "status":
      return withLedger(
        { ...run, deps: { ...deps, openLedger: deps.openReadOnly } },
        (ledger) => workOn(ledger),
      );
    case "write":
      return withLedger(run, (ledger) => workOn(ledger));
    case "chains":
      return runSession(run, (session) => workOn(session.ledger, planRelaying(run, session)));
  }
}

/** Plans the legs and fees of a session as in the relayer, while its workers do not run. */
function planRelaying({ deps, config }: ProgramRun, session: Session): Relaying {
  const { clock, random, log } = deps;
  const context: RelayDeps = { clock, random, log, ledger: session.ledger };
  const settings = toRelaySettings(config, () => undefined);
  const { legs, outbound } = planLegs({ ...context, settings }, { ...session, config, fetch: deps.fetch });
  return { legs, fees: createFeeContext(context, { ...session, config, settings, outbound }) };
}
