/** Shapes that several operations have in common. Numbers that may not fit a double travel as decimal text. */
import { stateMachineShape } from "../../core/commands/control_operation.ts";
import { toHash256 } from "../../core/encoding/bytes.ts";
import { messageReasons, messageStates } from "../ledger/ledger.ts";
import * as z from "zod";

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
