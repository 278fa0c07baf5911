/** Kinds of chains that the hub tells apart. */
import { type StateMachine, stateMachineParts } from "../../../src/core/ismp/state_machine.ts";

/** True for Polkadot, Kusama, Substrate and Relay; Tendermint is neither EVM nor Substrate. */
export function isSubstrate(stateMachine: StateMachine): boolean {
  const { tag } = stateMachineParts(stateMachine);
  return tag === "Polkadot" || tag === "Kusama" || tag === "Substrate" || tag === "Relay";
}
