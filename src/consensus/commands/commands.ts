/** Every command. A new one is a file of its own and one line here; those of both programs are in the core. */
import type { Command } from "../../core/commands/command.ts";
import { sharedCommands } from "../../core/commands/shared_commands.ts";
import { check } from "./check.ts";
import type { ConsensusRun } from "./command.ts";
import { logConsensusState } from "./log_consensus_state.ts";
import { logLevel } from "./log_level.ts";
import { prove } from "./prove.ts";
import { status } from "./status.ts";

/** In the order of the help. */
export const commands: readonly Command<ConsensusRun>[] = [
  check,
  status,
  prove,
  logLevel,
  logConsensusState,
  ...sharedCommands,
];
