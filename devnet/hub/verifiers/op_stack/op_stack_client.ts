/**
 * The hub's client of OP stack chains. Its rules are written for the hub alone: a mistake of the relayer's verifier is
 * none of the hub's. SCALE is the relayer's, which vectors of the hub check. Rules: docs/protocol/evm-consensus.md section 7.4;
 * polytope-labs/hyperbridge: modules/ismp/clients/{optimism,ismp-optimism}/src/lib.rs; names of its errors: optimism/src/error.rs.
 */
import { createCodec } from "scale-ts";
import {
  decodeGameRules,
  type DisputeGameKind,
  type DisputeGameProof,
  type DisputeGameRules,
  encodeGameRules,
  opStackStatePrefixCodec,
  opStackUpdateCodec,
  type OutputOracleProof,
} from "../../../../src/consensus/clients/op_stack/spec/update.ts";
import type { Address } from "../../../../src/core/evm/address.ts";
import { hashBlockHeader } from "../../../../src/core/evm/block_header.ts";
import {
  evmChainId,
  type IntermediateState,
  isEvm,
  type StateMachine,
  type StateMachineHeight,
  type StateMachineId,
} from "../../../../src/core/ismp/state_machine.ts";
import { type Codec, decodePrefix, ScaleError, u64 } from "../../../../src/core/encoding/scale.ts";
import { keccak_256 } from "@noble/hashes/sha3.js";
import {
  concatBytes,
  equalBytes,
  fromHex,
  type Hash256,
  toHash256,
} from "../../../../src/core/encoding/bytes.ts";
import { accountStorageRoot, slotValue } from "../ethereum_state.ts";
import { ClientRefusal, converted, ProofRefusal, require } from "../refusals.ts";

/** Rules as the hub stores them. */
export const rulesLayout: Codec<DisputeGameRules> = createCodec<DisputeGameRules>(
  encodeGameRules,
  (stored) => {
    if (stored instanceof Uint8Array) return decodeGameRules(stored);
    throw new ScaleError("invalid", "DisputeGameRules");
  },
);

/** The hub's storage, as far as the client reads it. */
interface OpStackStorage {
  stateRoot(at: StateMachineHeight): Hash256 | undefined;
  rules(id: StateMachineId): DisputeGameRules | undefined;
  oracle(id: StateMachineId): Address | undefined;
  isBlacklisted(id: StateMachineId, proxy: Address): boolean;
}

/** What the client stores; no commitment: the update is accepted and ignored. */
interface OpStackAnswer {
  readonly state: Uint8Array;
  readonly commitment: IntermediateState | undefined;
}

interface Block {
  readonly height: bigint;
  readonly timestampSec: bigint;
  readonly stateRoot: Hash256;
}

/** Makes of an update what the hub makes of it. @throws {ClientRefusal} */
export function checkOpStackUpdate(
  trusted: Uint8Array,
  update: Uint8Array,
  storage: OpStackStorage,
): OpStackAnswer {
  const { l1Height, proof } = read(opStackUpdateCodec, update, "DecodeConsensusUpdate");
  const { stateMachineId: id, l1StateMachineId: l1 } = read(
    opStackStatePrefixCodec,
    trusted,
    "DecodeConsensusState",
  );
  const root = storage.stateRoot({ id: l1, height: l1Height });
  require(root !== undefined, "L1CommitmentMissing");
  const block = proven(() =>
    proof.tag === "OpFaultProofGames"
      ? checkGame(proof.value, { id, root, rules: storage.rules(id), storage })
      : checkOutput(proof.value, root, storage.oracle(id))
  );
  if (block === undefined) return { state: trusted, commitment: undefined };
  const height = block.height % 2n ** 64n;
  return {
    // The height is the first field, and the others stay.
    state: concatBytes(u64.enc(height), trusted.subarray(8)),
    commitment: {
      height: {
        id: { stateMachine: id.stateMachine, consensusStateId: l1.consensusStateId },
        height,
      },
      commitment: {
        timestampSec: block.timestampSec,
        overlayRoot: undefined,
        stateRoot: block.stateRoot,
      },
    },
  };
}

function checkGame(
  proof: DisputeGameProof,
  { id, root, rules, storage }: {
    readonly id: StateMachineId;
    readonly root: Hash256;
    readonly rules: DisputeGameRules | undefined;
    readonly storage: OpStackStorage;
  },
): Block | undefined {
  if (rules === undefined) return undefined;
  const { proxy, gameType, extraData, header } = proof;
  require(!storage.isBlacklisted(id, proxy), "DisputeGameBlacklisted");
  const config = rules.gameTypes.find((each) => each.gameType === gameType);
  require(config !== undefined, "UnsupportedGameType");
  const factory = accountStorageRoot(proof.disputeFactoryProof, root, fromHex(rules.factory));
  const output = outputOf(proof, fromHex(hashBlockHeader(header)));
  const { tag } = config.kind;
  const isSuper = tag === "SuperFaultDisputeGame" || tag === "SuperPermissionedDisputeGame";
  if (isSuper) checkSuperRoot(extraData, id.stateMachine, output);
  const claim = isSuper ? keccak_256(extraData) : output;
  const padding = new Uint8Array((32 - extraData.length % 32) % 32);
  const uuid = keccak_256(
    concatBytes(number(gameType), claim, number(96), number(extraData.length), extraData, padding),
  );
  const game = slotValue(proof.disputeGameProof, factory, entry(uuid, 103));
  require(game !== undefined, "DisputeGameIdMissing");
  const gameId = BigInt(gameType) << 224n | proof.timestampSec << 160n | BigInt(proxy);
  require(equalBytes(game, number(gameId)), "DisputeGameIdMismatch");
  const implementation = slotValue(proof.gameImplProof, factory, entry(number(gameType), 101));
  require(implementation !== undefined, "GameImplsMissing");
  require(
    equalBytes(implementation, number(BigInt(config.expectedImplementation))),
    "GameImplMismatch",
  );
  checkSound(proof, config.kind, root);
  return { height: header.number, timestampSec: header.timestampSec, stateRoot: header.stateRoot };
}

/** Checks that nobody contests the game. */
function checkSound(
  proof: DisputeGameProof,
  kind: DisputeGameKind,
  root: Hash256,
): void {
  const valueOf = (account: Address, slot: Uint8Array): bigint | undefined => {
    const storageRoot = accountStorageRoot(proof.proxyAccountProof, root, fromHex(account));
    const value = slotValue(proof.challengeProof, storageRoot, slot);
    return value && BigInt(toHash256(value));
  };
  switch (kind.tag) {
    case "OPSuccinct":
      return;
    case "FaultDisputeGame":
    case "SuperFaultDisputeGame": {
      const isSuper = kind.tag === "SuperFaultDisputeGame";
      const claims = valueOf(proof.proxy, number(isSuper ? 1 : 2));
      require(claims !== undefined, "ClaimDataSlotMissing");
      return require(claims === 1n, isSuper ? "SuperFaultDisputeGameChallenged" : "DisputeGameChallenged");
    }
    case "AggregateVerifier":
      return require((valueOf(proof.proxy, number(5)) ?? 0n) === 0n, "DisputeGameChallenged");
    case "SuperPermissionedDisputeGame": {
      const slot = entry(number(BigInt(proof.proxy)), 5);
      const isListed = (valueOf(kind.value.anchorStateRegistry, slot) ?? 0n) !== 0n;
      return require(!isListed, "SuperPermissionedGameBlacklisted");
    }
  }
}

function checkSuperRoot(extraData: Uint8Array, chain: StateMachine, output: Uint8Array): void {
  require(extraData.length > 9, "SuperRootTooShort");
  require(extraData[0] === 1, "SuperRootVersionMismatch");
  const rest = extraData.slice(9);
  require(rest.length % 64 === 0, "SuperRootMalformed");
  const entries = Array.from({ length: rest.length / 64 }, (_, at) => ({
    chainId: BigInt(toHash256(rest.slice(64 * at, 64 * at + 32))),
    root: rest.slice(64 * at + 32, 64 * at + 64),
  }));
  const isAscending = entries.every(({ chainId }, at) => chainId > (entries[at - 1]?.chainId ?? -1n));
  require(isAscending, "SuperRootNotAscending");
  const own = entries.find(({ chainId }) => isEvm(chain) && chainId === BigInt(evmChainId(chain)));
  require(own !== undefined, "SuperRootChainNotFound");
  require(equalBytes(own.root, output), "SuperOutputRootMismatch");
}

function checkOutput(
  proof: OutputOracleProof,
  root: Hash256,
  oracle: Address | undefined,
): Block | undefined {
  if (oracle === undefined) return undefined;
  const storage = accountStorageRoot(proof.l2OracleProof, root, fromHex(oracle));
  const item = BigInt(toHash256(keccak_256(number(3)))) + 2n * proof.outputRootIndex;
  const claimed = slotValue(proof.outputRootProof, storage, number(item % 2n ** 256n));
  const output = outputOf(proof, fromHex(proof.l2BlockHash));
  require(claimed !== undefined && equalBytes(claimed, output), "OutputRootMismatch");
  const packed = slotValue(proof.multiProof, storage, number((item + 1n) % 2n ** 256n));
  const expected = proof.blockNumber << 128n | proof.timestampSec;
  require(packed !== undefined && equalBytes(packed, number(expected)), "OutputMismatch");
  return { height: proof.blockNumber, timestampSec: proof.timestampSec, stateRoot: proof.stateRoot };
}

/** The output root of a block. */
function outputOf(
  proof: Pick<OutputOracleProof, "version" | "withdrawalStorageRoot"> & {
    readonly stateRoot?: Hash256;
    readonly header?: { readonly stateRoot: Hash256 };
  },
  blockHash: Uint8Array,
): Uint8Array {
  const stateRoot = proof.stateRoot ?? proof.header?.stateRoot;
  if (stateRoot === undefined) throw new Error("A claim without a state root");
  return keccak_256(
    concatBytes(fromHex(proof.version), fromHex(stateRoot), fromHex(proof.withdrawalStorageRoot), blockHash),
  );
}

/** A number as a word. */
function number(value: number | bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, "0"));
}

/** Slot of a mapping's entry. */
function entry(key: Uint8Array, slot: number): Uint8Array {
  return keccak_256(concatBytes(key, number(slot)));
}

function read<T>(codec: Codec<T>, bytes: Uint8Array, code: string): T {
  const refusal = (cause: ScaleError): Error => new ClientRefusal(code, { cause });
  return converted(ScaleError, refusal, () => decodePrefix(codec, bytes, code));
}

function proven<T>(check: () => T): T {
  return converted(ProofRefusal, (cause) => new ClientRefusal("InvalidProof", { cause }), check);
}
