/** `suspended`: pairs of modules whose messages wait. */
import { defineOperation } from "../../core/commands/operation.ts";
import { formatList } from "../../core/commands/plain_text.ts";
import { toHex } from "../../core/encoding/bytes.ts";
import type { OperationContext } from "./command.ts";

/** The command. */
export const suspendedCommand = defineOperation({
  name: "suspended",
  description: "Lists pairs of modules whose messages are suspended.",
  summary: "list suspended pairs of modules",
  examples: ["suspended"],
  exitStatus: { 0: "done", 1: "the database cannot be read" },
  needs: "read",
  work: ({ ledger, config }: OperationContext) => ({
    pairs: config.chains.flatMap(({ stateMachine }) => ledger.suspensions.listActive(stateMachine))
      .map(({ target, from, to }) => ({ target, from: toHex(from), to: toHex(to) })),
  }),
  show: ({ pairs }) => formatList(pairs),
});
