/**
 * Contract addresses of a rollup on the hub: reading them, and comparing them with the configuration.
 */
import type { CheckFinding } from "../../core/chains/check_finding.ts";
import type { Address } from "../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdKey } from "../../core/ismp/state_machine.ts";
import { type Codec, decodeStrict, ScaleError } from "../../core/encoding/scale.ts";
import { ProverFault } from "../prover.ts";

/**
 * Decodes a stored value; `undefined` where there is none. @throws {ProverFault} `hub_state`
 */
export function readStored<T>(
  id: StateMachineId,
  { what, codec }: { readonly what: string; readonly codec: Codec<T> },
  stored: Uint8Array | undefined,
): T | undefined {
  if (stored === undefined) return undefined;
  try {
    return decodeStrict(codec, stored, what);
  } catch (cause) {
    if (!(cause instanceof ScaleError)) throw cause;
    const detail = `the ${what} that the hub holds for ${stateMachineIdKey(id)} cannot be read`;
    throw new ProverFault("hub_state", { chain: id.stateMachine, detail }, { cause });
  }
}

/** Returns a finding when both are present and differ. @param key of the configuration. */
export function compareContract(
  id: StateMachineId,
  key: string,
  { configured, stored }: { readonly configured: Address | undefined; readonly stored: Address | undefined },
): readonly CheckFinding[] {
  if (configured === undefined || stored === undefined || configured === stored) return [];
  const text =
    `${stateMachineIdKey(id)}: ${key} is ${configured}, and the hub holds ${stored}, which is used: ` +
    "the hub refuses proofs of any other contract";
  return [{ severity: "warning", event: "rollup_contract_mismatch", text }];
}
