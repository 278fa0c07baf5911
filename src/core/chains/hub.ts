/** Hub as the programs see it: a chain that also knows the other chains. */
import type { StateMachineId } from "../ismp/state_machine.ts";
import type { Chain, CheckFinding } from "./port.ts";

/** Part of a chain's configuration that the hub can confirm. */
export interface Counterparty {
  readonly id: StateMachineId;
  /** 20-byte address of the host contract; absent for Substrate chains. */
  readonly ismpHost?: Uint8Array;
}

/** The hub. */
export interface HubChain extends Chain {
  /**
   * Compares a chain's configuration with the hub's storage: consensus state id and host contract. Proofs are
   * verified against the hub's storage, so a difference is fatal.
   */
  checkCounterparty(entry: Counterparty, signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /**
   * Reason why the hub accepts no messages of that chain, whatever heights of it are known: some light clients accept
   * proofs only of chains that governance has listed. Completes "the hub ..."; `undefined`: it accepts them. Two
   * round trips.
   */
  findUnlisted(of: StateMachineId, signal: AbortSignal): Promise<string | undefined>;
}
