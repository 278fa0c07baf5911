/** Refusal of commands that are about the running relayer, where none answers. */
import { OperationRefusal } from "../../core/commands/control_operation.ts";

/** Says how a running relayer is named. @throws {OperationRefusal} */
export function refuseNobody(): never {
  throw new OperationRefusal("No relayer answers: name the --socket or --cache that it was started with.");
}
