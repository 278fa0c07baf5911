/**
 * Verification of proofs, as a BEEFY client on an EVM chain does it. Rules and their order: polytope-labs/hyperbridge:
 * evm/src/consensus/{EcdsaBeefy,SP1Beefy}.sol.
 */
import { mapError } from "../../../spec/client_error.ts";
import { calculateMerkleRoot, type TreeLeaf } from "./merkle_tree.ts";
import {
  BeefyError,
  type BeefyErrorCode,
  type BeefyMmrLeaf,
  beefyMmrLeafHash,
  commitmentHash,
  decoded,
  findMmrRoot,
} from "../../../../core/beefy/commitment.ts";
import {
  decodeNaiveProof,
  decodeSp1Proof,
  type NaiveProof,
  type ParachainProof,
  proofKind,
  type ProvenHead,
  type RelayChainProof,
} from "../../../../core/beefy/naive_proof.ts";
import {
  concatBytes,
  equalBytes,
  fromHex,
  type Hash256,
  keccak256,
  toHash256,
} from "../../../../core/encoding/bytes.ts";
import {
  bytes,
  type Codec,
  decodeStrict,
  fixedBytes,
  list,
  ScaleError,
  u32,
} from "../../../../core/encoding/scale.ts";
import type { BeefyAuthoritySet, BeefyClientState } from "../../../../core/evm/beefy_client_state.ts";
import { readCommitment } from "../../../spec/header_commitment.ts";
import type { StateCommitment } from "../../../../core/ismp/state_machine.ts";
import { calculateMmrRoot, MmrError } from "../../../../core/merkle/mmr.ts";
import { decodeSubstrateHeader, type SubstrateHeader } from "../../../../core/substrate/header.ts";
import { instantiateSecp256k1 } from "@bitauth/libauth/build/lib/crypto/secp256k1.js";

/** libsecp256k1 in WebAssembly, three times as fast as JavaScript: proofs have hundreds of votes. */
const curve = await instantiateSecp256k1();

const authoritiesCodec: Codec<readonly Uint8Array[]> = list(fixedBytes(33));

/** Decodes the compressed keys in `Beefy.Authorities`. @throws {BeefyError} `undecodable_data` */
export function decodeAuthorities(stored: Uint8Array): readonly Uint8Array[] {
  return decoded(() => decodeStrict(authoritiesCodec, stored, "Authorities"));
}

const NO_ADDRESS = new Uint8Array(20);

/**
 * Address of a compressed key. The relay chain substitutes 20 zero bytes for a key that is not a point of the curve, so
 * the same is done here to get its root.
 */
export function authorityAddress(key: Uint8Array): Uint8Array {
  const point = curve.uncompressPublicKey(key);
  return typeof point === "string" ? NO_ADDRESS : addressOf(point);
}

function addressOf(point: Uint8Array): Uint8Array {
  return keccak256(point.subarray(1)).subarray(12);
}

/** Leaf of an address in the tree of a set. */
export function authorityLeaf(address: Uint8Array): Hash256 {
  return toHash256(keccak256(address));
}

/** Leaves of the tree of a set, from its keys in the order of the chain. May be interrupted between two keys. */
export function* authorityLeaves(
  keys: readonly Uint8Array[],
): Generator<undefined, readonly Hash256[], undefined> {
  const leaves: Hash256[] = [];
  for (const key of keys) {
    yield;
    leaves.push(authorityLeaf(authorityAddress(key)));
  }
  return leaves;
}

/** r and s with the smaller of the two s, which contracts require; `undefined` for numbers beyond the curve's order. */
function normalized(signature: Uint8Array): Uint8Array | undefined {
  const found = curve.normalizeSignatureCompact(signature.subarray(0, 64));
  return typeof found === "string" ? undefined : found;
}

/**
 * Converts a vote's signature to the form of contracts: recovery id 27 or 28, and the smaller of the two s. Relay
 * chains do not require it, so a validator that signs with the larger s would otherwise invalidate proofs with its
 * votes. @param signature r, s and the recovery id 0 or 1.
 */
export function toContractSignature(signature: Uint8Array): Uint8Array {
  const recovery = signature[64] ?? 0;
  const smaller = normalized(signature);
  if (smaller === undefined || equalBytes(smaller, signature.subarray(0, 64))) {
    return signature.with(64, recovery + 27);
  }
  return concatBytes(smaller, Uint8Array.of((recovery ^ 1) + 27));
}

/**
 * Address that signed a hash, as contracts recover it; undefined when none follows. @param signature r, s and the
 * recovery id 27 or 28.
 */
export function recoverAuthority(hash: Hash256, signature: Uint8Array): Uint8Array | undefined {
  const recovery = (signature[64] ?? 0) - 27;
  if (signature.length !== 65 || (recovery !== 0 && recovery !== 1)) return undefined;
  const compact = signature.slice(0, 64);
  if (!equalBytes(normalized(signature) ?? new Uint8Array(0), compact)) return undefined;
  const point = curve.recoverPublicKeyUncompressed(compact, recovery, fromHex(hash));
  return typeof point === "string" ? undefined : addressOf(point);
}

/** A parachain's height that is proved. */
export interface BeefyIntermediate {
  readonly paraId: number;
  readonly height: bigint;
  readonly commitment: StateCommitment;
}

/** Result of an accepted proof. A proof that is not newer leaves the state unchanged. */
export interface VerifiedBeefyProof {
  readonly state: BeefyClientState;
  readonly intermediates: readonly BeefyIntermediate[];
}

function require(isMet: boolean, code: BeefyErrorCode): asserts isMet {
  if (!isMet) throw new BeefyError(code);
}

/** Number of votes that a set needs. */
export function beefyThreshold(setLength: number): number {
  return Math.floor(2 * setLength / 3) + 1;
}

/** Index of a block's leaf in the relay chain's mountain range, from the number of the block's parent. */
export function beefyLeafIndex(activationBlock: bigint, parentNumber: number): bigint {
  return BigInt(parentNumber) - activationBlock;
}

/** Verifies a proof as the client does. May be interrupted between two votes. @throws {BeefyError} */
export function* verifyNaiveProof(
  trusted: BeefyClientState,
  proof: NaiveProof,
): Generator<undefined, VerifiedBeefyProof, undefined> {
  const { commitment, leaf } = proof.relay;
  if (trusted.latestHeight >= BigInt(commitment.blockNumber)) return { state: trusted, intermediates: [] };
  yield* checkVotes(trusted, proof.relay);
  checkLeaf(trusted, proof.relay);
  const state = advanceState(trusted, BigInt(commitment.blockNumber), leaf);
  return { state, intermediates: readHeads(leaf, proof.parachain) };
}

/** State after a valid proof: a leaf that announces a later set than the next one rotates both sets. */
function advanceState(
  trusted: BeefyClientState,
  blockNumber: bigint,
  { nextAuthoritySet }: Pick<BeefyMmrLeaf, "nextAuthoritySet">,
): BeefyClientState {
  const moves = nextAuthoritySet.id > trusted.next.id;
  return {
    ...trusted,
    latestHeight: blockNumber,
    ...moves && { current: trusted.next, next: nextAuthoritySet },
  };
}

/** Returns the set that signed, if the client knows it. @throws {BeefyError} `unknown_authority_set` */
function signingSet({ current, next }: BeefyClientState, id: bigint): BeefyAuthoritySet {
  const set = id === current.id ? current : id === next.id ? next : undefined;
  require(set !== undefined, "unknown_authority_set");
  return set;
}

function* checkVotes(
  trusted: BeefyClientState,
  { commitment, votes, authoritiesProof }: RelayChainProof,
): Generator<undefined, void, undefined> {
  const set = signingSet(trusted, commitment.validatorSetId);
  require(votes.length >= beefyThreshold(set.length), "super_majority_required");
  require(findMmrRoot(commitment) !== undefined, "mmr_root_hash_missing");
  const signed = commitmentHash(commitment);
  const leaves: TreeLeaf[] = [];
  for (const { index, signature } of votes) {
    yield;
    const address = recoverAuthority(signed, signature);
    require(address !== undefined, "invalid_signature");
    leaves.push({ index, hash: authorityLeaf(address) });
  }
  yield;
  const root = calculateMerkleRoot(authoritiesProof, leaves, set.length);
  require(root === set.root, "invalid_authorities_proof");
}

function checkLeaf(trusted: BeefyClientState, relay: RelayChainProof): void {
  const { leaf, leafIndex, mmrProof, commitment } = relay;
  const leafCount = beefyLeafIndex(trusted.beefyActivationBlock, leaf.parentNumber) + 1n;
  require(leafCount >= 0n, "undecodable_proof");
  const leaves = [{ index: leafIndex, hash: beefyMmrLeafHash(leaf) }];
  const root = mapError(
    MmrError,
    () => calculateMmrRoot(mmrProof, leaves, leafCount),
    (cause) => new BeefyError(mmrCodes[cause.code] ?? "invalid_mmr_proof", { cause }),
  );
  require(root === findMmrRoot(commitment), "invalid_mmr_proof");
}

const mmrCodes: Readonly<Partial<Record<MmrError["code"], BeefyErrorCode>>> = {
  OutOfBoundsLeaves: "out_of_bounds_leaves",
  UnconsumedProof: "unconsumed_proof",
  ProofExhausted: "proof_exhausted",
};

/** Leaf of a head in the tree of heads. */
export function headLeaf(paraId: number, header: Uint8Array): ReturnType<typeof toHash256> {
  return toHash256(keccak256(concatBytes(u32.enc(paraId), bytes.enc(header))));
}

function readHeads(
  { extra }: BeefyMmrLeaf,
  { heads, proof, leafCount }: ParachainProof,
): readonly BeefyIntermediate[] {
  const intermediates = heads.map(readHead);
  if (heads.length === 0) return intermediates;
  const leaves = heads.map(({ index, paraId, header }) => ({ index, hash: headLeaf(paraId, header) }));
  require(calculateMerkleRoot(proof, leaves, leafCount) === extra, "invalid_mmr_proof");
  return intermediates;
}

/** Reads the height of a head. @throws {BeefyError} */
function readHead({ paraId, header }: Pick<ProvenHead, "paraId" | "header">): BeefyIntermediate {
  const head = mapError(
    ScaleError,
    () => decodeSubstrateHeader(header),
    (cause) => new BeefyError("undecodable_header", { cause }),
  );
  require(head.number !== 0, "illegal_genesis_block");
  return { paraId, height: BigInt(head.number), commitment: hubCommitment(head) };
}

/**
 * Commitment that hosts store for a head of the hub. @throws {BeefyError} `timestamp_not_found`, `undecodable_header`
 */
export function hubCommitment(header: SubstrateHeader): StateCommitment {
  return readCommitment(header, {
    isHub: true,
    refuse: (code, options) =>
      new BeefyError(code === "timestamp_missing" ? "timestamp_not_found" : code, options),
  });
}

/** A proof that the client would accept, or one that changes nothing. */
export interface CheckedProof {
  /** `sp1`: the circuit's part was not verified; only the chain can do that. */
  readonly kind: "ecdsa" | "sp1";
  /** Relay chain block. */
  readonly blockNumber: bigint;
  /** True: the client knows this block or a newer one. The proof would be paid for and change nothing. */
  readonly isStale: boolean;
  /** True: the authority sets rotate. */
  readonly rotates: boolean;
  /** State of the client afterwards. */
  readonly state: BeefyClientState;
  /** Heights of parachains that it proves. */
  readonly heights: readonly BeefyIntermediate[];
}

/**
 * Checks a proof against the client's state. May be interrupted between two votes. @throws {BeefyError} the revert that
 * it would cause
 */
export function* checkProof(
  trusted: BeefyClientState,
  proof: Uint8Array,
): Generator<undefined, CheckedProof, undefined> {
  return proofKind(proof) === "ecdsa" ? yield* checkEcdsa(trusted, proof) : checkSp1(trusted, proof);
}

function* checkEcdsa(
  trusted: BeefyClientState,
  proof: Uint8Array,
): Generator<undefined, CheckedProof, undefined> {
  const decoded = decodeNaiveProof(proof);
  yield;
  const { state, intermediates } = yield* verifyNaiveProof(trusted, decoded);
  const blockNumber = BigInt(decoded.relay.commitment.blockNumber);
  return {
    kind: "ecdsa",
    blockNumber,
    isStale: trusted.latestHeight >= blockNumber,
    rotates: state.current.id !== trusted.current.id,
    state,
    heights: intermediates,
  };
}

function checkSp1(trusted: BeefyClientState, proof: Uint8Array): CheckedProof {
  const { blockNumber, validatorSetId, leaf, heads } = decodeSp1Proof(proof);
  if (trusted.latestHeight >= blockNumber) {
    return { kind: "sp1", blockNumber, isStale: true, rotates: false, state: trusted, heights: [] };
  }
  signingSet(trusted, validatorSetId);
  if (BigInt(leaf.parentNumber) + 1n !== blockNumber) throw new BeefyError("stale_mmr_leaf");
  const state = advanceState(trusted, blockNumber, leaf);
  return {
    kind: "sp1",
    blockNumber,
    isStale: false,
    rotates: state.current.id !== trusted.current.id,
    state,
    heights: heads.map(readHead),
  };
}
