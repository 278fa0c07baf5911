/** Every command. A new one is a file of its own and one line here; those of both programs are in the core. */
import type { Command } from "../../core/commands/command.ts";
import { defineCheckCommand } from "../../core/commands/check_command.ts";
import { answerRequest, logLevelCommand, type OperationCommand } from "../../core/commands/operation.ts";
import { sharedCommands } from "../../core/commands/shared_commands.ts";
import type { ControlSocket } from "../../core/runtime/control_socket.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import type { ConsensusControl, ConsensusRun } from "./command.ts";
import { logConsensusState } from "./log_consensus_state.ts";
import { prove } from "./prove.ts";
import { status } from "./status.ts";

const check = defineCheckCommand<ConsensusRun>({
  description:
    `Checks the hub, endpoints, beacon and relay nodes, light clients and accounts, all at once, and prints
what was found and what to do. Sends nothing; it may run beside the relayer.`,
  example: "causeway-consensus --config=consensus.toml check",
  run: async ({ deps, signal }, make) => {
    const { planChecks } = await import("../checks/plan_checks.ts");
    const { runSession } = await import("../session.ts");
    const { clock, config, machine, board } = deps;
    return await runSession(deps, (connections) => {
      const jobs = planChecks({ ...connections, config, machine });
      return make({ clock, config, jobs, others: () => board?.unknown ?? [] });
    }, signal);
  },
});

/** Commands that work with the running relayer. */
const operations: readonly OperationCommand<ConsensusRun, ConsensusControl>[] = [
  status,
  prove,
  logLevelCommand,
];

/** In the order of the help. */
export const commands: readonly Command<ConsensusRun>[] = [
  check,
  ...operations,
  logConsensusState,
  ...sharedCommands,
];

/** Creates the worker of the running relayer that answers at the socket. */
export function consensusControlWorker(context: ConsensusControl, socket: ControlSocket): Worker {
  return {
    name: "control",
    run: (signal) => socket.serve((line, gone) => answerLine(context, line, gone), signal),
  };
}

/** Answers one request; whatever is wrong with it becomes a text. */
export function answerLine(context: ConsensusControl, line: string, signal: AbortSignal): Promise<string> {
  return answerRequest({ commands: operations, context }, line, signal);
}
