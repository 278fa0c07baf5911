/**
 * `backup`: the running relayer writes everything into the main file of its database and leaves that file alone, while
 * the command copies it; what is written meanwhile goes to the log beside it.
 */
import type { Operation } from "../operation.ts";
import { z } from "zod";

const input = z.strictObject({ phase: z.enum(["begin", "end"]) });

const output = z.object({
  /** `end`: true when the file was left alone for the whole time, so that the copy is consistent. */
  isWhole: z.boolean(),
});

/** The operation. */
export const backupOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "backup",
  needs: "running",
  input,
  output,
  run: ({ ledger }, { phase }) => {
    if (phase === "end") return { isWhole: ledger.fileCopy.end() };
    ledger.fileCopy.begin();
    return { isWhole: false };
  },
};
