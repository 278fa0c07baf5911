/**
 * Pallet BeefyConsensusProofs: the hub's light client of itself, and the proofs that relayers take on to EVM hosts.
 * The proofs are those of the devnet (`evm/hub_proof.ts`); what they must bring is checked as the live pallet does.
 * Source: polytope-labs/hyperbridge: modules/pallets/beefy-consensus-proofs/src/lib.rs.
 */
import {
  equalBytes,
  fromHex,
  type Hash256,
  type Hex,
  toHash256,
  toHex,
} from "../../../../src/core/protocol/bytes.ts";
import { keccak256 } from "../../../../src/core/protocol/hash.ts";
import { recoverEvmAddress, SignatureError } from "../../../../src/core/protocol/ismp/signed_messages.ts";
import {
  type ConsensusStateId,
  paraIdOf,
  type StateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../../src/core/protocol/ismp/state_machine.ts";
import { decodeStrict, hash256, Option, u128, u32, u64 } from "../../../../src/core/protocol/scale.ts";
import {
  type AuthoritySet,
  decodeConsensusState,
  decodeHubProof,
  type HubCommitment,
  type SignedStatement,
} from "../../evm/hub_proof.ts";
import { DispatchError, type Execution } from "../runtime.ts";
import type { StorageReader } from "../storage.ts";
import { type BalancesPallet, treasuryAccount } from "./balances.ts";
import {
  type BeefyAuthorities,
  type BeefyProofStorage,
  type BeefyState,
  beefyStateCodec,
} from "./beefy_storage.ts";
import { beefyClientId } from "./consensus_clients.ts";
import type { IsmpPallet } from "./ismp.ts";

/** Consensus state of the hub's client of itself. */
export const beefyStateId: ConsensusStateId = toConsensusStateId("BEEF");

/** Unbonding period given to the client, seconds (protocol notes 05, section 5.12). */
const unbondingSec = 5_832_000n;
/** Proof types: naive and SP1. The devnet's proofs say the same in both. */
const proofTypes = [0, 1];
const zeroHash: Hash256 = `0x${"00".repeat(32)}`;

/** A block of the hub as its own header shows it. */
export interface OwnHeader {
  readonly timestampSec: bigint;
  readonly mmrRoot: Hash256;
  readonly childTrieRoot: Hash256;
  readonly stateRoot: Hash256;
}

/** What came of a proof. */
export interface AcceptedProof {
  /** Hub height that is proven now. */
  readonly height: bigint;
  /** Authority set that became the current one; undefined for messaging proofs. */
  readonly newSetId: bigint | undefined;
}

/** What the pallet works with. */
export interface BeefyProofParts {
  readonly storage: BeefyProofStorage;
  readonly ismp: IsmpPallet;
  readonly balances: BalancesPallet;
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
    const decoded = orFail("AbiDecodeFailed", () => decodeConsensusState(toHex(abiState)));
    const state: BeefyState = {
      latestBeefyHeight: Number(decoded.latestHeight),
      beefyActivationBlock: Number(decoded.beefyActivationBlock),
      mmrRootHash: zeroHash,
      current: authoritiesOf(decoded.currentAuthoritySet),
      next: authoritiesOf(decoded.nextAuthoritySet),
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
    execution.emit("BeefyConsensusProofs", "StateInitialized", {
      current_set_id: u64.enc(state.current.id),
      next_set_id: u64.enc(state.next.id),
      latest_beefy_height: u32.enc(state.latestBeefyHeight),
    });
  }

  /** Reward of the first prover of a height, from the treasury. */
  setProofReward(execution: Execution, reward: bigint): void {
    this.#parts.storage.proofReward.put(execution.overlay, reward);
    execution.emit("BeefyConsensusProofs", "ProofRewardUpdated", { new_reward: u128.enc(reward) });
  }

  /**
   * Accepts a proof, as `submit_proof` does.
   * @param ownHeader the hub's final header of a height; a proof that says otherwise is refused.
   * @throws {DispatchError} with an error of the pallet.
   */
  submitProof(
    execution: Execution,
    submission: { readonly submitter: Hash256; readonly proof: Uint8Array },
    ownHeader: (height: bigint) => OwnHeader | undefined,
  ): AcceptedProof {
    const { overlay } = execution;
    const { storage } = this.#parts;
    const { proof, submitter } = submission;
    if (!proofTypes.includes(proof[0] ?? 255)) fail("UnknownProofType");
    const before = this.state(overlay) ?? fail("NotInitialized");
    const provenBefore = this.#latest(execution);
    const signed = orFail("AbiDecodeFailed", () => decodeHubProof(toHex(proof)));
    const after = this.#verify(execution, before, signed, ownHeader);
    const height = this.#latest(execution);
    if (after.next.id !== after.current.id + 1n) fail("UnexpectedAuthoritySet");
    const isRotation = after.current.id > before.current.id;
    if (!isRotation && height <= provenBefore) fail("StaleProof");
    const root = this.#childTrieRoot(execution, height) ?? fail("MissingChildTrieRoot");
    const isNews = root !== (storage.lastRewardedDispatchRoot.get(overlay) ?? zeroHash) &&
      height > provenBefore;
    if (!isRotation && !isNews) fail("NoNewWork");
    if (isNews) storage.lastRewardedDispatchRoot.put(overlay, root);
    const rewarded = this.#pay(execution, submitter, isRotation);
    if (isRotation) storage.keepRotationProof(overlay, after.current.id, height, proof);
    else storage.keepMessagingProof(overlay, height, proof);
    const newSetId = isRotation ? after.current.id : undefined;
    execution.emit("BeefyConsensusProofs", "ProofAccepted", {
      submitter: hash256.enc(submitter),
      height: u64.enc(height),
      new_set_id: Option(u64).enc(newSetId),
      rewarded: u128.enc(rewarded),
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
  #verify(
    execution: Execution,
    before: BeefyState,
    signed: SignedStatement,
    ownHeader: (height: bigint) => OwnHeader | undefined,
  ): BeefyState {
    const { ismp } = this.#parts;
    const { overlay } = execution;
    const { statement } = signed;
    if (ismp.storage.frozenConsensusClients.get(overlay, beefyStateId) === true) fail("VerificationFailed");
    const updatedSec = ismp.storage.consensusClientUpdateTimeSec.get(overlay, beefyStateId) ?? 0n;
    if (execution.nowSec - updatedSec >= unbondingSec) fail("VerificationFailed");
    if (statement.blockNumber <= BigInt(before.latestBeefyHeight)) fail("StaleProof");
    const signers = [before.current, before.next].find(({ id }) => id === statement.validatorSetId) ??
      fail("VerificationFailed");
    if (authorityRoot(signed) !== signers.root) fail("VerificationFailed");
    const rotates = statement.nextAuthoritySet.id > before.next.id;
    const after: BeefyState = {
      ...before,
      latestBeefyHeight: Number(statement.blockNumber),
      current: rotates ? before.next : before.current,
      next: rotates ? authoritiesOf(statement.nextAuthoritySet) : before.next,
    };
    ismp.storage.consensusStates.put(overlay, beefyStateCodec.enc(after), beefyStateId);
    ismp.storage.consensusClientUpdateTimeSec.put(overlay, execution.nowSec, beefyStateId);
    const own = statement.commitments.filter(({ paraId }) =>
      paraId === BigInt(paraIdOf(this.#parts.stateMachine))
    );
    ismp.storeCommitments(
      execution,
      this.#self,
      own.map((claimed) => {
        const { timestampSec, childTrieRoot, stateRoot } = requireHeader(claimed, ownHeader);
        return {
          height: claimed.height,
          commitment: { timestampSec, overlayRoot: childTrieRoot, stateRoot },
        };
      }),
    );
    return after;
  }

  /** The treasury's lack of funds stops a messaging proof, not a rotation. */
  #pay(execution: Execution, submitter: Hash256, isRotation: boolean): bigint {
    const reward = this.#parts.storage.proofReward.get(execution.overlay) ?? 0n;
    if (reward === 0n) return 0n;
    const move = { from: treasuryAccount, to: submitter, amount: reward };
    if (this.#parts.balances.transfer(execution, move, true)) return reward;
    return isRotation ? 0n : fail("RewardTransferFailed");
  }
}

function fail(code: string, cause?: unknown): never {
  throw new DispatchError("BeefyConsensusProofs", code, { cause });
}

/** viem tells undecodable bytes by many classes of errors. */
function orFail<T>(code: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    return fail(code, cause);
  }
}

function authoritiesOf({ id, len, root }: AuthoritySet): BeefyAuthorities {
  return { id, len, root: toHash256(root) };
}

/** Root of the set whose only member signed; no set's root when nobody can be recovered. */
function authorityRoot({ digest, signature }: SignedStatement): Hex | undefined {
  try {
    return toHex(keccak256(recoverEvmAddress(toHash256(digest), fromHex(signature))));
  } catch (error) {
    if (error instanceof SignatureError) return undefined;
    throw error;
  }
}

/** A live proof carries the header itself: what it says of a height is what the hub's header says. */
function requireHeader(
  claimed: HubCommitment,
  ownHeader: (height: bigint) => OwnHeader | undefined,
): OwnHeader {
  const header = ownHeader(claimed.height);
  const isTrue = header !== undefined && header.timestampSec === claimed.timestampSec &&
    equalBytes(fromHex(header.mmrRoot), fromHex(claimed.mmrRoot)) &&
    equalBytes(fromHex(header.childTrieRoot), fromHex(claimed.childTrieRoot));
  return isTrue ? header : fail("VerificationFailed");
}
