/**
 * Messages to a GRANDPA client and the client's state, with their SCALE forms. Source: polytope-labs/hyperbridge:
 * modules/consensus/grandpa/primitives/src/{lib,justification}.rs, modules/ismp/clients/grandpa/src/messages.rs;
 * paritytech/finality-grandpa: src/lib.rs (Commit).
 */
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  type StateMachine,
  stateMachineCodec,
  stateMachineParts,
} from "../../../../core/ismp/state_machine.ts";
import {
  bytes,
  type Codec,
  compareHex,
  Enum,
  fixedBytes,
  hash256,
  list,
  orderedMap,
  Struct,
  u32,
  u64,
} from "../../../../core/encoding/scale.ts";
import { type SubstrateHeader, substrateHeaderCodec } from "../../../../core/substrate/header.ts";
import { storagePrefix, twoxConcat } from "../../../../core/ismp/storage_keys.ts";

/** A voter with its weight. */
export interface GrandpaAuthority {
  /** ed25519 key. */
  readonly id: Hash256;
  readonly weight: bigint;
}

/** State of a GRANDPA client. */
export interface GrandpaConsensusState {
  readonly currentAuthorities: readonly GrandpaAuthority[];
  readonly currentSetId: bigint;
  readonly latestHeight: number;
  readonly latestHash: Hash256;
  /** Unused by verifiers. */
  readonly slotDurationMs: bigint;
  readonly stateMachine: StateMachine;
}

/** A vote for a block and all its ancestors. */
export interface SignedPrecommit {
  readonly targetHash: Hash256;
  readonly targetNumber: number;
  readonly signature: Uint8Array;
  readonly id: Hash256;
}

/** Votes that make a block final. */
export interface GrandpaJustification {
  readonly round: bigint;
  readonly commit: {
    readonly targetHash: Hash256;
    readonly targetNumber: number;
    readonly precommits: readonly SignedPrecommit[];
  };
  /** Headers between the blocks that were voted for. */
  readonly votesAncestries: readonly SubstrateHeader[];
}

/** Finality of one block, with the headers that lead to it. */
export interface GrandpaFinalityProof {
  readonly block: Hash256;
  /** SCALE of {@link GrandpaJustification}. */
  readonly justification: Uint8Array;
  /** From the trusted block (which may be omitted) to the final one, in any order. */
  readonly unknownHeaders: readonly SubstrateHeader[];
}

/** Heads of parachains in the state of a relay chain block. */
export interface ParachainHeaderProofs {
  /** Nodes of the state trie. */
  readonly stateProof: readonly Uint8Array[];
  readonly paraIds: readonly number[];
}

/** Proofs of heads by the hash of the relay chain block. */
export type ParachainHeaders = ReadonlyMap<Hash256, ParachainHeaderProofs>;

/** The consensus proof of a message to a GRANDPA client. */
export type GrandpaMessage =
  | { readonly tag: "StandaloneChain"; readonly value: { readonly finalityProof: GrandpaFinalityProof } }
  | {
    /** `Polkadot`: parachains of the verifier's own family; `Relaychain`: of another relay chain. */
    readonly tag: "Polkadot" | "Relaychain";
    readonly value: {
      readonly finalityProof: GrandpaFinalityProof;
      readonly parachainHeaders: ParachainHeaders;
    };
  };

/** SCALE of a set of voters. */
export const grandpaAuthoritiesCodec: Codec<readonly GrandpaAuthority[]> = list(
  Struct({ id: hash256, weight: u64 }),
);

/** SCALE of {@link GrandpaConsensusState}. */
export const grandpaConsensusStateCodec: Codec<GrandpaConsensusState> = Struct({
  currentAuthorities: grandpaAuthoritiesCodec,
  currentSetId: u64,
  latestHeight: u32,
  latestHash: hash256,
  slotDurationMs: u64,
  stateMachine: stateMachineCodec,
});

/** SCALE of {@link GrandpaJustification}. */
export const grandpaJustificationCodec: Codec<GrandpaJustification> = Struct({
  round: u64,
  commit: Struct({
    targetHash: hash256,
    targetNumber: u32,
    precommits: list(
      Struct({ targetHash: hash256, targetNumber: u32, signature: fixedBytes(64), id: hash256 }),
    ),
  }),
  votesAncestries: list(substrateHeaderCodec),
});

/** SCALE of {@link GrandpaFinalityProof}. */
export const finalityProofCodec: Codec<GrandpaFinalityProof> = Struct({
  block: hash256,
  justification: bytes,
  unknownHeaders: list(substrateHeaderCodec),
});

const parachainHeadersCodec: Codec<ParachainHeaders> = orderedMap(
  hash256,
  Struct({ stateProof: list(bytes), paraIds: list(u32) }),
  compareHex,
);

const withHeads = Struct({ finalityProof: finalityProofCodec, parachainHeaders: parachainHeadersCodec });

/** SCALE of {@link GrandpaMessage}. */
export const grandpaMessageCodec: Codec<GrandpaMessage> = Enum({
  StandaloneChain: Struct({ finalityProof: finalityProofCodec }),
  Polkadot: withHeads,
  Relaychain: withHeads,
});

/** Engine of GRANDPA in digests and justifications. */
export const GRANDPA_ENGINE = "FRNK";

/** Kind of message for a tracked state machine; undefined when there is none. */
export function messageVariantOf(tracked: StateMachine): GrandpaMessage["tag"] | undefined {
  const { tag } = stateMachineParts(tracked);
  if (tag === "Polkadot" || tag === "Kusama") return "Polkadot";
  if (tag === "Relay") return "Relaychain";
  return tag === "Substrate" ? "StandaloneChain" : undefined;
}

/**
 * On the verifying chain: duration of a chain's slots in milliseconds; absent: the chain is not followed. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/grandpa/src/lib.rs (SupportedStateMachines).
 */
export function supportedStateMachineKey(chain: StateMachine): Uint8Array {
  const prefix = storagePrefix("IsmpGrandpa", "SupportedStateMachines");
  return concatBytes(prefix, twoxConcat(stateMachineCodec.enc(chain)));
}

/** On the relay chain: id of the current voter set. Source: paritytech/polkadot-sdk: substrate/frame/grandpa/src/lib.rs. */
export function currentSetIdKey(): Uint8Array {
  return storagePrefix("Grandpa", "CurrentSetId");
}

/** SCALE of both values. */
export const grandpaNumberCodec: Codec<bigint> = u64;
