/**
 * Update of the hub's Polygon client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (PolygonConsensusUpdate),
 * modules/consensus/tendermint/primitives/src/verifier.rs (CodecConsensusProof).
 */
import {
  type CometCommit,
  cometCommitCodec,
  type CometHeader,
  cometHeaderCodec,
  type HeimdallValidator,
  heimdallValidatorCodec,
  sizedHash,
} from "./comet_header.ts";
import { type Milestone, milestoneCodec } from "./milestone.ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  bytes,
  type Codec,
  hash256,
  list,
  Option,
  Struct,
  u32,
  u64,
  utf8Text,
} from "../../../../core/encoding/scale.ts";
import { type EvmBlockHeader, evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";

/** A Heimdall header with the votes that make it final. */
export interface SignedHeimdallHeader {
  readonly header: CometHeader;
  readonly commit: CometCommit;
}

/** A milestone with the Bor block that it makes final. */
export interface ProvenMilestone {
  readonly borHeader: EvmBlockHeader;
  readonly number: bigint;
  /** Protobuf of the proof that leads from the milestone to the state that the Heimdall header names. */
  readonly proof: Uint8Array;
  readonly milestone: Milestone;
}

/** One step of the light client. */
export interface PolygonUpdate {
  readonly signedHeader: SignedHeimdallHeader;
  /** Validators of the next block, which the header names by their hash. */
  readonly nextValidators: readonly HeimdallValidator[] | undefined;
  /** `undefined`: no new Bor block becomes known. */
  readonly milestone: ProvenMilestone | undefined;
}

/** SCALE of {@link PolygonUpdate}: about 25 KB with 105 validators. */
export const polygonUpdateCodec: Codec<PolygonUpdate> = Struct({
  signedHeader: Struct({ header: cometHeaderCodec, commit: cometCommitCodec }),
  nextValidators: Option(list(heimdallValidatorCodec)),
  milestone: Option(
    Struct({ borHeader: evmBlockHeaderCodec, number: u64, proof: bytes, milestone: milestoneCodec }),
  ),
});

/** Newest Heimdall header that the client trusts, and by which rules it trusts others. */
export interface TrustedHeimdall {
  readonly chainId: string;
  readonly height: bigint;
  /** Unix time in seconds. */
  readonly timestampSec: bigint;
  readonly finalizedHeaderHash: Hash256;
  /** Validators of that block. */
  readonly validators: readonly HeimdallValidator[];
  /** Validators of the block after it. */
  readonly nextValidators: readonly HeimdallValidator[];
  readonly nextValidatorsHash: Hash256;
  /** Seconds for which the header is trusted. */
  readonly trustingPeriodSec: bigint;
  readonly options: {
    /** Part of the next validators' power that must have signed a header further on. */
    readonly trustNumerator: bigint;
    readonly trustDenominator: bigint;
    readonly clockDriftSec: bigint;
  };
}

/** Consensus state of a Polygon client. */
export interface PolygonConsensusState {
  readonly heimdall: TrustedHeimdall;
  /** Height of the newest Bor block. */
  readonly finalizedBlock: bigint;
  readonly finalizedHash: Hash256;
  /** Commitments are stored for `EVM-<chainId>`. */
  readonly chainId: number;
}

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

/** SCALE of {@link PolygonConsensusState}: 20 KB with 105 validators. */
export const polygonConsensusStateCodec: Codec<PolygonConsensusState> = Struct({
  heimdall: Struct({
    chainId: utf8Text,
    height: u64,
    timestampSec: u64,
    finalizedHeaderHash: hash256,
    validators: list(heimdallValidatorCodec),
    nextValidators: list(heimdallValidatorCodec),
    nextValidatorsHash: hash256,
    trustingPeriodSec: u64,
    options: Struct({ trustNumerator: u64, trustDenominator: u64, clockDriftSec: u64 }),
  }),
  finalizedBlock: u64,
  finalizedHash: sizedHash,
  chainId: u32,
});

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
