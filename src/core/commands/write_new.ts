/** New files of commands: one that is there is never overwritten. */
import { fileFailure } from "../config/toml.ts";
import { CommandRefusal, type StandaloneRun } from "./command.ts";

/** Refusal of a command that writes a file. */
export function nothingWritten(why: string): CommandRefusal {
  return new CommandRefusal(`${why}; nothing was written`);
}

/** Writes a file that is not there yet. @param isSpare true: one that is there may stay @throws {CommandRefusal} */
export function writeNew({ env }: StandaloneRun, path: string, text: string, isSpare = false): void {
  try {
    if (env.writeNewFile(path, text) || isSpare) return;
  } catch (error) {
    throw error instanceof Error ? nothingWritten(`${path} cannot be written: ${fileFailure(error)}`) : error;
  }
  throw nothingWritten(`${path} exists and is not overwritten`);
}
