/**
 * An operation that an operator asks for: the running relayer answers it through its socket, and the command's own
 * process when nothing runs, both with this code. Start reading here; `operations.ts` lists them all.
 */
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log, LogLevel } from "../../core/telemetry/log.ts";
import type { MessagingConfig } from "../config/schema.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { FeeContext } from "../fees/fee_context.ts";
import type { Leg } from "../relay/leg.ts";
import type { RelayStatus } from "../status/relay_status.ts";
import type { z } from "zod";

/** Context of every operation. */
export interface OperationContext {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: MessagingConfig;
  /** True in the running relayer, false in a command's own process. */
  readonly isRunning: boolean;
  /** Changes the minimum level that is logged; absent where it cannot be changed. */
  readonly setLogLevel?: ((level: LogLevel) => void) | undefined;
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

/**
 * What an operation needs where nothing runs. `read`: the database, read-only. `write`: the database. `running`: it is
 * about the running relayer and has no meaning without. `chains`: the database and connections to the chains.
 */
export type OperationNeed = "read" | "write" | "running" | "chains";

/** An operation with the shapes of what goes over the socket. */
export interface Operation<Input, Output> {
  readonly name: string;
  readonly needs: OperationNeed;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** @throws {OperationRefusal} when it cannot be done, with a text for the operator. */
  readonly run: (context: OperationContext, input: Input, signal: AbortSignal) => Promise<Output> | Output;
}

/** An operation by its name, whatever its shapes are. */
export interface NamedOperation {
  readonly name: string;
  readonly needs: OperationNeed;
  /** Checks the input and runs it. */
  readonly answer: (context: OperationContext, input: unknown, signal: AbortSignal) => Promise<unknown>;
}

/** The operation cannot be done; the message says why and what helps. */
export class OperationRefusal extends Error {
  override readonly name = "OperationRefusal";
  readonly code = "refused";
}

/** Hides the shapes of an operation. */
export function toNamedOperation<Input, Output>(operation: Operation<Input, Output>): NamedOperation {
  const { name, needs, input, run } = operation;
  return {
    name,
    needs,
    answer: async (context, given, signal) => {
      const parsed = input.safeParse(given);
      if (!parsed.success) throw new OperationRefusal(`The request does not fit: ${parsed.error.message}`);
      return await run(context, parsed.data, signal);
    },
  };
}
