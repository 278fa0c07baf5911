/**
 * Pallet BeefyConsensusProofs: the hub's light client of itself, and the proofs that relayers take on to EVM hosts.
 * It takes naive proofs; what they must bring is checked as the live pallet does. Provers get no reward here.
 * Source: polytope-labs/hyperbridge: modules/pallets/beefy-consensus-proofs/src/lib.rs.
 */
import type { CodecType } from "scale-ts";
import type { StateCommitmentHeight } from "./ismp_storage.ts";
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import { authoritySetCodec, BeefyError } from "../../../src/core/beefy/commitment.ts";
import { type BeefyClientState, decodeBeefyClientState } from "../../../src/core/evm/beefy_client_state.ts";
import { offchainKeys } from "../../../src/core/ismp/storage_keys.ts";
import {
  decodeStrict,
  hash256,
  list,
  Option,
  orderedMap,
  Struct,
  u128,
  u32,
  u64,
} from "../../../src/core/encoding/scale.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { type Overlay, PalletStorage, type StorageReader } from "../storage.ts";
import { decodeNaiveProof, ECDSA_PROOF, type NaiveProof } from "../../../src/core/beefy/naive_proof.ts";
import { hubCommitment, verifyNaiveProof } from "../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { decodeSubstrateHeader } from "../../../src/core/substrate/header.ts";
import {
  type ConsensusStateId,
  type StateMachine,
  type StateMachineId,
  toConsensusStateId,
  toParaId,
} from "../../../src/core/ismp/state_machine.ts";
import { DispatchError, type Execution } from "../runtime.ts";
import { beefyClientId } from "./consensus_clients.ts";
import type { IsmpPallet } from "./ismp.ts";
import { converted } from "../verifiers/refusals.ts";
import { runAtOnce } from "../../relay/run_at_once.ts";

/**
 * Storage of pallet BeefyConsensusProofs, with the offchain copies of the proofs that it accepted.
 * Source: polytope-labs/hyperbridge: modules/pallets/beefy-consensus-proofs/src/{lib,types}.rs,
 * modules/consensus/beefy/primitives/src/lib.rs (ConsensusState).
 */

/** SCALE of {@link BeefyState}. */
export const beefyStateCodec = Struct({
  latestBeefyHeight: u32,
  beefyActivationBlock: u32,
  mmrRootHash: hash256,
  current: authoritySetCodec,
  next: authoritySetCodec,
});

/** What the hub trusts about its relay chain. */
export type BeefyState = CodecType<typeof beefyStateCodec>;

/** Maximum of proofs of each kind that are kept (constant of both runtimes). */
const maxStoredProofs = 512;

/** Storage items. */
export class BeefyProofStorage extends PalletStorage {
  readonly lastRewardedDispatchRoot = this.item("LastRewardedDispatchRoot", [], hash256);
  /** Proven heights, rising. */
  readonly messagingProofs = this.item("MessagingProofs", [], list(u64));
  /** Authority set to proven height. */
  readonly rotationProofs = this.item("RotationProofs", [], orderedMap(u64, u64, (a, b) => (a < b ? -1 : 1)));

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "BeefyConsensusProofs");
  }

  /** Keeps a proof of a new height; the oldest one goes when there are too many. */
  keepMessagingProof(overlay: Overlay, height: bigint, proof: Uint8Array): void {
    const heights = [...this.messagingProofs.get(overlay) ?? []];
    overlay.writeOffchain(offchainKeys.beefyMessagingProof(height), proof);
    const oldest = heights.length === maxStoredProofs ? heights.shift() : undefined;
    if (oldest !== undefined) overlay.clearOffchain(offchainKeys.beefyMessagingProof(oldest));
    this.messagingProofs.put(overlay, [...heights, height]);
  }

  /** Keeps a proof that rotated to a set. */
  keepRotationProof(overlay: Overlay, setId: bigint, height: bigint, proof: Uint8Array): void {
    const rotations = new Map(this.rotationProofs.get(overlay) ?? []);
    overlay.writeOffchain(offchainKeys.beefyRotationProof(setId), proof);
    const [oldest] = rotations.keys();
    if (oldest !== undefined && rotations.size === maxStoredProofs) {
      rotations.delete(oldest);
      overlay.clearOffchain(offchainKeys.beefyRotationProof(oldest));
    }
    this.rotationProofs.put(overlay, rotations.set(setId, height));
  }
}

/** Consensus state of the hub's client of itself. */
const beefyStateId: ConsensusStateId = toConsensusStateId("BEEF");

/** Unbonding period given to the client, seconds (docs/protocol/hub-consensus.md section 5.12). */
const unbondingSec = 5_832_000n;
const zeroHash: Hash256 = `0x${"00".repeat(32)}`;

/** A block of the hub as its own header shows it. */
export interface OwnHeader {
  readonly timestampSec: bigint;
  readonly mmrRoot: Hash256;
  readonly childTrieRoot: Hash256;
  readonly stateRoot: Hash256;
}

/** Outcome of a proof. */
export interface ProofAcceptance {
  /** Hub height that is proven now. */
  readonly height: bigint;
  /** Authority set that became the current one; undefined for messaging proofs. */
  readonly newSetId: bigint | undefined;
}

/** What the pallet works with. */
interface BeefyProofParts {
  readonly storage: BeefyProofStorage;
  readonly ismp: IsmpPallet;
  readonly stateMachine: StateMachine;
  /** Under which the hub's own heights are stored. */
  readonly consensusStateId: ConsensusStateId;
}

/** The pallet. */
export class BeefyProofsPallet {
  readonly #parts: BeefyProofParts;
  readonly #self: StateMachineId;

  constructor(parts: BeefyProofParts) {
    this.#parts = parts;
    this.#self = { stateMachine: parts.stateMachine, consensusStateId: parts.consensusStateId };
  }

  /**
   * Sets the trusted state, as `initialize_state` does by governance.
   * @param abiState the 256 bytes that EVM hosts are initialised with.
   * @throws {DispatchError} AbiDecodeFailed.
   */
  initializeState(execution: Execution, abiState: Uint8Array): void {
    const decoded = decodeBeefyClientState(abiState) ?? fail("AbiDecodeFailed");
    const state: BeefyState = {
      latestBeefyHeight: Number(decoded.latestHeight),
      beefyActivationBlock: Number(decoded.beefyActivationBlock),
      mmrRootHash: zeroHash,
      current: decoded.current,
      next: decoded.next,
    };
    const { ismp, storage } = this.#parts;
    ismp.createConsensusClient(execution, {
      stateId: beefyStateId,
      clientId: beefyClientId,
      unbondingPeriodSec: unbondingSec,
      challengePeriodsSec: new Map(),
      state: beefyStateCodec.enc(state),
    });
    const at = { id: this.#self, height: 1n };
    const commitment = { timestampSec: execution.nowSec, overlayRoot: undefined, stateRoot: zeroHash };
    ismp.storage.insertCommitment(execution.overlay, at, commitment, execution.nowSec);
    ismp.storage.storeLatestHeight(execution.overlay, at);
    storage.lastRewardedDispatchRoot.remove(execution.overlay);
  }

  /**
   * Accepts a proof, as `submit_proof` does.
   * @throws {DispatchError} with an error of the pallet.
   */
  submitProof(
    execution: Execution,
    submission: { readonly submitter: Hash256; readonly proof: Uint8Array },
  ): ProofAcceptance {
    const { overlay } = execution;
    const { storage } = this.#parts;
    const { proof, submitter } = submission;
    if (proof[0] !== ECDSA_PROOF) fail("UnknownProofType");
    const before = this.state(overlay) ?? fail("NotInitialized");
    const provenBefore = this.#latest(execution);
    const after = this.#verify(execution, before, refusing("AbiDecodeFailed", () => decodeNaiveProof(proof)));
    const height = this.#latest(execution);
    if (after.next.id !== after.current.id + 1n) fail("UnexpectedAuthoritySet");
    const isRotation = after.current.id > before.current.id;
    if (!isRotation && height <= provenBefore) fail("StaleProof");
    const root = this.#childTrieRoot(execution, height) ?? fail("MissingChildTrieRoot");
    const isNews = root !== (storage.lastRewardedDispatchRoot.get(overlay) ?? zeroHash) &&
      height > provenBefore;
    if (!isRotation && !isNews) fail("NoNewWork");
    if (isNews) storage.lastRewardedDispatchRoot.put(overlay, root);
    if (isRotation) storage.keepRotationProof(overlay, after.current.id, height, proof);
    else storage.keepMessagingProof(overlay, height, proof);
    const newSetId = isRotation ? after.current.id : undefined;
    execution.emit("BeefyConsensusProofs", "ProofAccepted", {
      submitter: hash256.enc(submitter),
      height: u64.enc(height),
      new_set_id: Option(u64).enc(newSetId),
      rewarded: u128.enc(0n),
    });
    return { height, newSetId };
  }

  /** The trusted state, undefined before it was set. */
  state(reader: StorageReader): BeefyState | undefined {
    const stored = this.#parts.ismp.storage.consensusStates.get(reader, beefyStateId);
    return stored === undefined ? undefined : decodeStrict(beefyStateCodec, stored, "ConsensusState");
  }

  #latest({ overlay }: Execution): bigint {
    return this.#parts.ismp.storage.latestHeight.get(overlay, this.#self) ?? 0n;
  }

  #childTrieRoot({ overlay }: Execution, height: bigint): Hash256 | undefined {
    return this.#parts.ismp.storage.stateCommitments.get(overlay, this.#self, height)?.overlayRoot;
  }

  /** The rules of the light client; stores the new state and the commitments. */
  #verify(execution: Execution, before: BeefyState, proof: NaiveProof): BeefyState {
    const { ismp } = this.#parts;
    const { overlay } = execution;
    if (ismp.storage.frozenConsensusClients.get(overlay, beefyStateId) === true) fail("VerificationFailed");
    const updatedSec = ismp.storage.consensusClientUpdateTimeSec.get(overlay, beefyStateId) ?? 0n;
    if (execution.nowSec - updatedSec >= unbondingSec) fail("VerificationFailed");
    if (proof.relay.commitment.blockNumber <= before.latestBeefyHeight) fail("StaleProof");
    const { state } = refusing(
      "VerificationFailed",
      () => runAtOnce(verifyNaiveProof(clientState(before), proof)),
    );
    const after: BeefyState = {
      ...before,
      latestBeefyHeight: Number(state.latestHeight),
      current: state.current,
      next: state.next,
    };
    ismp.storage.consensusStates.put(overlay, beefyStateCodec.enc(after), beefyStateId);
    ismp.storage.consensusClientUpdateTimeSec.put(overlay, execution.nowSec, beefyStateId);
    ismp.storeCommitments(execution, this.#self, this.#ownHeights(proof));
    return after;
  }

  /** Unlike EVM hosts the hub keeps the child trie root as overlay root, and the state root of the header. */
  #ownHeights({ parachain }: NaiveProof): readonly StateCommitmentHeight[] {
    const ownParaId = toParaId(this.#parts.stateMachine);
    return parachain.heads.filter(({ paraId }) => paraId === ownParaId).map(({ header }) => {
      const own = decodeSubstrateHeader(header);
      const { timestampSec, stateRoot: childTrieRoot } = hubCommitment(own);
      const commitment = { timestampSec, overlayRoot: childTrieRoot, stateRoot: own.stateRoot };
      return { height: BigInt(own.number), commitment };
    });
  }
}

function fail(code: string, cause?: unknown): never {
  throw new DispatchError("BeefyConsensusProofs", code, { cause });
}

function refusing<T>(code: string, read: () => T): T {
  return converted(BeefyError, (cause) => fail(code, cause), read);
}

/** The trusted state in the form of EVM hosts. */
export function clientState(state: BeefyState): BeefyClientState {
  return {
    latestHeight: BigInt(state.latestBeefyHeight),
    beefyActivationBlock: BigInt(state.beefyActivationBlock),
    current: state.current,
    next: state.next,
  };
}
