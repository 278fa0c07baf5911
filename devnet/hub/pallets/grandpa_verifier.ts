/**
 * How a chain's GRANDPA client checks updates: finality by code of its own, what it makes of the heads by the relayer's
 * verifier, with the chains that storage says are followed.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/grandpa/src/consensus.rs.
 */
import {
  type GrandpaConsensusState,
  grandpaConsensusStateCodec,
  type GrandpaMessage,
} from "../../../src/consensus/clients/grandpa/spec/message.ts";
import {
  decodeGrandpaMessage,
  decodeGrandpaState,
  type VerifiedFinality,
  verifyCommitments,
} from "../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import {
  type ConsensusStateId,
  formatStateMachine,
  type StateMachine,
} from "../../../src/core/ismp/state_machine.ts";
import type { StorageReader } from "../storage.ts";
import { checkFinality, FinalityRefusal } from "../verifiers/grandpa_finality.ts";
import { consensusSettings } from "./consensus_settings.ts";
import { type ConsensusVerifier, refusing } from "./consensus_verifiers.ts";
import { IsmpError } from "./ismp_error.ts";

/** GRANDPA: of a relay chain with its parachains, or of a standalone chain. */
export const grandpaVerifier: ConsensusVerifier = refusing((host, { stateId, trusted, proof }) => {
  const message = decodeGrandpaMessage(proof);
  const state = decodeGrandpaState(trusted);
  const finality = verify(state, message);
  const { consensusState, commitments } = verifyCommitments(state, { message, finality }, {
    consensusStateId: stateId,
    coprocessor: host.coprocessor,
    supported: supported(host.storage, followed(state, message, stateId)),
  });
  return { state: grandpaConsensusStateCodec.enc(consensusState), commitments };
});

function verify(state: GrandpaConsensusState, { value }: GrandpaMessage): VerifiedFinality {
  try {
    return checkFinality(state, value.finalityProof);
  } catch (cause) {
    if (!(cause instanceof FinalityRefusal)) throw cause;
    throw new IsmpError("consensus_proof_verification_failed", cause.code, { cause });
  }
}

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
