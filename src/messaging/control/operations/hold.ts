/** `hold`: messages of a module or route wait until they are released. */
import { OperationRefusal } from "../../../core/commands/control_operation.ts";
import { formatHoldSubject, parseHoldSubject } from "../../relay/decisions/hold_subject.ts";
import type { Operation } from "../operation.ts";
import * as z from "zod";

const input = z.strictObject({ subject: z.string().max(200) });

const output = z.object({
  subject: z.string(),
  /** False: it was held before. */
  isNew: z.boolean(),
  /** Everything that is held now. */
  held: z.array(z.string()),
});

/** The operation. */
export const holdOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "hold",
  needs: "write",
  input,
  output,
  run: ({ ledger }, { subject }) => {
    const parsed = parseHoldSubject(subject);
    if (parsed === undefined) throw new OperationRefusal(`${subject} is neither a module nor a route.`);
    const text = formatHoldSubject(parsed);
    const isNew = ledger.transaction(() => ledger.operatorHolds.add(text));
    return { subject: text, isNew, held: ledger.operatorHolds.list() };
  },
};
