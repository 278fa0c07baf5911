/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/ismp-optimism/src/lib.rs (verify_consensus),
 * modules/ismp/clients/optimism/src/lib.rs.
 */
import { fromHex, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import { hashBlockHeader } from "../../../../core/evm/block_header.ts";
import { decodeStrict, ScaleError } from "../../../../core/encoding/scale.ts";
import { provenStorageRoot, provenWord } from "../../../rollup/spec/l1_storage.ts";
import { rollupCommitment, type VerifiedRollupUpdate } from "../../../rollup/spec/rollup_client.ts";
import {
  type DisputeGameKind,
  type OpStackConsensusState,
  opStackConsensusStateCodec,
  opStackStatePrefixCodec,
} from "./consensus_state.ts";
import type { DisputeGameRules } from "./hub_storage.ts";
import { fromOpStackProof, OpStackError } from "./op_stack_error.ts";
import {
  challengeSlot,
  challengeStatus,
  disputeGameSlot,
  gameIdWord,
  gameImplementationSlot,
  gameUuid,
  outputRoot,
  outputSlots,
} from "./output_root.ts";
import {
  type DisputeGameProof,
  type OpStackUpdate,
  opStackUpdateCodec,
  type OutputOracleProof,
} from "./update.ts";

/** State of the hub that an update is verified against. */
export interface OpStackHubView {
  /** State root of the L1's commitment at the update's L1 height; undefined when the hub has none. */
  readonly l1StateRoot: Hash256 | undefined;
  /** Undefined when the hub has none: then games are accepted and ignored. */
  readonly disputeGames: DisputeGameRules | undefined;
  /** Undefined when the hub has none: then outputs are accepted and ignored. */
  readonly outputOracle: Address | undefined;
  /** Contains at least the blacklisted ones among the games in question. */
  readonly blacklistedGames: ReadonlySet<Address>;
}

/** The claimed block, as far as the hub stores it. */
interface ClaimedBlock {
  readonly height: bigint;
  readonly timestampSec: bigint;
  readonly stateRoot: Hash256;
}

/**
 * Decodes a consensus state as the hub does: unreadable data after the first four fields is dropped, since older states
 * end differently, and trailing bytes are ignored. @throws {OpStackError} `undecodable_state`
 */
export function decodeOpStackState(stored: Uint8Array): OpStackConsensusState {
  const bytes = new Uint8Array(stored);
  try {
    return opStackConsensusStateCodec.dec(bytes);
  } catch {
    return { ...decodeStatePrefix(bytes), gameTypeConfigs: undefined };
  }
}

function decodeStatePrefix(bytes: Uint8Array): Omit<OpStackConsensusState, "gameTypeConfigs"> {
  try {
    return opStackStatePrefixCodec.dec(bytes);
  } catch (cause) {
    throw new OpStackError("undecodable_state", { cause });
  }
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {OpStackError}
 * `undecodable_update`
 */
export function decodeOpStackUpdate(bytes: Uint8Array): OpStackUpdate {
  try {
    return decodeStrict(opStackUpdateCodec, bytes, "OptimismUpdate");
  } catch (cause) {
    if (cause instanceof ScaleError) throw new OpStackError("undecodable_update", { cause });
    throw cause;
  }
}

/**
 * Verifies an update as the hub does. @throws {OpStackError}
 */
export function verifyOpStackUpdate(
  trusted: OpStackConsensusState,
  update: OpStackUpdate,
  hub: OpStackHubView,
): VerifiedRollupUpdate<OpStackConsensusState> {
  if (hub.l1StateRoot === undefined) throw new OpStackError("l1_commitment_missing");
  const block = verifyProof(update, hub.l1StateRoot, hub);
  if (block === undefined) return { consensusState: trusted, commitment: undefined };
  const commitment = rollupCommitment(trusted, block);
  return { consensusState: { ...trusted, finalizedHeight: commitment.height.height }, commitment };
}

function verifyProof(
  { proof }: OpStackUpdate,
  l1StateRoot: Hash256,
  hub: OpStackHubView,
): ClaimedBlock | undefined {
  switch (proof.tag) {
    case "OpL2Oracle":
      return hub.outputOracle && verifyOutput(proof.value, l1StateRoot, hub.outputOracle);
    case "OpFaultProofGames":
      if (hub.disputeGames === undefined) return undefined;
      if (hub.blacklistedGames.has(proof.value.proxy)) throw new OpStackError("game_blacklisted");
      return verifyDisputeGame(proof.value, l1StateRoot, hub.disputeGames);
  }
}

function verifyDisputeGame(
  proof: DisputeGameProof,
  l1StateRoot: Hash256,
  rules: DisputeGameRules,
): ClaimedBlock {
  const config = rules.gameTypes.find(({ gameType }) => gameType === proof.gameType);
  if (config === undefined) throw new OpStackError("unsupported_game_type");
  const factoryRoot = fromOpStackProof(
    "factory_proof",
    () => provenStorageRoot(proof.disputeFactoryProof, l1StateRoot, rules.factory),
  );
  checkGame(proof, factoryRoot);
  checkImplementation(proof, factoryRoot, config.expectedImplementation);
  checkNotChallenged(proof, l1StateRoot, config.kind);
  const { number, timestampSec, stateRoot } = proof.header;
  return { height: number, timestampSec, stateRoot };
}

/** Checks that the factory created this game for the claim that follows from the block. */
function checkGame(proof: DisputeGameProof, factoryRoot: Hash256): void {
  const claim = outputRoot({
    version: proof.version,
    stateRoot: proof.header.stateRoot,
    withdrawalStorageRoot: proof.withdrawalStorageRoot,
    blockHash: hashBlockHeader(proof.header),
  });
  const slot = disputeGameSlot(gameUuid(proof.gameType, claim, proof.extraData));
  const id = fromOpStackProof("game_proof", () => provenWord(proof.disputeGameProof, factoryRoot, slot));
  if (id === undefined) throw new OpStackError("game_missing");
  if (id !== gameIdWord(proof)) throw new OpStackError("game_mismatch");
}

/** Checks the implementation: otherwise the challenge slot could mean anything. */
function checkImplementation(proof: DisputeGameProof, factoryRoot: Hash256, expected: Address): void {
  const slot = gameImplementationSlot(proof.gameType);
  const found = fromOpStackProof(
    "implementation_proof",
    () => provenWord(proof.gameImplProof, factoryRoot, slot),
  );
  if (found === undefined) throw new OpStackError("implementation_missing");
  if (toAddress(fromHex(found).subarray(12)) !== expected) throw new OpStackError("implementation_mismatch");
}

function checkNotChallenged(proof: DisputeGameProof, l1StateRoot: Hash256, kind: DisputeGameKind): void {
  const slot = challengeSlot(kind);
  if (slot === undefined) return;
  const root = fromOpStackProof(
    "proxy_proof",
    () => provenStorageRoot(proof.proxyAccountProof, l1StateRoot, proof.proxy),
  );
  const value = fromOpStackProof("challenge_proof", () => provenWord(proof.challengeProof, root, slot));
  const status = challengeStatus(kind, value);
  if (status === "missing") throw new OpStackError("challenge_missing");
  if (status === "challenged") throw new OpStackError("game_challenged");
}

function verifyOutput(proof: OutputOracleProof, l1StateRoot: Hash256, oracle: Address): ClaimedBlock {
  const oracleRoot = fromOpStackProof(
    "oracle_proof",
    () => provenStorageRoot(proof.l2OracleProof, l1StateRoot, oracle),
  );
  const slots = outputSlots(proof.outputRootIndex);
  const root = fromOpStackProof(
    "output_proof",
    () => provenWord(proof.outputRootProof, oracleRoot, slots.root),
  );
  if (root === undefined) throw new OpStackError("output_missing");
  if (root !== outputRoot({ ...proof, blockHash: proof.l2BlockHash })) {
    throw new OpStackError("output_mismatch");
  }
  const block = fromOpStackProof(
    "output_block_proof",
    () => provenWord(proof.multiProof, oracleRoot, slots.block),
  );
  if (block === undefined) throw new OpStackError("output_block_missing");
  const { number, timestampSec } = parseOutputBlock(block);
  if (number !== proof.blockNumber || timestampSec !== proof.timestampSec) {
    throw new OpStackError("output_block_mismatch");
  }
  return { height: number, timestampSec, stateRoot: proof.stateRoot };
}

/** Parses block number and time, of 128 bits each; the hub reads the lower 64. */
function parseOutputBlock(packed: Hash256): { readonly number: bigint; readonly timestampSec: bigint } {
  const value = BigInt(packed);
  return { number: BigInt.asUintN(64, value >> 128n), timestampSec: BigInt.asUintN(64, value) };
}
