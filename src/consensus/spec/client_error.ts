/** Refusals of the rules of light clients: one class per client, with a code per rule. */
import { type Codec, decodeStrict, ScaleError } from "../../core/encoding/scale.ts";

/** What the rules of a light client refuse: an update, a state, or data of nodes. */
export abstract class ClientError<Code extends string = string> extends Error {
  constructor(readonly code: Code, options?: ErrorOptions) {
    super(`refused: ${code}`, options);
  }
}

/** Decodes SCALE bytes without a rest. @param refuse creates the error of the client. @throws {ClientError} */
export function decodeClientData<T>(
  codec: Codec<T>,
  bytes: Uint8Array,
  refuse: (options: ErrorOptions) => ClientError,
): T {
  return readClientData(() => decodeStrict(codec, bytes, "light client data"), refuse);
}

/** Runs a SCALE decoder. @param refuse creates the error of the client. @throws {ClientError} */
export function readClientData<T>(read: () => T, refuse: (options: ErrorOptions) => ClientError): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof ScaleError) throw refuse({ cause });
    throw cause;
  }
}
