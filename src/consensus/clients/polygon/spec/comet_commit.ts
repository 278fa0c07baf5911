/**
 * Votes of Heimdall's validators for a block, and the bytes that they sign. Source: 0xPolygon/cometbft:
 * types/canonical.go, types/vote.go (VoteSignBytes); polytope-labs/hyperbridge:
 * modules/consensus/tendermint/primitives/src/verifier.rs (CodecCommit).
 */
import { concatBytes } from "../../../../core/encoding/bytes.ts";
import {
  bytes,
  type Codec,
  Enum,
  list,
  nothing,
  Option,
  Struct,
  u32,
  u64,
  utf8Text,
} from "../../../../core/encoding/scale.ts";
import type { Address } from "../../../../core/evm/address.ts";
import {
  type CometBlockId,
  cometBlockIdCodec,
  encodeBlockId,
  encodeCometTime,
  parseCometTime,
  sizedAddress,
} from "./comet_header.ts";
import { dataField, fixed64Field, integerField, lengthPrefixed, messageField } from "./protobuf.ts";

/** A vote, for the block or for none. */
export interface CometVote {
  readonly validatorAddress: Address;
  /** RFC 3339 in UTC. */
  readonly timestamp: string;
  /** 64 bytes: r and s. */
  readonly signature: Uint8Array | undefined;
}

/** Entry of a validator in a commit. */
export type CometCommitSig =
  /** No vote was received. */
  | { readonly tag: "absent"; readonly value: undefined }
  /** A vote for the block. */
  | { readonly tag: "commit"; readonly value: CometVote }
  /** A vote for no block. */
  | { readonly tag: "nil"; readonly value: CometVote };

/** What makes a block final: an entry per validator, in the order of the set. */
export interface CometCommit {
  readonly height: bigint;
  readonly round: number;
  readonly blockId: CometBlockId;
  readonly signatures: readonly CometCommitSig[];
}

const voteCodec: Codec<CometVote> = Struct({
  validatorAddress: sizedAddress,
  timestamp: utf8Text,
  signature: Option(bytes),
});

const commitSigCodec: Codec<CometCommitSig> = Enum({
  absent: nothing,
  commit: voteCodec,
  nil: voteCodec,
});

/** SCALE of {@link CometCommit}: about 120 bytes per vote. */
export const cometCommitCodec: Codec<CometCommit> = Struct({
  height: u64,
  round: u32,
  blockId: cometBlockIdCodec,
  signatures: list(commitSigCodec),
});

/** Type of a vote that makes a block final. */
const PRECOMMIT = 2;

/**
 * Bytes that a validator signs who votes for the commit's block: the length of `CanonicalVote`, and its Protobuf form,
 * in which numbers that are zero are omitted. @throws {PolygonError} `time`
 */
export function voteSignBytes(
  chainId: string,
  { height, round, blockId }: Omit<CometCommit, "signatures">,
  timestamp: string,
): Uint8Array {
  return lengthPrefixed(concatBytes(
    integerField(1, PRECOMMIT),
    fixed64Field(2, height),
    fixed64Field(3, BigInt(round)),
    messageField(4, encodeBlockId(blockId)),
    messageField(5, encodeCometTime(parseCometTime(timestamp))),
    dataField(6, chainId),
  ));
}
