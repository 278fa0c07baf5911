/** Polkadot Hub: a parachain that verifiers store as an EVM chain. Pure. */
import { evmStateMachine, type StateMachine, stateMachineParts } from "./state_machine.ts";

/** Polkadot Hub (formerly Asset Hub) on its relay chain. */
const POLKADOT_HUB_PARA_ID = 1000;

/**
 * State machine under which the client stores Polkadot Hub: an EVM chain, 420420419 on Polkadot and 420420417 on
 * Paseo, whose parachains count as Kusama's. `undefined` for every other parachain.
 */
export function polkadotHubAs(parachain: StateMachine): StateMachine | undefined {
  const { tag, value } = stateMachineParts(parachain);
  if (value !== POLKADOT_HUB_PARA_ID) return undefined;
  if (tag === "Polkadot") return evmStateMachine(420420419);
  return tag === "Kusama" ? evmStateMachine(420420417) : undefined;
}
