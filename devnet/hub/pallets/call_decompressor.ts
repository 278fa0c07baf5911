/**
 * Pallet CallDecompressor: runs a zstd-compressed `Ismp.handle_unsigned` or `Relayer.accumulate_fees`.
 * Source: polytope-labs/hyperbridge: modules/pallets/call-decompressor/src/lib.rs.
 */
import { zstdDecompressSync } from "node:zlib";
import { bytes, ScaleError, Struct, u32 } from "../../../src/core/encoding/scale.ts";
import { converted } from "../verifiers/refusals.ts";
import {
  DispatchError,
  orInvalid,
  type PreparedCall,
  type SimulatedRuntime,
  ValidityError,
  type ValidTransaction,
} from "../runtime.ts";

/** Calls that may be compressed. */
const innerCalls = ["Ismp.handle_unsigned", "Relayer.accumulate_fees"];

/** Maximum of bytes of a decompressed call: MaxCallSize of the runtime in decimal megabytes. */
export const maxCallBytes = { gargantua: 2_000_000, nexus: 3_000_000 } as const;

interface Arguments {
  readonly compressed: Uint8Array;
  readonly encodedCallSize: number;
}

/** Adds `CallDecompressor.decompress_call` to the table. */
export function registerCallDecompressor(runtime: SimulatedRuntime, maxBytes: number): void {
  runtime.register(
    "CallDecompressor",
    "decompress_call",
    Struct({ compressed: bytes, encodedCallSize: u32 }),
    {
      validate(execution, args): ValidTransaction {
        const { provides } = validateInner(runtime, execution, args, maxBytes);
        return { priority: 100n, provides, longevity: 25n };
      },
      dispatch(execution, args): void {
        const call = innerCall(runtime, args, maxBytes);
        try {
          call.dispatch(execution);
        } catch (cause) {
          if (!(cause instanceof DispatchError) || cause.pallet !== "Ismp") throw cause;
          throw new DispatchError("CallDecompressor", "ErrorExecutingCall", { cause });
        }
      },
    },
  );
}

function validateInner(
  runtime: SimulatedRuntime,
  execution: Parameters<PreparedCall["dispatch"]>[0],
  args: Arguments,
  maxBytes: number,
): { readonly provides: readonly Uint8Array[] } {
  const refusal = (cause: ValidityError): Error => new ValidityError("Call", { cause });
  return converted(ValidityError, refusal, () =>
    orInvalid("Call", () => {
      const { validate } = innerCall(runtime, args, maxBytes);
      if (validate === undefined) throw new ValidityError("Call");
      return validate(execution);
    }));
}

function innerCall(runtime: SimulatedRuntime, args: Arguments, maxBytes: number): PreparedCall {
  const call = decode(runtime, decompress(args, maxBytes));
  if (!innerCalls.includes(`${call.pallet}.${call.call}`)) {
    throw new DispatchError("CallDecompressor", "CallNotSupported");
  }
  return call;
}

function decompress({ compressed, encodedCallSize }: Arguments, maxBytes: number): Uint8Array {
  if (encodedCallSize >= maxBytes) throw new DispatchError("CallDecompressor", "CallSizeOutOfBound");
  let call: Uint8Array;
  try {
    call = new Uint8Array(zstdDecompressSync(compressed, { maxOutputLength: encodedCallSize + 1 }));
  } catch (cause) {
    throw new DispatchError("CallDecompressor", "DecompressionFailed", { cause });
  }
  if (call.length !== encodedCallSize) {
    throw new DispatchError("CallDecompressor", "DecompressionFailed");
  }
  return call;
}

function decode(runtime: SimulatedRuntime, call: Uint8Array): PreparedCall {
  const failure = (cause: ScaleError): Error =>
    new DispatchError("CallDecompressor", "ErrorDecodingCall", { cause });
  return converted(ScaleError, failure, () => runtime.prepareCall(call));
}
