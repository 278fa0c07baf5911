/**
 * An operation that an operator asks for: the running relayer answers it through its socket, and the command's own
 * process when nothing runs, both with this code. Start reading here; `answer.ts` lists them all.
 */
import type { ControlOperation, LevelSetter } from "../../core/commands/control_operation.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { MessagingConfig } from "../config/schema.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { FeeContext } from "../fees/fee_context.ts";
import type { Leg } from "../relay/leg.ts";
import type { RelayStatus } from "../status/relay_status.ts";

/** Context of every operation. */
export interface OperationContext extends LevelSetter {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: MessagingConfig;
  /** True in the running relayer, false in a command's own process. */
  readonly isRunning: boolean;
  /** Hints to the workers that rows have become due; nothing when none run. */
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

/** An operation of the messaging relayer. */
export type Operation<Input, Output> = ControlOperation<OperationContext, Input, Output>;
