/** What goes over the socket: a request of one operation, and its answer. */
import { z } from "zod";

/** Request, as one line of JSON. */
export const requestShape = z.object({ operation: z.string().max(100), input: z.unknown() });

/** Answer, as one line of JSON: the output, or a text for the operator. */
export const answerShape = z.union([
  z.object({ ok: z.literal(true), output: z.unknown() }),
  z.object({ ok: z.literal(false), text: z.string() }),
]);

/** Path of the socket of the relayer that uses a database. */
export function controlSocketPath(dbPath: string): string {
  return `${dbPath}.sock`;
}
