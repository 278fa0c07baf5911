/**
 * Messages to a GRANDPA client and the client's state, with their SCALE forms. Source: polytope-labs/hyperbridge:
 * modules/consensus/grandpa/primitives/src/{lib,justification}.rs, modules/ismp/clients/grandpa/src/messages.rs;
 * paritytech/finality-grandpa: src/lib.rs (Commit).
 */
import { ClientError } from "../../../spec/client_error.ts";
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  bytes,
  type Codec,
  compareHex,
  decodePrefix,
  Enum,
  fixedBytes,
  hash256,
  list,
  orderedMap,
  ScaleError,
  Struct,
  u32,
  u64,
} from "../../../../core/encoding/scale.ts";
import {
  type StateMachine,
  stateMachineCodec,
  stateMachineParts,
} from "../../../../core/ismp/state_machine.ts";
import { storagePrefix, twoxConcat } from "../../../../core/ismp/storage_keys.ts";
import { type SubstrateHeader, substrateHeaderCodec } from "../../../../core/substrate/header.ts";
import type { CodecType } from "scale-ts";

const authorityCodec = Struct({
  /** ed25519 key. */
  id: hash256,
  weight: u64,
});

/** A voter with its weight. */
export type GrandpaAuthority = Readonly<CodecType<typeof authorityCodec>>;

/** SCALE of a set of voters. */
export const grandpaAuthoritiesCodec: Codec<readonly GrandpaAuthority[]> = list(authorityCodec);

/** SCALE of {@link GrandpaConsensusState}. */
export const grandpaConsensusStateCodec = Struct({
  currentAuthorities: grandpaAuthoritiesCodec,
  currentSetId: u64,
  latestHeight: u32,
  latestHash: hash256,
  /** Unused by verifiers. */
  slotDurationMs: u64,
  stateMachine: stateMachineCodec,
});

/** State of a GRANDPA client. */
export type GrandpaConsensusState = Readonly<CodecType<typeof grandpaConsensusStateCodec>>;

const precommitCodec = Struct({
  targetHash: hash256,
  targetNumber: u32,
  signature: fixedBytes(64),
  id: hash256,
});

/** A vote for a block and all its ancestors. */
export type SignedPrecommit = Readonly<CodecType<typeof precommitCodec>>;

/** SCALE of {@link GrandpaJustification}. */
export const grandpaJustificationCodec = Struct({
  round: u64,
  commit: Struct({ targetHash: hash256, targetNumber: u32, precommits: list(precommitCodec) }),
  /** Headers between the blocks that were voted for. */
  votesAncestries: list(substrateHeaderCodec),
});

/** Votes that make a block final. */
export type GrandpaJustification = Readonly<CodecType<typeof grandpaJustificationCodec>>;

/** SCALE of {@link GrandpaFinalityProof}. */
export const finalityProofCodec = Struct({
  block: hash256,
  /** SCALE of {@link GrandpaJustification}. */
  justification: bytes,
  /** From the trusted block (which may be omitted) to the final one, in any order. */
  unknownHeaders: list(substrateHeaderCodec),
});

/** Finality of one block, with the headers that lead to it. */
export type GrandpaFinalityProof = Readonly<CodecType<typeof finalityProofCodec>>;

const headerProofsCodec = Struct({
  /** Nodes of the state trie. */
  stateProof: list(bytes),
  paraIds: list(u32),
});

/** Heads of parachains in the state of a relay chain block. */
export type ParachainHeaderProofs = Readonly<CodecType<typeof headerProofsCodec>>;

/** Proofs of heads by the hash of the relay chain block. */
export type ParachainHeaders = ReadonlyMap<Hash256, ParachainHeaderProofs>;

const parachainHeadersCodec: Codec<ParachainHeaders> = orderedMap(hash256, headerProofsCodec, compareHex);

const withHeads = Struct({ finalityProof: finalityProofCodec, parachainHeaders: parachainHeadersCodec });

/** The consensus proof of a message to a GRANDPA client, in SCALE. */
export const grandpaMessageCodec = Enum({
  StandaloneChain: Struct({ finalityProof: finalityProofCodec }),
  /** Parachains of the verifier's own family. */
  Polkadot: withHeads,
  /** Parachains of another relay chain. */
  Relaychain: withHeads,
});

/** The consensus proof of a message to a GRANDPA client. */
export type GrandpaMessage = Readonly<CodecType<typeof grandpaMessageCodec>>;

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

/**
 * Rule that a message breaks. Source: polytope-labs/hyperbridge: modules/consensus/grandpa/verifier/src/{lib,error}.rs.
 */
export type GrandpaErrorCode =
  /** The consensus proof is not the SCALE form of a message. */
  | "undecodable_message"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The kind of message is not the one for the tracked state machine. */
  | "wrong_variant"
  /** The message has no headers. */
  | "headers_empty"
  /** The highest header is not the block that is said to be final. */
  | "target_mismatch"
  /** The justification is not the SCALE form of one, or bytes follow it. */
  | "undecodable_justification"
  /** The justification is for another block. */
  | "justification_mismatch"
  /** The headers do not lead from the final block to the trusted one. */
  | "ancestry"
  /** The trusted set has no weight at all, or more than fits into 64 bits: no message can be accepted. */
  | "invalid_authorities"
  /** A voter is not in the set, or has no weight in it. */
  | "unknown_voter"
  /** A voter voted twice. */
  | "duplicate_vote"
  /** A vote is for a block that does not descend from the others'. */
  | "vote_ancestry"
  /** The votes for the block have too little weight. */
  | "too_few_votes"
  /** The votes make a block final that is not the one which the justification names, in hash and number. */
  | "target_not_final"
  | "signature"
  /** The votes are for different blocks, as happens in good justifications, too. */
  | "votes_differ"
  /** The justification has headers between votes that are all for one block. */
  | "unused_headers"
  /** Heads are proved at a block on the route whose header is missing in the message. */
  | "relay_header_missing"
  /** The nodes do not prove the heads. */
  | "heads_proof"
  /** The relay chain has no head of a listed parachain. */
  | "parachain_missing"
  /** A head is not a header. */
  | "undecodable_header"
  /** A header has no timestamp. */
  | "timestamp_missing"
  /** The verifying chain does not follow the standalone chain. */
  | "not_supported"
  /** The verifying chain has no hub, so the family of its parachains is not known. */
  | "coprocessor_missing";

/** A message that the verifier refuses. */
export class GrandpaError extends ClientError<GrandpaErrorCode> {
  override readonly name = "GrandpaError";
}

/** Index of a scheduled change. */
const SCHEDULED_CHANGE = 1;

/** Index of a forced change, which the clients do not follow. */
const FORCED_CHANGE = 2;

const scheduledChange = Struct({ nextAuthorities: grandpaAuthoritiesCodec, delay: u32 });

const forcedChange = Struct({ median: u32, change: scheduledChange });

/**
 * Voters that take over after this block; undefined when the block changes none. Other GRANDPA announcements may
 * precede the change (`OnDisabled`, when a validator is disabled in the first block of a session). The first readable
 * change counts: clients skip items that are no GRANDPA announcements, and ignore everything after a change. Source:
 * polytope-labs/hyperbridge: modules/consensus/grandpa/primitives/src/justification.rs (find_scheduled_change).
 */
export function scheduledAuthorities(
  header: Pick<SubstrateHeader, "digest">,
): readonly GrandpaAuthority[] | undefined {
  return firstChange(header, SCHEDULED_CHANGE, scheduledChange)?.nextAuthorities;
}

/**
 * True when the block forces a change of the voters, as a chain with stalled finality does: justifications of later
 * blocks are by voters that no client ever learns of.
 */
export function forcesChange(header: Pick<SubstrateHeader, "digest">): boolean {
  return firstChange(header, FORCED_CHANGE, forcedChange) !== undefined;
}

/** Returns the first readable announcement of a kind. */
function firstChange<T>(
  { digest }: Pick<SubstrateHeader, "digest">,
  kind: number,
  codec: Codec<T>,
): T | undefined {
  for (const item of digest) {
    if (item.kind !== "consensus" || item.engine !== GRANDPA_ENGINE || item.data[0] !== kind) continue;
    try {
      return decodePrefix(codec, item.data.slice(1), "ConsensusLog");
    } catch (error) {
      if (!(error instanceof ScaleError)) throw error;
    }
  }
  return undefined;
}
