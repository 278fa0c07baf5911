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
import { assertionHash, assertionSlot, contestReason, nodeClaimHash, nodeSlot } from "./spec/claim_hashes.ts";
import {
  type ArbitrumConsensusState,
  type ArbitrumProof,
  arbitrumUpdateCodec,
  blacklistedClaimKey,
} from "./spec/update.ts";
import { decodeArbitrumUpdate, verifyArbitrumUpdate } from "./spec/verify_update.ts";
import { type ClaimKind, ClaimRefusal, type RollupDeps } from "../../rollup/claims.ts";
import type { RollupClaim } from "../../rollup/claim_search.ts";
import { accountNodesOf, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { RollupDataError } from "../../rollup/spec/rollup_client.ts";
import { type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import type { Address } from "../../../core/evm/address.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../core/evm/block_header.ts";
import type { AccountProofAnswer } from "../../../core/merkle/evm_proof.ts";
import type { StateMachineId } from "../../../core/ismp/state_machine.ts";

/** A claim with what its proof is made of. */
export interface ArbitrumClaim extends RollupClaim {
  /** Place among others. */
  readonly order: bigint;
  /** Name in the hub's blacklist. */
  readonly claimHash: Hash256;
  /** Last block of the claim. */
  readonly blockHash: Hash256;
  /** Slots of `eth_getProof` for the rollup, as {@link build} needs them. */
  readonly slots: readonly Hash256[];
  /** Slot of the word that shows whether the claim is contested; absent: nothing shows it. */
  readonly contestSlot?: Hash256;
  /**
   * Builds the proof. @param parts.header the last block. @param parts.rollup answer of `eth_getProof` at the L1 height of
   * the update. @throws {RollupDataError} `wrong_block` @throws {EvmProofError} malformed_answer
   */
  build(parts: { readonly header: EvmBlockHeader; readonly rollup: AccountProofAnswer }): ArbitrumProof;
}

/** An assertion, which is challenged when its parent has a second child. */
export function assertionClaim(event: AssertionCreated): Omit<ArbitrumClaim, keyof RollupClaim | "order"> {
  const { globalState } = event.afterState;
  const parent = assertionSlot(event.previousAssertionHash);
  return {
    claimHash: event.assertionHash,
    blockHash: globalState.blockHash,
    slots: [assertionSlot(event.assertionHash), parent],
    contestSlot: parent,
    build: ({ header, rollup }) => {
      requireBlock(header, globalState.blockHash);
      const { afterState, previousAssertionHash, sequencerBatchAcc } = event;
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
export function nodeClaim(event: NodeCreated): Omit<ArbitrumClaim, keyof RollupClaim | "order"> {
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

type DecodeClaim = ClaimKind<ArbitrumClaim>["decode"];

/** Generations of the rollup contract. @param contract lower case @param id under the rollup's own client */
function generationOf(
  isOrbit: boolean,
  contract: Address,
  id: StateMachineId,
): Pick<ClaimKind<ArbitrumClaim>, "noun" | "topic0" | "decode"> {
  const blacklisted = (
    { claimHash }: Pick<ArbitrumClaim, "claimHash">,
  ): Pick<RollupClaim, "blacklistKey"> => ({
    blacklistKey: blacklistedClaimKey(id, claimHash),
  });
  const decodeNode: DecodeClaim = (log) => {
    const event = decodeNodeCreated(log, contract);
    if (event === undefined) return undefined;
    const claim = nodeClaim(event);
    const { nodeNumber: order } = event;
    return { ...claim, ...blacklisted(claim), name: `node ${order}`, order, l1Height: log.blockNumber };
  };
  const decodeAssertion: DecodeClaim = (log) => {
    const event = decodeAssertionCreated(log, contract);
    if (event === undefined) return undefined;
    // The contract names assertions by this hash, so a log that does not match is forged.
    if (assertionHash(event) !== event.assertionHash) throw new RollupDataError("malformed_event");
    const claim = assertionClaim(event);
    const { blockNumber: l1Height } = log;
    const name = `assertion ${event.assertionHash}`;
    return { ...claim, ...blacklisted(claim), name, order: l1Height, l1Height };
  };
  return isOrbit
    ? { noun: "nodes", topic0: NODE_CREATED, decode: decodeNode }
    : { noun: "assertions", topic0: ASSERTION_CREATED, decode: decodeAssertion };
}

/** Claims in a rollup contract of the generation that the client's state names. */
export function arbitrumClaims(
  { l2 }: Pick<RollupDeps, "l2">,
  state: ArbitrumConsensusState,
  contract: Address,
): ClaimKind<ArbitrumClaim> {
  return {
    ...generationOf(state.consensusType === "ArbitrumOrbit", contract, state.stateMachineId),
    contract,
    plan: async (open, keep, { l1, block: { height: at }, signal }) => {
      const reads = open.flatMap(({ contestSlot: slot }) =>
        slot === undefined ? [] : [{ kind: "word", account: contract, slot, at } as const]
      );
      const words = await l1.fetchReads(reads, signal);
      const reasonAgainst = (claim: ArbitrumClaim, index: number): string | undefined => {
        const word = words[index];
        return claim.contestSlot && contestReason(word === undefined ? undefined : toHash256(word));
      };
      return keep(open, reasonAgainst).toReversed().toSorted((a, b) => Number(b.order - a.order));
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
