/** Commands that both programs have. A new one is a file of its own and one line here. */
import type { Command } from "./command.ts";
import { completion } from "./completion.ts";
import { configCheck } from "./config_check.ts";
import { configInit } from "./config_init.ts";
import { configSchema } from "./config_schema.ts";
import { configShow } from "./config_show.ts";
import { health } from "./health.ts";
import { keysEncrypt } from "./keys_encrypt.ts";
import { keysImport } from "./keys_import.ts";
import { keysList } from "./keys_list.ts";
import { keysNew } from "./keys_new.ts";

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
