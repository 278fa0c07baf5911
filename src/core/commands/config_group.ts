/** The first word of the commands about the configuration file. */
import type { CommandGroup } from "./command.ts";

/** `config`. */
export const configGroup: CommandGroup = {
  name: "config",
  description: "check, show and explain the configuration file",
};
