/**
 * Claims of a rollup contract: assertions of one with BoLD, nodes of an older one. The newest that nobody contests is
 * proved.
 */
import {
  ASSERTION_CREATED,
  type AssertionCreated,
  decodeAssertionCreated,
  decodeNodeCreated,
  NODE_CREATED,
  type NodeCreated,
} from "./spec/claim_events.ts";
import { assertionHash, assertionSlot, nodeClaimHash, nodeSlot } from "./spec/claim_hashes.ts";
import {
  type ArbitrumConsensusState,
  type ArbitrumProof,
  arbitrumUpdateCodec,
  blacklistedClaimKey,
} from "./spec/update.ts";
import { decodeArbitrumUpdate, verifyArbitrumUpdate } from "./spec/verify_update.ts";
import {
  type ClaimKind,
  type ClaimLog,
  ClaimRefusal,
  type RollupClaim,
  type RollupDeps,
} from "../../rollup/claims.ts";
import { accountNodesOf, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { RollupDataError } from "../../rollup/spec/rollup_client.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { Address } from "../../../core/evm/address.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../core/evm/block_header.ts";
import type { AccountProofAnswer } from "../../../core/merkle/evm_proof.ts";

/** A claim with what its proof is made of. */
export interface ArbitrumClaim {
  /** Name in the hub's blacklist. */
  readonly claimHash: Hash256;
  /** Last block of the claim. */
  readonly blockHash: Hash256;
  /** Slots of `eth_getProof` for the rollup, as {@link build} needs them. */
  readonly slots: readonly Hash256[];
  /**
   * Builds the proof. @param parts.header the last block. @param parts.rollup answer of `eth_getProof` at the L1 height of
   * the update. @throws {RollupDataError} `wrong_block` @throws {EvmProofError} malformed_answer
   */
  build(parts: { readonly header: EvmBlockHeader; readonly rollup: AccountProofAnswer }): ArbitrumProof;
}

/** An assertion, which is challenged when its parent has a second child. */
export function assertionClaim(event: AssertionCreated): ArbitrumClaim {
  const { assertionHash: claimHash, afterState, previousAssertionHash, sequencerBatchAcc } = event;
  const { blockHash } = afterState.globalState;
  return {
    claimHash,
    blockHash,
    slots: [assertionSlot(claimHash), assertionSlot(previousAssertionHash)],
    build: ({ header, rollup }) => {
      requireBlock(header, blockHash);
      const value = {
        header,
        afterState,
        previousAssertionHash,
        sequencerBatchAcc,
        storageProof: slotNodesOf(rollup, 0),
        contractProof: accountNodesOf(rollup),
        challengeProof: slotNodesOf(rollup, 1),
      };
      return { tag: "ArbitrumBold", value };
    },
  };
}

/** A node of a rollup contract that predates BoLD. */
export function nodeClaim(event: NodeCreated): ArbitrumClaim {
  const { globalState, machineStatus, inboxMaxCount, nodeNumber } = event;
  return {
    claimHash: nodeClaimHash(event),
    blockHash: globalState.blockHash,
    slots: [nodeSlot(nodeNumber)],
    build: ({ header, rollup }) => {
      requireBlock(header, globalState.blockHash);
      const [storageProof, contractProof] = [slotNodesOf(rollup, 0), accountNodesOf(rollup)];
      const state = { globalState, machineStatus, inboxMaxCount, nodeNumber };
      return { tag: "ArbitrumOrbit", value: { header, ...state, storageProof, contractProof } };
    },
  };
}

function requireBlock(header: EvmBlockHeader, blockHash: Hash256): void {
  if (hashBlockHeader(header) !== blockHash) throw new RollupDataError("wrong_block");
}

/** Reads a claim with its name; `undefined` for other logs. @throws {RollupDataError} `malformed_event` */
type ReadClaim = (log: ClaimLog, contract: Address) => ArbitrumClaim & { readonly name: string } | undefined;

const readNode: ReadClaim = (log, contract) => {
  const event = decodeNodeCreated(log, contract);
  return event && { ...nodeClaim(event), name: `node ${event.nodeNumber}` };
};

const readAssertion: ReadClaim = (log, contract) => {
  const event = decodeAssertionCreated(log, contract);
  if (event === undefined) return undefined;
  // The contract names assertions by this hash, so a log that does not match is forged.
  if (assertionHash(event) !== event.assertionHash) throw new RollupDataError("malformed_event");
  return { ...assertionClaim(event), name: `assertion ${event.assertionHash}` };
};

/** Claims in a rollup contract of the generation that the client's state names. @param contract lower case */
export function arbitrumClaims(
  { l2 }: Pick<RollupDeps, "l2">,
  state: ArbitrumConsensusState,
  contract: Address,
): ClaimKind<ArbitrumClaim & RollupClaim> {
  const generation = state.consensusType === "ArbitrumOrbit"
    ? { noun: "nodes", topic0: NODE_CREATED, read: readNode }
    : { noun: "assertions", topic0: ASSERTION_CREATED, read: readAssertion };
  return {
    ...generation,
    contract,
    decode: (log) => {
      const claim = generation.read(log, contract);
      const { stateMachineId: id } = state;
      return claim && { ...claim, log, blacklistKey: blacklistedClaimKey(id, claim.claimHash) };
    },
    plan: (open) => {
      const newestFirst = open.toReversed().toSorted((a, b) => Number(b.log.blockNumber - a.log.blockNumber));
      return Promise.resolve(newestFirst);
    },
    prove: async (claim, { l1, block, hubHeight, signal }) => {
      const found = await l2.fetchHeader(claim.blockHash, signal);
      if (found === undefined) throw new ClaimRefusal("block_does_not_exist", "claim");
      const { header } = found;
      // The hub stores nothing at or below its height.
      if (hubHeight !== undefined && header.number <= hubHeight) return undefined;
      const [rollup] = await l1.fetchProofs([{ account: contract, slots: claim.slots }], block, signal);
      if (rollup === undefined) throw new Error("A proof is missing");
      const update = { l1Height: block.height, proof: claim.build({ header, rollup }) };
      const proof = arbitrumUpdateCodec.enc(update);
      verifyArbitrumUpdate(state, decodeArbitrumUpdate(proof), {
        l1StateRoot: block.stateRoot,
        rollupCore: contract,
        blacklistedClaims: new Set(),
      });
      return { proof, height: header.number };
    },
  };
}
