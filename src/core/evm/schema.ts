/** Answers of EVM nodes, checked against the schema of their method before anything is trusted. */
import * as z from "zod";
import { type Hex, isHexBytes, toLowerHex } from "../encoding/bytes.ts";

/** Answer that does not have the shape of its method. */
export class SchemaError extends Error {
  override readonly name: string = "SchemaError";
  readonly code = "unexpected_shape";
  constructor(
    /** Method or part of the answer, and the field that does not fit. */
    readonly place: string,
    options?: ErrorOptions,
  ) {
    super(`Unexpected shape at ${place}`, options);
  }
}

/** Bytes as hex, lower case. */
export const hexBytes = z.custom<Hex>(isHexBytes).transform(toLowerHex);

/** Parses `value`; `place` names it in the error. @throws {SchemaError} */
export function parseResponse<S extends z.ZodType>(schema: S, value: unknown, place: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const path = parsed.error.issues[0]?.path.map(String) ?? [];
  throw new SchemaError([place, ...path].join("."), { cause: parsed.error });
}
