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
  type AssertionProof,
  blacklistedClaimKey,
  type GlobalState,
  type NodeProof,
} from "./spec/update.ts";
import { decodeArbitrumUpdate, verifyArbitrumUpdate } from "./spec/verify_update.ts";
import { type ClaimKind, type ClaimPoll, ClaimRefusal, type RollupDeps } from "../../rollup/claims.ts";
import { accountNodesOf, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { RollupDataError } from "../../rollup/spec/rollup_client.ts";
import { type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../core/evm/block_header.ts";
import type { AccountProofAnswer } from "../../../core/merkle/evm_proof.ts";

/** A claim with the L1 block of its log. */
interface FoundClaim<Event> {
  readonly event: Event;
  readonly l1Height: bigint;
}

type Poll = ClaimPoll<ArbitrumConsensusState>;

/** Kind of claims of an Arbitrum chain. */
export type ArbitrumClaimKind<Event> = ClaimKind<ArbitrumConsensusState, FoundClaim<Event>>;

/** Differences between the generations of the rollup contract. */
interface ClaimGeneration<Event> extends Pick<ArbitrumClaimKind<Event>, "noun" | "topic0"> {
  decode(...log: Parameters<ArbitrumClaimKind<Event>["decode"]>): Event | undefined;
  /** Place of a claim among others. */
  orderOf(claim: FoundClaim<Event>): bigint;
  /** Unique name within one contract. */
  nameOf(event: Event): string;
  /** Name of the claim in the hub's blacklist. */
  claimHash(event: Event): Hash256;
  /** Last block of the claim. */
  blockHash(event: Event): Hash256;
  /** Slot of the word that shows whether the claim is contested; absent: nothing shows it. */
  contestSlot?(event: Event): Hash256;
  /** Slots that {@link build} needs. */
  slots(event: Event): readonly Hash256[];
  /** @throws {RollupDataError | EvmProofError} */
  build(
    parts: { readonly event: Event; readonly header: EvmBlockHeader; readonly rollup: AccountProofAnswer },
  ): ArbitrumProof;
}

/** Reads words of the contract at the block that the hub knows. */
async function readWords(
  { contract: account, l1, view, signal }: Poll,
  slots: readonly Hash256[],
): Promise<readonly (Hash256 | undefined)[]> {
  const at = view.l1.height;
  const words = await l1.fetchReads(slots.map((slot) => ({ kind: "word", account, slot, at })), signal);
  return words.map((word) => word === undefined ? undefined : toHash256(word));
}

function claimsOf<Event>(
  { hub, l1, l2 }: RollupDeps,
  generation: ClaimGeneration<Event>,
): ArbitrumClaimKind<Event> {
  const describe = ({ event }: FoundClaim<Event>): string => generation.nameOf(event);
  return {
    ...generation,
    decode: (log, contract) => {
      const event = generation.decode(log, contract);
      return event && { event, l1Height: log.blockNumber };
    },
    keyOf: describe,
    describe,
    plan: async (open, poll, keep) => {
      const { view: { state, l1: { height } } } = poll;
      const keys = open.map(({ event }) =>
        blacklistedClaimKey(state.stateMachineId, generation.claimHash(event))
      );
      const blacklisted = await hub.reads.fetchStorage(keys, poll.signal);
      const isBlacklisted = (_: unknown, index: number): string | undefined =>
        blacklisted[index] && "blacklisted on the hub";
      const known = keep(
        keep(open, isBlacklisted, true),
        ({ l1Height }) => l1Height > height ? "newer than the L1 block that the hub knows" : undefined,
      );
      const { contestSlot } = generation;
      const words = contestSlot && await readWords(poll, known.map(({ event }) => contestSlot(event)));
      const sound = keep(known, (_, index) => words && contestReason(words[index]));
      return sound.toReversed().toSorted((a, b) => Number(generation.orderOf(b) - generation.orderOf(a)));
    },
    prove: async ({ event }, { view, contract, signal }) => {
      const found = await l2.fetchHeader(generation.blockHash(event), signal);
      if (found === undefined) throw new ClaimRefusal("block_does_not_exist", "claim");
      const { header } = found;
      // The hub stores nothing at or below its height.
      if (view.hubHeight !== undefined && header.number <= view.hubHeight) return undefined;
      const requests = [{ account: contract, slots: generation.slots(event) }];
      const [rollup] = await l1.fetchProofs(requests, view.l1, signal);
      if (rollup === undefined) throw new Error("A proof is missing");
      const proof = arbitrumUpdateCodec.enc({
        l1Height: view.l1.height,
        proof: generation.build({ event, header, rollup }),
      });
      verifyArbitrumUpdate(view.state, decodeArbitrumUpdate(proof), {
        l1StateRoot: view.l1.stateRoot,
        rollupCore: contract,
        blacklistedClaims: new Set(),
      });
      return { proof, height: header.number };
    },
  };
}

/** Assertions: challenged when their parent has a second child. */
export function assertionClaims(deps: RollupDeps): ArbitrumClaimKind<AssertionCreated> {
  return claimsOf(deps, {
    noun: "assertions",
    topic0: ASSERTION_CREATED,
    decode: (log, rollupCore) => {
      const event = decodeAssertionCreated(log, rollupCore);
      // The contract names assertions by this hash, so a log that does not match is forged.
      if (event !== undefined && assertionHash(event) !== event.assertionHash) {
        throw new RollupDataError("malformed_event");
      }
      return event;
    },
    nameOf: (event) => `assertion ${event.assertionHash}`,
    orderOf: ({ l1Height }) => l1Height,
    claimHash: (event) => event.assertionHash,
    blockHash: (event) => event.afterState.globalState.blockHash,
    contestSlot: (event) => assertionSlot(event.previousAssertionHash),
    slots: assertionProofSlots,
    build: (parts) => ({ tag: "ArbitrumBold", value: buildAssertionProof(parts) }),
  });
}

/** Nodes of rollup contracts that predate BoLD. */
export function nodeClaims(deps: RollupDeps): ArbitrumClaimKind<NodeCreated> {
  return claimsOf<NodeCreated>(deps, {
    noun: "nodes",
    topic0: NODE_CREATED,
    decode: decodeNodeCreated,
    nameOf: (event) => `node ${event.nodeNumber}`,
    orderOf: ({ event }) => event.nodeNumber,
    claimHash: nodeClaimHash,
    blockHash: (event) => event.globalState.blockHash,
    slots: nodeProofSlots,
    build: (parts) => ({ tag: "ArbitrumOrbit", value: buildNodeProof(parts) }),
  });
}

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
