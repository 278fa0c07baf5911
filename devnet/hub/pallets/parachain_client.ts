/**
 * The parachain client: sibling chains by their heads in state roots of the relay chain, which the chain learns from its own
 * blocks.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/{lib,consensus}.rs.
 */
import { followedParachainsPrefix } from "../../../src/consensus/clients/parachain/spec/parachain_proof.ts";
import { type ParachainConsensusProof, parachainConsensusProofCodec } from "../../../src/core/ismp/proof.ts";
import { decodeStrict, ScaleError, u32 } from "../../../src/core/encoding/scale.ts";
import type { RelayParent } from "../hub_options.ts";
import type { Execution } from "../runtime.ts";
import type { Overlay } from "../storage.ts";
import { HeadRefusal, readFollowedHeads } from "../verifiers/parachain_heads.ts";
import { consensusSettings } from "./consensus_settings.ts";
import type {
  ClientUpdate,
  ConsensusHost,
  ConsensusVerifier,
  UpdateToVerify,
} from "./consensus_verifiers.ts";
import { IsmpError } from "./ismp_error.ts";

/** State roots that are kept. */
const MAX_RELAY_HEIGHTS = 256;

/** Keeps the state root of the relay chain block that a block builds on. */
export function recordRelayParent({ overlay }: Execution, parent: RelayParent | undefined): void {
  if (parent === undefined) return;
  if (consensusSettings.relayStateRoot.get(overlay, parent.number) !== undefined) return;
  let known = consensusSettings.knownRelayHeights.get(overlay) ?? [];
  const [oldest] = known;
  if (known.length >= MAX_RELAY_HEIGHTS && oldest !== undefined) {
    consensusSettings.relayStateRoot.remove(overlay, oldest);
    known = known.slice(1);
  }
  consensusSettings.relayStateRoot.put(overlay, parent.stateRoot, parent.number);
  const heights = [...known, parent.number].sort((a, b) => a - b);
  consensusSettings.knownRelayHeights.put(overlay, heights);
}

/** Heads of the parachains that governance named; those without a head bring nothing. */
export const parachainVerifier: ConsensusVerifier = (host, update) => {
  try {
    return verify(host, update);
  } catch (cause) {
    if (!(cause instanceof HeadRefusal)) throw cause;
    throw new IsmpError("consensus_proof_verification_failed", cause.code, { cause });
  }
};

function verify(host: ConsensusHost, { stateId, trusted, proof }: UpdateToVerify): ClientUpdate {
  const { relayHeight, storageProof } = decodeProof(proof);
  const relayStateRoot = consensusSettings.relayStateRoot.get(host.storage, relayHeight);
  if (relayStateRoot === undefined) {
    throw new IsmpError("consensus_proof_verification_failed", `unknown relay chain height ${relayHeight}`);
  }
  const { stateMachine: chain, coprocessor, storage } = host;
  const commitments = readFollowedHeads(storageProof, {
    chain,
    consensusStateId: stateId,
    coprocessor,
    relayStateRoot,
    paraIds: followedParachains(storage),
    slotMs: (paraId) => consensusSettings.slotDuration.get(storage, paraId),
  });
  return { state: trusted, commitments };
}

function decodeProof(proof: Uint8Array): ParachainConsensusProof {
  try {
    return decodeStrict(parachainConsensusProofCodec, proof, "ParachainConsensusProof");
  } catch (cause) {
    if (!(cause instanceof ScaleError)) throw cause;
    throw new IsmpError("consensus_proof_verification_failed", "undecodable proof", { cause });
  }
}

function followedParachains(storage: Pick<Overlay, "entries">): readonly number[] {
  return [...storage.entries(followedParachainsPrefix)].map(([key]) =>
    decodeStrict(u32, key.slice(followedParachainsPrefix.length), "ParaId")
  );
}
