/** Every command. A new one is a file of its own and one line here. */
import { accumulateFees } from "./accumulate_fees.ts";
import type { Command } from "./command.ts";
import { releaseSuspended } from "./release_suspended.ts";

/** In the order of the help. */
export const commands: readonly Command[] = [
  accumulateFees,
  releaseSuspended,
];
