/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/ismp-optimism/src/lib.rs (verify_consensus),
 * modules/ismp/clients/optimism/src/lib.rs.
 */
import { clientDecoder } from "../../../spec/client_error.ts";
import { type EvmBlockState, evmCommitment, type VerifiedUpdate } from "../../../spec/header_commitment.ts";
import { fromHex, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import type { StateMachine } from "../../../../core/ismp/state_machine.ts";
import {
  commitmentIdOf,
  findWord,
  requireStorageRoot,
  requireWord,
  RollupUpdateError,
} from "../../../rollup/spec/rollup_client.ts";
import {
  type DisputeGameProof,
  type DisputeGameRules,
  type GameTypeConfig,
  type OpStackConsensusState,
  opStackConsensusStateCodec,
  opStackStatePrefixCodec,
  type OpStackUpdate,
  opStackUpdateCodec,
  type OutputOracleProof,
} from "./update.ts";
import {
  blockOutputRoot,
  challengeStatus,
  challengeWord,
  claimsSuperRoot,
  disputeGameSlot,
  gameIdWord,
  gameImplementationSlot,
  gameUuid,
  outputRoot,
  outputSlots,
  readSuperRoot,
  superRoot,
  type SuperRootFault,
} from "./output_root.ts";

/**
 * Rule that an update breaks. Source: polytope-labs/hyperbridge: modules/ismp/clients/optimism/src/{lib,error}.rs,
 * modules/ismp/clients/ismp-optimism/src/lib.rs. Codes that end in `_proof` have an `EvmProofError` as cause: the nodes
 * are inconclusive; codes that end in `_missing` mean that the nodes prove an absence. Under a wrong key either may
 * happen.
 */
export type OpStackErrorCode =
  /** The consensus proof is not the SCALE form of an update. */
  | "undecodable_update"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The hub holds no commitment of the L1 at the height of the proofs. */
  | "l1_commitment_missing"
  /** Fishermen blacklisted the game. */
  | "game_blacklisted"
  /** The hub has no rules for this type of game. */
  | "unsupported_game_type"
  /** The factory is not proved in the L1 state. */
  | "factory_proof"
  | SuperRootFault
  /** The super root claims another output of this chain. */
  | "super_root_mismatch"
  | "game_proof"
  /** The factory has no game with this claim: block, message passer root, type or extra data are another. */
  | "game_missing"
  /** The game has another address, type or time. */
  | "game_mismatch"
  | "implementation_proof"
  | "implementation_missing"
  /** The factory creates games of this type with another contract than the hub expects. */
  | "implementation_mismatch"
  /** The game, or the registry that blacklists it, is not proved in the L1 state. */
  | "challenge_account_proof"
  | "challenge_proof"
  /** The game lacks even its own claim. */
  | "challenge_missing"
  /** The claim is challenged. */
  | "game_challenged"
  /** The registry on the L1 blacklists the game. */
  | "game_blacklisted_on_l1"
  /** The oracle is not proved in the L1 state. */
  | "oracle_proof"
  | "output_proof"
  | "output_missing"
  /** The oracle has another output root at this index. */
  | "output_mismatch"
  | "output_block_proof"
  | "output_block_missing"
  /** The output root is of another time or block number. */
  | "output_block_mismatch";

function refuse(code: OpStackErrorCode): never {
  throw new RollupUpdateError(code);
}

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

/**
 * Decodes a consensus state as the hub does: unreadable data after the first four fields is dropped, since older states
 * end differently, and trailing bytes are ignored. @throws {RollupUpdateError} `undecodable_state`
 */
export function decodeOpStackState(stored: Uint8Array): OpStackConsensusState {
  const bytes = new Uint8Array(stored);
  try {
    return opStackConsensusStateCodec.dec(bytes);
  } catch {
    try {
      return { ...opStackStatePrefixCodec.dec(bytes), gameTypeConfigs: undefined };
    } catch (cause) {
      throw new RollupUpdateError<OpStackErrorCode>("undecodable_state", { cause });
    }
  }
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {RollupUpdateError}
 * `undecodable_update`
 */
export const decodeOpStackUpdate = clientDecoder(
  opStackUpdateCodec,
  RollupUpdateError<OpStackErrorCode>,
  "undecodable_update",
);

/**
 * Verifies an update as the hub does. @throws {RollupUpdateError}
 */
export function verifyOpStackUpdate(
  trusted: OpStackConsensusState,
  update: OpStackUpdate,
  hub: OpStackHubView,
): VerifiedUpdate<OpStackConsensusState, undefined> {
  if (hub.l1StateRoot === undefined) refuse("l1_commitment_missing");
  const block = verifyProof(trusted.stateMachineId.stateMachine, update, {
    ...hub,
    l1StateRoot: hub.l1StateRoot,
  });
  if (block === undefined) return { consensusState: trusted, commitment: undefined };
  const commitment = evmCommitment(commitmentIdOf(trusted), block);
  return { consensusState: { ...trusted, finalizedHeight: commitment.height.height }, commitment };
}

function verifyProof(
  chain: StateMachine,
  { proof }: OpStackUpdate,
  hub: OpStackHubView & { readonly l1StateRoot: Hash256 },
): EvmBlockState | undefined {
  switch (proof.tag) {
    case "OpL2Oracle":
      return hub.outputOracle && verifyOutput(proof.value, hub.l1StateRoot, hub.outputOracle);
    case "OpFaultProofGames":
      if (hub.disputeGames === undefined) return undefined;
      if (hub.blacklistedGames.has(proof.value.proxy)) refuse("game_blacklisted");
      return verifyDisputeGame(chain, proof.value, { rules: hub.disputeGames, l1StateRoot: hub.l1StateRoot });
  }
}

function verifyDisputeGame(
  chain: StateMachine,
  proof: DisputeGameProof,
  { rules, l1StateRoot }: { readonly rules: DisputeGameRules; readonly l1StateRoot: Hash256 },
): EvmBlockState {
  const config = rules.gameTypes.find(({ gameType }) => gameType === proof.gameType);
  if (config === undefined) refuse("unsupported_game_type");
  const factoryRoot = requireStorageRoot("factory_proof", {
    nodes: proof.disputeFactoryProof,
    stateRoot: l1StateRoot,
    contract: rules.factory,
  });
  requireGame(proof, factoryRoot, rootClaimOf(chain, proof, config));
  checkImplementation(proof, factoryRoot, config.expectedImplementation);
  checkNotChallenged(proof, l1StateRoot, config);
  return proof.header;
}

/** The claim that the game must have made: the output root of the block, or a super root that contains it. */
function rootClaimOf(chain: StateMachine, proof: DisputeGameProof, { kind }: GameTypeConfig): Hash256 {
  const output = blockOutputRoot(proof);
  if (!claimsSuperRoot(kind)) return output;
  const claimed = readSuperRoot(proof.extraData, chain);
  if (typeof claimed === "string") refuse(claimed);
  if (claimed.outputRoot !== output) refuse("super_root_mismatch");
  return superRoot(proof.extraData);
}

/** Requires that the factory created this game for the claim. @throws {RollupUpdateError} `game_...` */
export function requireGame(
  proof: Pick<DisputeGameProof, "gameType" | "extraData" | "timestampSec" | "proxy" | "disputeGameProof">,
  factoryRoot: Hash256,
  rootClaim: Hash256,
): void {
  const slot = disputeGameSlot(gameUuid(proof.gameType, rootClaim, proof.extraData));
  const id = requireWord("game", { nodes: proof.disputeGameProof, root: factoryRoot, slot });
  if (id !== gameIdWord(proof)) refuse("game_mismatch");
}

/** Checks the implementation: otherwise the challenge slot could mean anything. */
function checkImplementation(proof: DisputeGameProof, factoryRoot: Hash256, expected: Address): void {
  const slot = gameImplementationSlot(proof.gameType);
  const found = requireWord("implementation", { nodes: proof.gameImplProof, root: factoryRoot, slot });
  if (toAddress(fromHex(found).subarray(12)) !== expected) refuse("implementation_mismatch");
}

function checkNotChallenged(
  proof: DisputeGameProof,
  l1StateRoot: Hash256,
  { kind }: GameTypeConfig,
): void {
  const place = challengeWord(kind, proof.proxy);
  if (place === undefined) return;
  const root = requireStorageRoot("challenge_account_proof", {
    nodes: proof.proxyAccountProof,
    stateRoot: l1StateRoot,
    contract: place.account,
  });
  const value = findWord("challenge", { nodes: proof.challengeProof, root, slot: place.slot });
  const status = challengeStatus(place, value);
  if (status === "missing") refuse("challenge_missing");
  if (status === "challenged") {
    refuse(kind.tag === "SuperPermissionedDisputeGame" ? "game_blacklisted_on_l1" : "game_challenged");
  }
}

function verifyOutput(proof: OutputOracleProof, l1StateRoot: Hash256, oracle: Address): EvmBlockState {
  const root = requireStorageRoot("oracle_proof", {
    nodes: proof.l2OracleProof,
    stateRoot: l1StateRoot,
    contract: oracle,
  });
  const slots = outputSlots(proof.outputRootIndex);
  const output = requireWord("output", { nodes: proof.outputRootProof, root, slot: slots.root });
  if (output !== outputRoot({ ...proof, blockHash: proof.l2BlockHash })) refuse("output_mismatch");
  const block = requireWord("output_block", { nodes: proof.multiProof, root, slot: slots.block });
  const { number, timestampSec } = parseOutputBlock(block);
  if (number !== proof.blockNumber || timestampSec !== proof.timestampSec) {
    refuse("output_block_mismatch");
  }
  return { number, timestampSec, stateRoot: proof.stateRoot };
}

/** Parses block number and time, of 128 bits each; the hub reads the lower 64. */
function parseOutputBlock(packed: Hash256): { readonly number: bigint; readonly timestampSec: bigint } {
  const value = BigInt(packed);
  return { number: BigInt.asUintN(64, value >> 128n), timestampSec: BigInt.asUintN(64, value) };
}
