/** Commands that both programs have. A new one is a file of its own and one line here. */
import type { Command } from "./command.ts";
import { configCheck } from "./config_check.ts";
import { configSchema } from "./config_schema.ts";
import { configShow } from "./config_show.ts";

/** In the order of the help, behind those of the program. */
export const sharedCommands: readonly Command<unknown>[] = [
  configCheck,
  configShow,
  configSchema,
];
