/**
 * Work of `accumulate-fees`: in the running relayer, which is asked for it, or in the command's own process.
 * Source: docs/specification.md, "Messaging relayer command line"; docs/protocol/messaging.md section 15.
 */
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type ClaimSummary, summaryColumns } from "./claim_summary.ts";
import type { CommandDeps } from "./command.ts";
import { runClaims } from "./run_claims.ts";
import { runWithdrawals, type WithdrawalRun } from "./run_withdrawals.ts";
import type { HubConfig } from "../config/schema.ts";
import type { FeeContext } from "../fees/fee_context.ts";
import { withRelaying } from "../control/own_relaying.ts";
import { type ProgramRun, runSession } from "../session.ts";

/** Options of the command. */
export interface AccumulateOptions {
  /** Waits for heights that the hub does not know yet, instead of skipping the claims that need them. */
  readonly waits: boolean;
  /** Withdraws fees; without `waits` nothing is claimed first. */
  readonly withdraws: boolean;
}

/** Runs the command. 0: everything succeeded or is not yet available, or it was stopped; 1: something failed. */
export function runAccumulation(
  run: ProgramRun<CommandDeps>,
  options: AccumulateOptions,
): Promise<ExitCode> {
  const { deps, config, signal } = run;
  return runSession(run, async (session) => {
    const { pollIntervalSec } = config.hub;
    const print = deps.logFormat === "human" ? deps.print : (): void => {};
    // Chains that did not answer are polled again, so that --wait can continue with them.
    return await withRelaying(
      run,
      session,
      ({ fees }) => claimAndWithdraw(fees, { ...options, pollIntervalSec, print }, signal),
    );
  });
}

/** Claims, withdraws, or both, and reports the result. */
export async function claimAndWithdraw(
  context: FeeContext,
  options: AccumulateOptions & Pick<CommandDeps, "print"> & Pick<HubConfig, "pollIntervalSec">,
  signal: AbortSignal,
): Promise<ExitCode> {
  const everyMs = Math.min(options.pollIntervalSec, MAX_PAUSE_SEC) * 1000;
  const claims = options.withdraws && !options.waits
    ? undefined
    : await runClaims(context, { waits: options.waits, everyMs }, signal);
  if (claims !== undefined) logClaims(context, claims, options.print);
  const withdrawals = options.withdraws && !signal.aborted
    ? await runWithdrawals(context, { waits: options.waits, everyMs }, signal)
    : undefined;
  if (withdrawals !== undefined) logWithdrawals(context.log, withdrawals, options.print);
  if (signal.aborted) {
    context.log.info("program_stopped");
    return exitCodes.ok;
  }
  const hasFailed = (claims?.hasFailures ?? false) || (withdrawals?.failed ?? 0) > 0;
  return hasFailed ? exitCodes.failed : exitCodes.ok;
}

/** Maximum poll interval, seconds: an operator is waiting. */
const MAX_PAUSE_SEC = 6;

function logClaims(
  context: Pick<FeeContext, "log" | "units">,
  summary: ClaimSummary,
  print: CommandDeps["print"],
): void {
  const totals = Object.fromEntries(summaryColumns.map((column) => [column, summary.total(column)]));
  context.log.info("accumulation_finished", totals);
  print(summary.render((chain, amount) => context.units.text(chain, amount)));
}

function logWithdrawals(
  log: Log,
  { paid, gated, open, failed, text }: WithdrawalRun,
  print: CommandDeps["print"],
): void {
  log.info("withdrawals_finished", { paid, gated, underWay: open, failed });
  print(text);
}
