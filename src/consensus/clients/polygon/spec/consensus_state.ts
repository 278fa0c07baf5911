/**
 * Consensus state of Polygon on the hub, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (ConsensusState),
 * modules/consensus/tendermint/primitives/src/verifier.rs (CodecTrustedState, VerificationOptions),
 * tesseract/consensus/polygon/src/lib.rs (initial state).
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type Codec, hash256, list, Struct, u32, u64, utf8Text } from "../../../../core/encoding/scale.ts";
import { sizedHash } from "./comet_header.ts";
import { type HeimdallValidator, heimdallValidatorCodec } from "./heimdall_validators.ts";

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
