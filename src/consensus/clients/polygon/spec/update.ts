/**
 * Update of the hub's Polygon client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (PolygonConsensusUpdate),
 * modules/consensus/tendermint/primitives/src/verifier.rs (CodecConsensusProof).
 */
import { cometCommitCodec, cometHeaderCodec, heimdallValidatorCodec, sizedHash } from "./comet_header.ts";
import { milestoneCodec } from "./milestone.ts";
import { bytes, hash256, list, Option, Struct, u32, u64, utf8Text } from "../../../../core/encoding/scale.ts";
import { evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import type { CodecType } from "scale-ts";

const signedHeaderCodec = Struct({ header: cometHeaderCodec, commit: cometCommitCodec });

/** A Heimdall header with the votes that make it final. */
export type SignedHeimdallHeader = Readonly<CodecType<typeof signedHeaderCodec>>;

const provenMilestoneCodec = Struct({
  borHeader: evmBlockHeaderCodec,
  number: u64,
  /** Protobuf of the proof that leads from the milestone to the state that the Heimdall header names. */
  proof: bytes,
  milestone: milestoneCodec,
});

/** A milestone with the Bor block that it makes final. */
export type ProvenMilestone = Readonly<CodecType<typeof provenMilestoneCodec>>;

/** SCALE of {@link PolygonUpdate}: about 25 KB with 105 validators. */
export const polygonUpdateCodec = Struct({
  signedHeader: signedHeaderCodec,
  /** Validators of the next block, which the header names by their hash. */
  nextValidators: Option(list(heimdallValidatorCodec)),
  /** `undefined`: no new Bor block becomes known. */
  milestone: Option(provenMilestoneCodec),
});

/** One step of the light client. */
export type PolygonUpdate = Readonly<CodecType<typeof polygonUpdateCodec>>;

const trustedHeimdallCodec = Struct({
  chainId: utf8Text,
  height: u64,
  /** Unix time in seconds. */
  timestampSec: u64,
  finalizedHeaderHash: hash256,
  /** Validators of that block. */
  validators: list(heimdallValidatorCodec),
  /** Validators of the block after it. */
  nextValidators: list(heimdallValidatorCodec),
  nextValidatorsHash: hash256,
  /** Seconds for which the header is trusted. */
  trustingPeriodSec: u64,
  options: Struct({
    /** Part of the next validators' power that must have signed a header further on. */
    trustNumerator: u64,
    trustDenominator: u64,
    clockDriftSec: u64,
  }),
});

/** Newest Heimdall header that the client trusts, and by which rules it trusts others. */
export type TrustedHeimdall = Readonly<CodecType<typeof trustedHeimdallCodec>>;

/** SCALE of {@link PolygonConsensusState}: 20 KB with 105 validators. */
export const polygonConsensusStateCodec = Struct({
  heimdall: trustedHeimdallCodec,
  /** Height of the newest Bor block. */
  finalizedBlock: u64,
  finalizedHash: sizedHash,
  /** Commitments are stored for `EVM-<chainId>`. */
  chainId: u32,
});

/** Consensus state of a Polygon client. */
export type PolygonConsensusState = Readonly<CodecType<typeof polygonConsensusStateCodec>>;

/** Seconds for which a Polygon client may go without an update, and for which a header is trusted (82 hours). */
export const POLYGON_UNBONDING_SEC = 295_200n;

/** Seconds for which commitments may be challenged. */
export const POLYGON_CHALLENGE_SEC = 120n;

/** Rules of a new client: two thirds, and three minutes. */
export const DEFAULT_TRUST: TrustedHeimdall["options"] = {
  trustNumerator: 2n,
  trustDenominator: 3n,
  clockDriftSec: 180n,
};

/**
 * A Polygon chain that the hub's client was built for, with the Heimdall chain that finalizes it. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/polygon/src/lib.rs, tesseract/consensus/polygon/src/lib.rs.
 */
export interface PolygonNetwork {
  /** Chain id of Bor, the EVM chain. */
  readonly chainId: number;
  /** Name of the Heimdall chain, which its validators sign. */
  readonly heimdallChain: string;
}

const CHAIN_IDS: readonly number[] = [137, 80002];

/** Finds the network of an EVM chain; `undefined`: the hub's client does not know it. */
export function findPolygonNetwork(chainId: number): PolygonNetwork | undefined {
  return CHAIN_IDS.includes(chainId) ? { chainId, heimdallChain: `heimdallv2-${chainId}` } : undefined;
}
