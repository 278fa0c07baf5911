/**
 * The hub's client of beacon chains. Its rules are written for the hub alone, with other libraries: a mistake of the
 * relayer's verifier is none of the hub's. SCALE is the relayer's, which vectors of the hub check. Rules: docs/protocol/evm-consensus.md sections 5.4 and 5.11;
 * polytope-labs/hyperbridge: modules/consensus/sync-committee/verifier/src/lib.rs.
 */
import {
  type BeaconBlockHeader,
  beaconConsensusStateCodec,
  type ExecutionPayloadProof,
  type LegacyPayloadProof,
  type StateUpdate,
  stateUpdateCodecs,
  type SyncCommittee,
  type UpdateLayout,
  type VerifierState,
} from "../../../../src/consensus/clients/sync_committee/spec/update.ts";
import type { HeaderCommitment } from "../../../../src/core/evm/block_header.ts";
import { decodePrefix } from "../../../../src/core/encoding/scale.ts";
import { ClientRefusal, require } from "../refusals.ts";
import { RLP } from "@ethereumjs/rlp";
import { ssz } from "@lodestar/types";
import bls from "bls-eth-wasm";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Hash256, Hex } from "../../../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { ConsensusStateId, IntermediateState } from "../../../../src/core/ismp/state_machine.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
/** A chain as a runtime knows it. */
export interface BeaconRules {
  readonly layout: UpdateLayout;
  readonly slotsPerEpoch: bigint;
  readonly epochsPerPeriod: bigint;
  readonly genesisValidatorsRoot: Hex;
  /** By ascending epoch. */
  readonly versions: readonly { readonly epoch: bigint; readonly version: Hex }[];
  /** `undefined` in a runtime of before. */
  readonly gloasEpoch: bigint | undefined;
}

const committeeSize = 512;
const domainType = Uint8Array.of(7, 0, 0, 0);

await bls.init(bls.BLS12_381);
// Points outside of the subgroup are none.
bls.verifyPublicKeyOrder(true);
bls.verifySignatureOrder(true);

/** Places in states, by fork. */
const places = {
  electra: { finality: 84, committee: 87, execution: 88 },
  gloas: { finality: 367, committee: 2946, execution: 2947 },
} as const;

/** Nodes of a payload header: state root, number and time, and what the proof adds in its order. */
const payloadLeaves = [34, 38, 41] as const;
const payloadHelpers = [40, 39, 35, 21, 18, 16, 11, 3] as const;

/** What the hub makes of an update. @throws {ClientRefusal} */
export function checkBeaconUpdate(
  rules: BeaconRules,
  { trusted, proof, stateId }: {
    readonly trusted: Uint8Array;
    readonly proof: Uint8Array;
    readonly stateId: ConsensusStateId;
  },
): { readonly state: Uint8Array; readonly commitment: IntermediateState } {
  const update = read(() => decodePrefix(stateUpdateCodecs[rules.layout], proof, "BeaconClientUpdate"));
  const state = read(() => decodePrefix(beaconConsensusStateCodec, trusted, "ConsensusState"));
  const light = state.lightClientState;
  const period = (slot: bigint): bigint => slot / rules.slotsPerEpoch / rules.epochsPerPeriod;
  const attested = places[forkAt(rules, update.attestedHeader.slot)];

  const { finalityProof, syncCommitteeUpdate, signatureSlot, attestedHeader, finalizedHeader } = update;
  const { epoch, finalityBranch } = finalityProof;
  require(finalityBranch.length === depthOf(attested.finality), "InvalidUpdate: finality branch");
  require(
    syncCommitteeUpdate === undefined ||
      syncCommitteeUpdate.nextSyncCommitteeBranch.length === depthOf(attested.committee),
    "InvalidUpdate: committee branch",
  );
  require(
    signatureSlot > attestedHeader.slot && attestedHeader.slot > finalizedHeader.slot,
    "InvalidUpdate: slots",
  );
  const isNext = period(signatureSlot) === light.statePeriod + 1n;
  require(isNext || period(signatureSlot) === light.statePeriod, "InvalidUpdate: signature period");
  require(!isNext || period(attestedHeader.slot) === period(signatureSlot), "InvalidUpdate: attested period");
  require(attestedHeader.slot > light.finalizedHeader.slot, "InvalidUpdate: expired slot");
  require(epoch > light.latestFinalizedEpoch, "InvalidUpdate: expired epoch");
  checkSignature(rules, isNext ? light.nextSyncCommittee : light.currentSyncCommittee, update);

  const checkpoint = ssz.phase0.Checkpoint.hashTreeRoot({
    epoch: Number(epoch),
    root: rootOf(finalizedHeader),
  });
  require(
    isInTree(checkpoint, finalityBranch, { index: attested.finality, root: attestedHeader.stateRoot }),
    "InvalidMerkleBranch: finality",
  );
  const execution = checkExecution(rules, update.executionPayload, finalizedHeader);
  if (syncCommitteeUpdate !== undefined) {
    const { nextSyncCommittee: { publicKeys, aggregatePublicKey }, nextSyncCommitteeBranch } =
      syncCommitteeUpdate;
    const committee = { pubkeys: [...publicKeys], aggregatePubkey: aggregatePublicKey };
    const leaf = ssz.altair.SyncCommittee.hashTreeRoot(committee);
    const place = { index: attested.committee, root: attestedHeader.stateRoot };
    require(isInTree(leaf, nextSyncCommitteeBranch, place), "InvalidMerkleBranch: committee");
  }
  return {
    state: beaconConsensusStateCodec.enc({
      ...state,
      frozenHeight: undefined,
      lightClientState: nextState(light, update, isNext),
    }),
    commitment: {
      height: {
        id: { stateMachine: evmStateMachine(state.chainId), consensusStateId: stateId },
        height: execution.blockNumber,
      },
      commitment: {
        timestampSec: execution.timestampSec,
        overlayRoot: undefined,
        stateRoot: execution.stateRoot,
      },
    },
  };
}

function read<T>(decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    throw new ClientRefusal("CannotDecode", { cause });
  }
}

function forkAt(rules: BeaconRules, slot: bigint): keyof typeof places {
  const epoch = slot / rules.slotsPerEpoch;
  return rules.gloasEpoch !== undefined && epoch >= rules.gloasEpoch ? "gloas" : "electra";
}

function rootOf({ slot, proposerIndex, parentRoot, stateRoot, bodyRoot }: BeaconBlockHeader): Uint8Array {
  return ssz.phase0.BeaconBlockHeaderBigint.hashTreeRoot({
    slot,
    proposerIndex: Number(proposerIndex),
    parentRoot: fromHex(parentRoot),
    stateRoot: fromHex(stateRoot),
    bodyRoot: fromHex(bodyRoot),
  });
}

function depthOf(index: number): number {
  return index.toString(2).length - 1;
}

function isInTree(
  leaf: Uint8Array,
  branch: readonly Hash256[],
  { index, root }: { readonly index: number; readonly root: Hash256 },
): boolean {
  if (branch.length !== depthOf(index)) return false;
  const computed = branch.map(fromHex).reduce(
    (node, sibling, level) =>
      sha256((index >> level) % 2 === 1 ? concatBytes(sibling, node) : concatBytes(node, sibling)),
    leaf,
  );
  return toHash256(computed) === root;
}

function checkSignature(
  rules: BeaconRules,
  committee: SyncCommittee,
  update: StateUpdate,
): void {
  const { bits, signature } = update.syncAggregate;
  const signers = committee.publicKeys.filter((_, member) => hasSigned(bits, member));
  require(signers.length > Math.floor(2 * committeeSize / 3), "SyncCommitteeParticipantsTooLow");
  const epoch = update.signatureSlot / rules.slotsPerEpoch;
  const version = rules.versions.filter((fork) => fork.epoch <= epoch).at(-1)?.version ?? "0x00000000";
  const forkRoot = ssz.phase0.ForkData.hashTreeRoot({
    currentVersion: fromHex(version),
    genesisValidatorsRoot: fromHex(rules.genesisValidatorsRoot),
  });
  const message = ssz.phase0.SigningData.hashTreeRoot({
    objectRoot: rootOf(update.attestedHeader),
    domain: concatBytes(domainType, forkRoot.subarray(0, 28)),
  });
  require(isSigned(committee, bits, { message, signature }), "SignatureVerification");
}

function hasSigned(bits: Uint8Array, member: number): boolean {
  return ((bits[member >> 3] ?? 0) >> (member & 7)) % 2 === 1;
}

function isSigned(
  { publicKeys, aggregatePublicKey }: SyncCommittee,
  bits: Uint8Array,
  { message, signature }: { readonly message: Uint8Array; readonly signature: Uint8Array },
): boolean {
  try {
    const signers = publicKey(aggregatePublicKey);
    for (const [member, key] of publicKeys.entries()) {
      if (!hasSigned(bits, member)) signers.add(negative(key));
    }
    const signed = new bls.Signature();
    signed.deserialize(signature);
    return !signers.isZero() && signers.verify(signed, message);
  } catch {
    return false; // no point of the curve
  }
}

function publicKey(compressed: Uint8Array): InstanceType<typeof bls.PublicKey> {
  const key = new bls.PublicKey();
  key.deserialize(compressed);
  return key;
}

/** Of two points with one x the other one. */
function negative(compressed: Uint8Array): InstanceType<typeof bls.PublicKey> {
  return publicKey(compressed.with(0, (compressed[0] ?? 0) ^ 0x20));
}

function checkExecution(
  rules: BeaconRules,
  proof: ExecutionPayloadProof,
  { slot, stateRoot }: BeaconBlockHeader,
): HeaderCommitment {
  const fork = forkAt(rules, slot);
  const isGloas = "executionHeader" in proof;
  require(isGloas === (fork === "gloas"), "InvalidUpdate: variant of another fork");
  const leaf = isGloas ? keccak_256(proof.executionHeader) : payloadRoot(proof);
  const place = { index: places[fork].execution, root: stateRoot };
  require(isInTree(leaf, proof.executionPayloadBranch, place), "InvalidMerkleBranch: execution");
  return isGloas ? readHeader(proof.executionHeader) : proof;
}

/** Hubs of September take headers of Amsterdam only. */
const headerItems = 23;

function readHeader(rlp: Uint8Array): HeaderCommitment {
  const items: unknown = read(() => RLP.decode(rlp));
  require(Array.isArray(items) && items.length === headerItems, "InvalidExecutionHeader");
  const itemAt = (index: number): Uint8Array => {
    const item: unknown = items[index];
    require(item instanceof Uint8Array, "InvalidExecutionHeader");
    return item;
  };
  const numberAt = (index: number): bigint => BigInt(`0x0${toHex(itemAt(index)).slice(2)}`);
  const stateRoot = itemAt(3);
  require(stateRoot.length === 32, "InvalidExecutionHeader");
  return { stateRoot: toHash256(stateRoot), blockNumber: numberAt(8), timestampSec: numberAt(11) };
}

function payloadRoot(proof: LegacyPayloadProof): Uint8Array {
  require(proof.multiProof.length === payloadHelpers.length, "InvalidMerkleMultiProof");
  const number = (value: bigint): Uint8Array => ssz.UintBn64.hashTreeRoot(value);
  const leaves = [fromHex(proof.stateRoot), number(proof.blockNumber), number(proof.timestampSec)];
  const helpers = proof.multiProof.map(fromHex);
  const tree = new Map<number, Uint8Array>();
  payloadLeaves.forEach((index, at) => tree.set(index, leaves[at] ?? new Uint8Array(32)));
  payloadHelpers.forEach((index, at) => tree.set(index, helpers[at] ?? new Uint8Array(32)));
  const nodeAt = (index: number): Uint8Array =>
    tree.get(index) ?? sha256(concatBytes(nodeAt(2 * index), nodeAt(2 * index + 1)));
  return nodeAt(1);
}

function nextState(light: VerifierState, update: StateUpdate, isNext: boolean): VerifierState {
  const finalized = {
    finalizedHeader: update.finalizedHeader,
    latestFinalizedEpoch: update.finalityProof.epoch,
  };
  if (!isNext) return { ...light, ...finalized };
  require(update.syncCommitteeUpdate !== undefined, "InvalidUpdate: no committee");
  return {
    ...finalized,
    currentSyncCommittee: light.nextSyncCommittee,
    nextSyncCommittee: update.syncCommitteeUpdate.nextSyncCommittee,
    statePeriod: light.statePeriod + 1n,
  };
}
