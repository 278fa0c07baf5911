/**
 * Builds updates from the answers of L1 and L2 nodes. Checks only what the hub has no error for: verify the result
 * before sending it. Source: polytope-labs/hyperbridge: tesseract/consensus/arb-host/src/lib.rs
 * (fetch_arbitrum_bold_payload, fetch_arbitrum_payload).
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../core/evm/block_header.ts";
import type { AccountProofAnswer } from "../../../../core/merkle/evm_proof.ts";
import { accountNodesOf, slotNodesOf } from "../../../rollup/spec/l1_storage.ts";
import { RollupDataError } from "../../../rollup/spec/rollup_errors.ts";
import type { AssertionCreated, NodeCreated } from "./claim_events.ts";
import { assertionHash, assertionSlot, nodeSlot } from "./claim_hashes.ts";
import type { AssertionProof, GlobalState, NodeProof } from "./update.ts";

/** Slots of `eth_getProof` for the rollup, in the order that {@link buildAssertionProof} expects. */
export function assertionProofSlots(event: AssertionCreated): readonly Hash256[] {
  return [assertionSlot(event.assertionHash), assertionSlot(event.previousAssertionHash)];
}

/** Slots of `eth_getProof` for the rollup, as {@link buildNodeProof} expects. */
export function nodeProofSlots(event: NodeCreated): readonly Hash256[] {
  return [nodeSlot(event.nodeNumber)];
}

function checkBlock(header: EvmBlockHeader, state: GlobalState): void {
  if (hashBlockHeader(header) !== state.blockHash) throw new RollupDataError("wrong_block");
}

/**
 * Builds the proof of an assertion. @param parts.header of the block that {@link AssertionCreated.afterState} names.
 * @param parts.rollup answer of `eth_getProof` at the L1 height of the update. @throws {RollupDataError} `wrong_block`;
 * `false_claim` when the parts of the event do not hash to its name @throws {EvmProofError} malformed_answer
 */
export function buildAssertionProof(
  parts: {
    readonly event: AssertionCreated;
    readonly header: EvmBlockHeader;
    readonly rollup: AccountProofAnswer;
  },
): AssertionProof {
  const { event, header, rollup } = parts;
  if (assertionHash(event) !== event.assertionHash) throw new RollupDataError("false_claim");
  checkBlock(header, event.afterState.globalState);
  return {
    header,
    afterState: event.afterState,
    previousAssertionHash: event.previousAssertionHash,
    sequencerBatchAcc: event.sequencerBatchAcc,
    storageProof: slotNodesOf(rollup, 0),
    contractProof: accountNodesOf(rollup),
    challengeProof: slotNodesOf(rollup, 1),
  };
}

/**
 * Builds the proof of a node. @param parts.header of the block that {@link NodeCreated.globalState} names. @param
 * parts.rollup answer of `eth_getProof` at the L1 height of the update. @throws {RollupDataError} `wrong_block` @throws
 * {EvmProofError} malformed_answer
 */
export function buildNodeProof(
  parts: {
    readonly event: NodeCreated;
    readonly header: EvmBlockHeader;
    readonly rollup: AccountProofAnswer;
  },
): NodeProof {
  const { event, header, rollup } = parts;
  checkBlock(header, event.globalState);
  return {
    header,
    globalState: event.globalState,
    machineStatus: event.machineStatus,
    inboxMaxCount: event.inboxMaxCount,
    nodeNumber: event.nodeNumber,
    storageProof: slotNodesOf(rollup, 0),
    contractProof: accountNodesOf(rollup),
  };
}
