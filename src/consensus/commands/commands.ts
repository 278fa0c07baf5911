/** Every command. A new one is a file of its own and one line here; those of both programs are in the core. */
import type { Command } from "../../core/commands/command.ts";
import { defineCheckCommand } from "../../core/commands/check_command.ts";
import { defineStatus, logLevelCommand, type OperationCommand } from "../../core/commands/operation.ts";
import type { ConsensusControl, ConsensusRun } from "./command.ts";
import { logConsensusState } from "./log_consensus_state.ts";
import { prove } from "./prove.ts";
import type { ConsensusStatus } from "../status/consensus_status.ts";

const check = defineCheckCommand<ConsensusRun>({
  description:
    `Checks the hub, endpoints, beacon and relay nodes, light clients and accounts, all at once, and prints
what was found and what to do. Sends nothing; it may run beside the relayer.`,
  run: async (run) => {
    const { planChecks } = await import("../checks/plan_checks.ts");
    const { runSession } = await import("../session.ts");
    const { runChecks } = await import("../../core/checks/check_row.ts");
    const { printReport } = await import("../../core/checks/print_report.ts");
    const { config, configured, board } = run.deps;
    return await runSession(run.deps, async (connections) => {
      const rows = await runChecks(run, planChecks({ ...connections, config, configured }), run.signal);
      return printReport([...rows, ...board?.unknown ?? []], config, run);
    }, run.signal);
  },
});

const status = defineStatus<ConsensusControl, ConsensusStatus>({
  examples: ["--cache=/var/lib/causeway-consensus status"],
  afterHelp:
    `Prints what the status page shows: what is in the way, light clients, endpoints. The running relayer
answers at its socket: name it with the --socket or --cache that the relayer was started with.`,
  exitStatus: { 0: "done", 1: "no relayer answers" },
  loadView: async () => (await import("../status/consensus_view.ts")).consensusView,
});

/** Commands that work with the running relayer. */
export const operations: readonly OperationCommand<ConsensusRun, ConsensusControl>[] = [
  status,
  prove,
  logLevelCommand,
];

/** In the order of the help. */
export const commands: readonly Command<ConsensusRun>[] = [
  check,
  ...operations,
  logConsensusState,
];
