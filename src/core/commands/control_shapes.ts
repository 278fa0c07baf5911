/** Shapes that operations of both programs have in common, as they travel over the control socket. */
import * as z from "zod";
import { IdentifierError, parseStateMachine } from "../ismp/state_machine.ts";

/** A state machine as text. */
export const stateMachineShape = z.string().transform((text, context) => {
  try {
    return parseStateMachine(text);
  } catch (error) {
    if (!(error instanceof IdentifierError)) throw error;
    context.addIssue({ code: "custom", message: "no state machine" });
    return z.NEVER;
  }
});
