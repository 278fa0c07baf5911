/**
 * Update of the hub's Polygon client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (PolygonConsensusUpdate),
 * modules/consensus/tendermint/primitives/src/verifier.rs (CodecConsensusProof).
 */
import { bytes, type Codec, list, Option, Struct, u64 } from "../../../../core/encoding/scale.ts";
import { type EvmBlockHeader, evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import { type CometCommit, cometCommitCodec } from "./comet_commit.ts";
import { type CometHeader, cometHeaderCodec } from "./comet_header.ts";
import { type HeimdallValidator, heimdallValidatorCodec } from "./heimdall_validators.ts";
import { type Milestone, milestoneCodec } from "./milestone.ts";

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
