/**
 * Answers of the transaction pool's runtime API and of dry runs.
 * Source: paritytech/polkadot-sdk: substrate/primitives/runtime/src/transaction_validity.rs.
 */
import type { Runtime } from "./runtime.ts";

/** A verdict about an extrinsic. */
export type Verdict =
  | { readonly kind: "valid" }
  /** By the runtime's name, e.g. `Invalid.BadProof` or `Ismp.InvalidMessage`. */
  | { readonly kind: "invalid"; readonly reason: string }
  /** Bytes that are not an answer of this API. */
  | { readonly kind: "unreadable" };

const invalid = [
  "Call",
  "Payment",
  "Future",
  "Stale",
  "BadProof",
  "AncientBirthBlock",
  "ExhaustsResources",
  "Custom",
  "BadMandatory",
  "MandatoryValidation",
  "BadSigner",
  "IndeterminateImplicit",
  "UnknownOrigin",
] as const;
const unknown = ["CannotLookup", "NoUnsignedValidator", "Custom"] as const;

/** Index of `DispatchError::Module`. */
const MODULE_ERROR = 3;

function readValidityError(bytes: Uint8Array): Verdict {
  const [kind, index, code] = bytes;
  if (index === undefined || (kind !== 0 && kind !== 1)) return { kind: "unreadable" };
  const names: readonly string[] = kind === 0 ? invalid : unknown;
  const name = names[index] ?? String(index);
  const suffix = name === "Custom" ? `(${code ?? "?"})` : "";
  return { kind: "invalid", reason: `${kind === 0 ? "Invalid" : "Unknown"}.${name}${suffix}` };
}

/** `Result<ValidTransaction, TransactionValidityError>`; what a valid one provides does not matter here. */
export function readValidation(answer: Uint8Array): Verdict {
  if (answer[0] === 0) return { kind: "valid" };
  return answer[0] === 1 ? readValidityError(answer.subarray(1)) : { kind: "unreadable" };
}

/** `Result<Result<(), DispatchError>, TransactionValidityError>`, the answer of `system_dryRun`. */
export function readDryRun(runtime: Runtime, answer: Uint8Array): Verdict {
  const [outer, inner] = answer;
  if (outer === 1) return readValidityError(answer.subarray(1));
  if (outer !== 0 || (inner !== 0 && inner !== 1)) return { kind: "unreadable" };
  if (inner === 0) return { kind: "valid" };
  return { kind: "invalid", reason: runtime.dispatchErrorName(answer.subarray(2)) };
}

/** `Pallet.Error` when the dry run ended in an error of a module. */
export function findModuleError(runtime: Runtime, answer: Uint8Array): string | undefined {
  const [outer, inner, kind] = answer;
  return outer === 0 && inner === 1 && kind === MODULE_ERROR
    ? runtime.dispatchErrorName(answer.subarray(2))
    : undefined;
}
