/** Refusals of the rules of light clients: one class per client, with a code per rule. */
import { type Codec, decodeStrict, ScaleError } from "../../core/encoding/scale.ts";

/** What the rules of a light client refuse: an update, a state, or data of nodes. */
export abstract class ClientError<Code extends string = string> extends Error {
  constructor(readonly code: Code, options?: ErrorOptions) {
    super(`refused: ${code}`, options);
  }
}

/** Runs `read`; errors of a class become others. */
export function mapError<T, E extends Error>(
  from: abstract new (...args: never[]) => E,
  read: () => T,
  to: (cause: E) => Error,
): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof from ? to(cause) : cause;
  }
}

/** Creates a decoder of SCALE bytes without a rest. @param code of the error that refuses others. */
export function clientDecoder<T, Code extends string>(
  codec: Codec<T>,
  Refusal: new (code: Code, options?: ErrorOptions) => ClientError,
  code: Code,
): (bytes: Uint8Array) => T {
  return (bytes) =>
    mapError(
      ScaleError,
      () => decodeStrict(codec, bytes, "light client data"),
      (cause) => new Refusal(code, { cause }),
    );
}
