/**
 * The hub's client of Polygon. Written for the hub alone, with other libraries and without the relayer's code: a mistake of
 * the relayer's verifier is none of the hub's. Rules: docs/protocol/polygon.md section 3; polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (verify_consensus).
 */
import { equalBytes, fromHex } from "../../../../src/core/encoding/bytes.ts";
import { type Codec, decodePrefix, ScaleError } from "../../../../src/core/encoding/scale.ts";
import { hashBlockHeader } from "../../../../src/core/evm/block_header.ts";
import type { ConsensusStateId, IntermediateState } from "../../../../src/core/ismp/state_machine.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { followHeader } from "./heimdall_finality.ts";
import { stateLayout, updateLayout } from "./layouts.ts";
import { requireEntry, storedMilestone } from "./milestone_proof.ts";
import { PolygonRefusal, type PolygonRefusalCode, require } from "./polygon_refusal.ts";

/** An update, and by what it is judged. */
export interface PolygonQuestion {
  /** SCALE of the client's state, and of the update. */
  readonly trusted: Uint8Array;
  readonly proof: Uint8Array;
  readonly stateId: ConsensusStateId;
  readonly nowSec: bigint;
}

/** What the client stores. */
export interface PolygonAnswer {
  readonly state: Uint8Array;
  readonly commitment: IntermediateState | undefined;
}

/** What the hub makes of an update. @throws {PolygonRefusal} */
export function checkPolygonUpdate({ trusted, proof, stateId, nowSec }: PolygonQuestion): PolygonAnswer {
  // What follows an update is not looked at.
  const update = read(updateLayout, proof, "DecodeConsensusUpdate");
  const state = read(stateLayout, trusted, "DecodeConsensusState");
  const tendermint = followHeader(state.tendermint, update, nowSec);
  if (update.milestone === undefined) {
    return { state: stateLayout.enc({ ...state, tendermint }), commitment: undefined };
  }
  const { evmHeader, milestone, number, proof: stateProof } = update.milestone;
  const height = evmHeader.number % 2n ** 64n;
  const hash = fromHex(hashBlockHeader(evmHeader));
  require(equalBytes(hash, milestone.hash), "EvmHeaderHashMismatch");
  require(height === milestone.endBlock, "MilestoneEndBlockMismatch");
  require(height >= state.lastFinalizedBlock, "EvmHeaderBehindFinalized");
  requireEntry(stateProof, update.header.appHash, storedMilestone(number, milestone));
  return {
    state: stateLayout.enc({
      tendermint,
      lastFinalizedBlock: height,
      lastFinalizedHash: hash,
      chainId: state.chainId,
    }),
    commitment: {
      height: { id: { stateMachine: evmStateMachine(state.chainId), consensusStateId: stateId }, height },
      commitment: {
        timestampSec: evmHeader.timestampSec,
        overlayRoot: undefined,
        stateRoot: evmHeader.stateRoot,
      },
    },
  };
}

function read<T>(codec: Codec<T>, bytes: Uint8Array, code: PolygonRefusalCode): T {
  try {
    return decodePrefix(codec, bytes, code);
  } catch (cause) {
    if (cause instanceof ScaleError) throw new PolygonRefusal(code, { cause });
    throw cause;
  }
}
