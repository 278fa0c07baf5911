/** Polkadot Hub: a parachain that verifiers store as an EVM chain. Pure. */
import { evmChainId, evmStateMachine, isEvm, type StateMachine, stateMachineParts } from "./state_machine.ts";

/** Id of Polkadot Hub (formerly Asset Hub) on its relay chain. */
export const POLKADOT_HUB_PARA_ID = 1000;

/** Chain ids on Polkadot and on Paseo, whose parachains count as Kusama's. */
const CHAIN_IDS = { Polkadot: 420420419, Kusama: 420420417 } as const;

/**
 * State machine under which the client stores Polkadot Hub: an EVM chain, 420420419 on Polkadot and 420420417 on
 * Paseo. `undefined` for every other parachain.
 */
export function polkadotHubAs(parachain: StateMachine): StateMachine | undefined {
  const { tag, value } = stateMachineParts(parachain);
  const isHub = value === POLKADOT_HUB_PARA_ID && (tag === "Polkadot" || tag === "Kusama");
  return isHub ? evmStateMachine(CHAIN_IDS[tag]) : undefined;
}

/** True for the names under which verifiers store Polkadot Hub. */
export function isPolkadotHub(chain: StateMachine): boolean {
  return isEvm(chain) && Object.values<number>(CHAIN_IDS).includes(evmChainId(chain));
}
