/**
 * The parachain client: sibling chains by their heads in state roots of the relay chain, which the chain learns from its own
 * blocks. Asset Hub, which tells no time itself, is left out.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/{lib,consensus}.rs.
 */
import { commitmentOf } from "../../../../src/core/protocol/consensus/grandpa/verify_message.ts";
import { GrandpaError } from "../../../../src/core/protocol/consensus/grandpa/grandpa_error.ts";
import { decodeHeadData, provenHeads } from "../../../../src/core/protocol/consensus/parachain_heads.ts";
import { decodeSubstrateHeader } from "../../../../src/core/protocol/consensus/substrate_header.ts";
import type { IntermediateState } from "../../../../src/core/protocol/ismp/state_commitment.ts";
import { formatStateMachine, stateMachineParts } from "../../../../src/core/protocol/ismp/state_machine.ts";
import {
  bytes,
  type Codec,
  decodeStrict,
  list,
  ScaleError,
  Struct,
  u32,
} from "../../../../src/core/protocol/scale.ts";
import { TrieError } from "../../../../src/core/protocol/trie/trie_error.ts";
import type { RelayParent } from "../hub_options.ts";
import type { Execution } from "../runtime.ts";
import type { Overlay } from "../storage.ts";
import { consensusSettings, followedParachainsPrefix } from "./consensus_settings.ts";
import type {
  ConsensusHost,
  ConsensusVerifier,
  UpdateToVerify,
  VerifiedUpdate,
} from "./consensus_verifiers.ts";
import { IsmpError } from "./ismp_error.ts";

/** What a relayer sends: nodes of the relay chain's state that prove heads. */
export interface ParachainUpdate {
  readonly relayHeight: number;
  readonly storageProof: readonly Uint8Array[];
}

/** SCALE of {@link ParachainUpdate}. */
export const parachainUpdateCodec: Codec<ParachainUpdate> = Struct({
  relayHeight: u32,
  storageProof: list(bytes),
});

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
    const isRefusal = cause instanceof ScaleError || cause instanceof TrieError ||
      cause instanceof GrandpaError;
    if (!isRefusal) throw cause;
    throw new IsmpError("consensus_proof_verification_failed", cause.code, { cause });
  }
};

function verify(host: ConsensusHost, { stateId, trusted, proof }: UpdateToVerify): VerifiedUpdate {
  const { relayHeight, storageProof } = decodeStrict(parachainUpdateCodec, proof, "ParachainConsensusProof");
  const root = consensusSettings.relayStateRoot.get(host.storage, relayHeight);
  if (root === undefined) {
    throw new IsmpError("consensus_proof_verification_failed", `unknown relay chain height ${relayHeight}`);
  }
  const { tag } = stateMachineParts(host.stateMachine);
  if (tag !== "Kusama" && tag !== "Polkadot") {
    throw new IsmpError("consensus_proof_verification_failed", "the chain is no parachain");
  }
  const heads = provenHeads(storageProof, root, followedParachains(host.storage));
  const commitments = [...heads].flatMap(([paraId, stored]): IntermediateState[] => {
    if (stored === undefined) return [];
    const header = decodeSubstrateHeader(decodeHeadData(stored));
    const stateMachine = formatStateMachine({ tag, value: paraId });
    const commitment = commitmentOf(header, 0n, stateMachine === host.coprocessor);
    return [{
      height: { id: { stateMachine, consensusStateId: stateId }, height: BigInt(header.number) },
      commitment,
    }];
  });
  return { state: trusted, commitments };
}

function followedParachains(storage: Pick<Overlay, "entries">): readonly number[] {
  return [...storage.entries(followedParachainsPrefix)].map(([key]) =>
    decodeStrict(u32, key.slice(followedParachainsPrefix.length), "ParaId")
  );
}
