/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/polygon/src/lib.rs (verify_consensus),
 * modules/consensus/tendermint/verifier/src/verifier.rs (verify_header_update).
 */
import { type Codec, decodeStrict, ScaleError } from "../../../../core/encoding/scale.ts";
import { hashBlockHeader } from "../../../../core/evm/block_header.ts";
import type { IntermediateState } from "../../../../core/ismp/state_commitment.ts";
import { type ConsensusStateId, evmStateMachine } from "../../../../core/ismp/state_machine.ts";
import { hashCometHeader } from "./comet_header.ts";
import { parseCometTime } from "./comet_time.ts";
import { requireProven } from "./commitment_proof.ts";
import { type PolygonConsensusState, polygonConsensusStateCodec } from "./consensus_state.ts";
import { encodeMilestone, MILESTONE_STORE, milestoneKey } from "./milestone.ts";
import { PolygonError, type PolygonErrorCode } from "./polygon_error.ts";
import { type PolygonUpdate, polygonUpdateCodec, type ProvenMilestone } from "./update.ts";
import { requireValues } from "./update_values.ts";
import { verifyHeimdallHeader } from "./verify_heimdall.ts";

/** State of the hub besides the trusted state that an update is verified against. */
export interface PolygonHubView {
  /** Clock of the hub, Unix seconds. */
  readonly nowSec: bigint;
  /** Id under which the client and its commitments are stored, e.g. `POLY`. */
  readonly consensusStateId: ConsensusStateId;
}

/** Result of an accepted update. */
export interface VerifiedPolygonUpdate {
  readonly consensusState: PolygonConsensusState;
  /** State of the newest Bor block; `undefined`: the update brings none. */
  readonly commitment: IntermediateState | undefined;
}

/** Decodes a consensus state as the hub stores it. @throws {PolygonError} `undecodable_state` */
export function decodePolygonState(bytes: Uint8Array): PolygonConsensusState {
  return decode(polygonConsensusStateCodec, bytes, "undecodable_state");
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {PolygonError}
 * `undecodable_update`
 */
export function decodePolygonUpdate(bytes: Uint8Array): PolygonUpdate {
  return decode(polygonUpdateCodec, bytes, "undecodable_update");
}

function decode<T>(codec: Codec<T>, bytes: Uint8Array, code: PolygonErrorCode): T {
  try {
    return decodeStrict(codec, bytes, code);
  } catch (cause) {
    if (cause instanceof ScaleError) throw new PolygonError(code, { cause });
    throw cause;
  }
}

/** Verifies an update as the hub does. @throws {PolygonError} */
export function verifyPolygonUpdate(
  trusted: PolygonConsensusState,
  update: PolygonUpdate,
  { nowSec, consensusStateId }: PolygonHubView,
): VerifiedPolygonUpdate {
  requireValues(trusted.heimdall, update);
  const rotation = verifyHeimdallHeader(trusted.heimdall, update, nowSec);
  const { header } = update.signedHeader;
  const heimdall = {
    ...trusted.heimdall,
    ...rotation,
    chainId: header.chainId,
    height: header.height,
    timestampSec: parseCometTime(header.time).seconds,
    finalizedHeaderHash: hashCometHeader(header),
  };
  if (update.milestone === undefined) {
    return { consensusState: { ...trusted, heimdall }, commitment: undefined };
  }
  const { borHeader, milestone } = update.milestone;
  verifyMilestone(trusted, update, update.milestone);
  const finalizedBlock = BigInt.asUintN(64, borHeader.number);
  return {
    consensusState: { ...trusted, heimdall, finalizedBlock, finalizedHash: milestone.hash },
    commitment: {
      height: {
        id: { stateMachine: evmStateMachine(trusted.chainId), consensusStateId },
        height: finalizedBlock,
      },
      commitment: {
        timestampSec: borHeader.timestampSec,
        overlayRoot: undefined,
        stateRoot: borHeader.stateRoot,
      },
    },
  };
}

function verifyMilestone(
  { finalizedBlock }: PolygonConsensusState,
  { signedHeader: { header } }: PolygonUpdate,
  { borHeader, number, proof, milestone }: ProvenMilestone,
): void {
  // The hub reads the lower 64 bits.
  const height = BigInt.asUintN(64, borHeader.number);
  if (hashBlockHeader(borHeader) !== milestone.hash) throw new PolygonError("bor_hash");
  if (milestone.endBlock !== height) throw new PolygonError("milestone_end");
  if (height < finalizedBlock) throw new PolygonError("stale_bor_header");
  const entry = { store: MILESTONE_STORE, key: milestoneKey(number), value: encodeMilestone(milestone) };
  requireProven(proof, header.appHash, entry);
}
