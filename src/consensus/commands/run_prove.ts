/** Work of `prove`: by the running relayer, or in this process. */
import { askOrElse } from "../../core/commands/ask_running.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { formatValues } from "../../core/runtime/text_table.ts";
import { proveOperation } from "../control/operations.ts";
import { proveNow } from "../control/prove_now.ts";
import { ProverTurns } from "../control/prover_turns.ts";
import { HeightNotifier } from "../height_notifier.ts";
import type { Proven } from "../proven.ts";
import { runSession } from "../session.ts";
import type { ConsensusRun } from "./command.ts";

/** Options of the command. */
export interface ProveOptions {
  readonly chain: StateMachine;
  /** The chain to prove to; absent: the hub. */
  readonly to?: StateMachine;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Proves and prints. */
export function runProve(
  run: ConsensusRun,
  { chain, to, dryRun = false, json = false }: ProveOptions,
): Promise<ExitCode> {
  const request = { chain, to, isDryRun: dryRun };
  const show = (proven: Proven): ExitCode => {
    run.print(json || run.isJson ? JSON.stringify(proven) : formatProven(proven));
    return proven.outcome === "refused" || proven.outcome === "lost" ? exitCodes.failed : exitCodes.ok;
  };
  const { deps, signal } = run;
  const { clock, log } = deps;
  return askOrElse(
    run,
    { operation: proveOperation, input: request, show, afterMs: undefined },
    () =>
      runSession(deps, async (connections) => {
        const own = { turns: new ProverTurns(), notifier: new HeightNotifier() };
        const proving = { ...connections, ...own, clock, log };
        return show(await proveNow(proving, request, signal));
      }, signal),
  );
}

function formatProven(proven: Proven): string {
  const { chain, target, outcome, text, summary, updates, bytes, height, hasMore, buildMs, transaction } =
    proven;
  return [
    `${chain} -> ${target}: ${outcome}`,
    formatValues({
      result: text,
      contains: summary,
      height,
      updates: updates === 0 ? undefined : `${updates}, ${bytes} bytes`,
      built: `in ${(buildMs / 1_000).toFixed(1)} s`,
      transaction,
      cost: formatCost(proven),
      more: hasMore ? "another update can follow at once" : undefined,
    }, "  "),
  ].join("\n");
}

function formatCost({ target, cost }: Proven): string | undefined {
  if (cost === undefined) return undefined;
  if (cost.gas === "0") return `none: ${target} takes updates without a fee`;
  const spent = `${cost.native} native tokens of ${target}, ${cost.gas} gas`;
  return cost.isPaid ? spent : `${spent}, at the price of the moment`;
}
