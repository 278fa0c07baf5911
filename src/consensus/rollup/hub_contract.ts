/**
 * Contracts of a rollup on the hub: reading them, and comparing them with the configuration.
 */
import { type CheckRow, eventRow } from "../../core/checks/check_row.ts";
import { decodeStrict, ScaleError } from "../../core/encoding/scale.ts";
import { type Address, addressCodec } from "../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdKey } from "../../core/ismp/state_machine.ts";
import type { FindingCode } from "../../core/checks/findings.ts";
import { ProverFault } from "../prover.ts";

/** Decodes the address of a contract. @throws {ScaleError} */
export function decodeContract(stored: Uint8Array): Address {
  return decodeStrict(addressCodec, stored, "contract");
}

/**
 * Decodes a stored value; `undefined` where there is none. @param what names it in the fault. @throws {ProverFault}
 * `hub_state`
 */
export function readStored<T>(
  id: StateMachineId,
  { what, decode }: { readonly what: string; readonly decode: (stored: Uint8Array) => T },
  stored: Uint8Array | undefined,
): T | undefined {
  if (stored === undefined) return undefined;
  try {
    return decode(stored);
  } catch (cause) {
    if (!(cause instanceof ScaleError)) throw cause;
    const detail = `the ${what} that the hub holds for ${stateMachineIdKey(id)} cannot be read`;
    throw new ProverFault("hub_state", { chain: id.stateMachine, detail }, { cause });
  }
}

/** The contract that is found; none where the hub holds something unreadable, which a check of its own reports. */
export function unlessUnreadable(found: Promise<Address | undefined>): Promise<Address | undefined> {
  return found.catch((fault) => {
    if (fault instanceof ProverFault) return undefined;
    throw fault;
  });
}

/** Row about what needs attention. */
export function warning(id: StateMachineId, event: FindingCode, text: string): CheckRow {
  const found = `${stateMachineIdKey(id)}: ${text}`;
  return eventRow(id.stateMachine, event, { result: "warning", found });
}

/** Returns a row when both are present and differ. @param key of the configuration. */
export function compareContract(
  id: StateMachineId,
  key: string,
  { configured, stored }: { readonly configured: Address | undefined; readonly stored: Address | undefined },
): readonly CheckRow[] {
  if (configured === undefined || stored === undefined || configured === stored) return [];
  const found =
    `${stateMachineIdKey(id)}: ${key} is ${configured}, and the hub holds ${stored} and refuses proofs of ` +
    `any other contract: correct ${key}, or remove it so that the hub's is used`;
  return [eventRow(id.stateMachine, "rollup_contract_mismatch", { result: "failed", found })];
}
