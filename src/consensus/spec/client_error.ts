/** Refusals of the rules of light clients: one class per client, with a code per rule. */
import { type CodedError as ClientError, mapError } from "../../core/encoding/coded_error.ts";
import { type Codec, decodeStrict, ScaleError } from "../../core/encoding/scale.ts";

export { CodedError as ClientError, mapError } from "../../core/encoding/coded_error.ts";

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
