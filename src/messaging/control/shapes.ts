/** Shapes that several operations have in common. Numbers that may not fit a double travel as decimal text. */
import { toHash256 } from "../../core/encoding/bytes.ts";
import { IdentifierError, parseStateMachine } from "../../core/ismp/state_machine.ts";
import { messageReasons, messageStates } from "../ledger/ledger.ts";
import { z } from "zod";

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

/** A commitment or the hash of a transaction. */
export const hashShape = z.string().regex(/^0x[0-9a-fA-F]{64}$/).transform((text) => toHash256(text));

/** Selection of messages; an absent field matches everything. */
export const filterShape = z.strictObject({
  states: z.array(z.enum(messageStates)).optional(),
  reasons: z.array(z.enum(messageReasons)).optional(),
  source: stateMachineShape.optional(),
  dest: stateMachineShape.optional(),
  /** Bytes in hex. */
  module: z.string().regex(/^0x(?:[0-9a-f]{2})+$/).optional(),
  sinceMs: z.number().optional(),
});

/** Selection of messages as it travels. */
export type FilterInput = z.input<typeof filterShape>;
