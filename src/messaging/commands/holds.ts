/** `holds`: what the operator holds. */
import { defineOperation } from "../../core/commands/operation.ts";
import type { OperationContext } from "./command.ts";

/** The command. */
export const holdsCommand = defineOperation<
  OperationContext,
  undefined,
  { readonly held: readonly string[] }
>({
  name: "holds",
  description: "Lists the modules and routes that are held.",
  summary: "list what is held",
  afterHelp: `
Exit status: 0 done, 1 the database cannot be read, 2 wrong command line.`,
  needs: "read",
  addOptions: (parser, choose) => void parser.action(() => choose(undefined)),
  work: ({ ledger }) => ({ held: ledger.operatorHolds.list() }),
  show: ({ held }) => held.join("\n") || "Nothing is held.",
});
