/**
 * How a chain's GRANDPA client checks updates: the pure verifier, with the chains that storage says are followed.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/grandpa/src/consensus.rs.
 */
import {
  type GrandpaConsensusState,
  grandpaConsensusStateCodec,
  type GrandpaMessage,
} from "../../../../src/core/protocol/consensus/grandpa/message.ts";
import {
  decodeGrandpaMessage,
  decodeGrandpaState,
  verifyGrandpaMessage,
} from "../../../../src/core/protocol/consensus/grandpa/verify_message.ts";
import {
  type ConsensusStateId,
  formatStateMachine,
  type StateMachine,
} from "../../../../src/core/protocol/ismp/state_machine.ts";
import type { StorageReader } from "../storage.ts";
import { consensusSettings } from "./consensus_settings.ts";
import { type ConsensusVerifier, refusing } from "./consensus_verifiers.ts";

/** GRANDPA: of a relay chain with its parachains, or of a standalone chain. */
export const grandpaVerifier: ConsensusVerifier = refusing((host, { stateId, trusted, proof }) => {
  const message = decodeGrandpaMessage(proof);
  const state = decodeGrandpaState(trusted);
  const { consensusState, commitments } = verifyGrandpaMessage(state, message, {
    consensusStateId: stateId,
    coprocessor: host.coprocessor,
    supported: supported(host.storage, followed(state, message, stateId)),
  });
  return { state: grandpaConsensusStateCodec.enc(consensusState), commitments };
});

/** Chains that a message may be about, under each name that they may have. */
function followed(
  { stateMachine }: GrandpaConsensusState,
  message: GrandpaMessage,
  relay: ConsensusStateId,
): readonly StateMachine[] {
  if (message.tag === "StandaloneChain") return [stateMachine];
  const proofs = [...message.value.parachainHeaders.values()];
  return proofs.flatMap(({ paraIds }) => paraIds).flatMap((paraId) => [
    formatStateMachine({ tag: "Polkadot", value: paraId }),
    formatStateMachine({ tag: "Kusama", value: paraId }),
    formatStateMachine({ tag: "Relay", value: { relay, paraId } }),
  ]);
}

function supported(
  storage: StorageReader,
  chains: readonly StateMachine[],
): ReadonlyMap<StateMachine, bigint> {
  return new Map(chains.flatMap((chain) => {
    const slotMs = consensusSettings.grandpaStateMachine.get(storage, chain);
    return slotMs === undefined ? [] : [[chain, slotMs] as const];
  }));
}
