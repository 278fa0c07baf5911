/** The first word of the commands about keys. */
import type { CommandGroup } from "./command.ts";

/** `keys`. */
export const keysGroup: CommandGroup = {
  name: "keys",
  description: "show accounts and their balances, write encrypted keystores",
};
