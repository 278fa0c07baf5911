/** Commands that both programs have. A new one is one line here. */
import type { Command } from "./command.ts";
import { completion } from "./completion.ts";
import { configCheck, configSchema, configShow } from "./config.ts";
import { configInit } from "./config_init.ts";
import { health } from "./health.ts";
import { keysEncrypt, keysImport, keysList, keysNew } from "./keys.ts";

/** In the order of the help, behind those of the program. */
export const sharedCommands: readonly Command<unknown>[] = [
  health,
  configInit,
  configCheck,
  configShow,
  configSchema,
  keysList,
  keysNew,
  keysImport,
  keysEncrypt,
  completion,
];
