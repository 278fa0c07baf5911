/** The hub as the programs see it: a chain that also knows, and can be asked about, the other chains. */
import type { StateMachineId } from "../ismp/state_machine.ts";
import type { Chain, CheckFinding } from "./port.ts";

/** What a chain's configuration says that the hub can confirm. */
export interface Counterparty {
  readonly id: StateMachineId;
  /** 20-byte address of the host contract; absent for Substrate chains. */
  readonly ismpHost?: Uint8Array;
}

/** The hub. */
export interface HubChain extends Chain {
  /**
   * Compares a chain's configuration with what the hub stores of it: consensus state id and host contract.
   * Proofs are verified against what the hub stores, so a difference is fatal.
   */
  checkCounterparty(entry: Counterparty, signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /**
   * Why the hub takes no messages of that chain, whatever heights of it are known: some light clients take proofs only
   * of chains that governance has listed. Completes "the hub ..."; `undefined`: it takes them. Two round trips.
   */
  findUnlisted(of: StateMachineId, signal: AbortSignal): Promise<string | undefined>;
}
