/**
 * Common parts of the hub's clients of both kinds of rollups: identifiers, periods, commitments. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/{ismp-optimism,ismp-arbitrum}/src/lib.rs,
 * tesseract/consensus/{op-host,arb-host}/src/host.rs (initial consensus state).
 */
import { ClientError, mapError } from "../../spec/client_error.ts";
import { type ProofNodes, provenStorageRoot, provenWord } from "./l1_storage.ts";
import { concatBytes, type Hash256, type Hex } from "../../../core/encoding/bytes.ts";
import { type Codec, u64, u8 } from "../../../core/encoding/scale.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  evmChainId,
  type StateMachineId,
  stateMachineIdCodec,
  toConsensusStateId,
} from "../../../core/ismp/state_machine.ts";
import { blake2Concat, storagePrefix } from "../../../core/ismp/storage_keys.ts";
import { EvmProofError } from "../../../core/merkle/evm_proof.ts";
import { type CodecType, enhanceCodec } from "scale-ts";
import {
  type AbiParameter,
  concatHex,
  decodeAbiParameters,
  type DecodeAbiParametersReturnType,
  encodeAbiParameters,
} from "viem";

/** Leading fields of the consensus state of every rollup client. */
export const rollupStateFields = {
  /** Height of the last accepted claim; a later update may lower it again. */
  finalizedHeight: u64,
  /** The rollup under the id of its own client, e.g. `EVM-10/OPT0`: contracts and blacklists are kept under it. */
  stateMachineId: stateMachineIdCodec,
  /** The L1 as its own client knows it, e.g. `EVM-1/ETH0`: claims are proved in its state. */
  l1StateMachineId: stateMachineIdCodec,
};

/** Leading part of the consensus state of every rollup client. */
export type RollupClientState = {
  readonly [Field in keyof typeof rollupStateFields]: CodecType<(typeof rollupStateFields)[Field]>;
};

/** Key of an item of one rollup in a pallet. @param id under the rollup's own client. */
export function rollupKey(pallet: string, item: string, id: StateMachineId): Uint8Array {
  return concatBytes(storagePrefix(pallet, item), blake2Concat(stateMachineIdCodec.enc(id)));
}

/** Seconds for which a rollup client may go without an update: it never expires. */
export const ROLLUP_UNBONDING_SEC = 2n ** 64n - 1n;

/**
 * Id under which commitments of a rollup are stored: the rollup's chain with the consensus state id of the L1.
 * Heights of the rollup on the hub and messages go by this id, client and contracts by the rollup's own.
 */
export function commitmentIdOf(state: RollupClientState): StateMachineId {
  return {
    stateMachine: state.stateMachineId.stateMachine,
    consensusStateId: state.l1StateMachineId.consensusStateId,
  };
}

/**
 * SCALE of the way in which claims are made: one byte. `unknown` for a variant that is newer than this program; the hub
 * accepts proofs of any, so it decides only where claims are searched.
 */
export function consensusTypeCodec<const Name extends string>(
  names: readonly Name[],
): Codec<Name | "unknown"> {
  return enhanceCodec(
    u8,
    (name: Name | "unknown") => name === "unknown" ? -1 : names.indexOf(name),
    (index) => names[index] ?? "unknown",
  );
}

const known: ReadonlyMap<number, { readonly id: string; readonly contract: Address }> = new Map([
  [42161, { id: "ARB0", contract: "0x4dceb440657f21083db8add07665f8ddbe1dcfc0" }],
  [421614, { id: "ARB0", contract: "0x042b2e6c5e99d4c521bd49beed5e99651d9b0cf4" }],
  [10, { id: "OPT0", contract: "0xe5965ab5962edc7477c8520243a95517cd252fa9" }],
  [11155420, { id: "OPT0", contract: "0x05f9613adb30026ffd634f38e5c4dfd30a197fa1" }],
  [8453, { id: "BASE", contract: "0x43edb88c4b80fdd2adff2412a7bebf9df42cb40e" }],
  [84532, { id: "BASE", contract: "0xd6e6dbf4f7ea0ac412fd8b65ed297e64bb7a06e1" }],
  [130, { id: "UNI0", contract: "0x2f12d621a16e2d3285929c9996f478508951dfe4" }],
  [1868, { id: "SON0", contract: "0x512a3d2c7a43bd9261d2b8e8c9c70d4bd4d503c0" }],
]);

/** Contract of the L1 in which claims about a rollup are made; `undefined` where it is not known here. */
export function knownClaimContract(chainId: number): Address | undefined {
  return known.get(chainId)?.contract;
}

/**
 * Finds the id of a rollup's own client; `undefined`: none is known. Configurations often name the id of its commitments
 * instead, which is the L1's: then the one known for the chain. @param rollup as configured. @param clientOnHub client of
 * the configured id on the hub (`Ismp.ConsensusStateClient`); undefined when the hub has no such id.
 */
export function findRollupClient(
  { stateMachine, consensusStateId }: StateMachineId,
  l1ConsensusStateId: ConsensusStateId,
  clientOnHub: ConsensusClientId | undefined,
): ConsensusStateId | undefined {
  const isRollupClient = clientOnHub === consensusClientIds.opStack ||
    clientOnHub === consensusClientIds.arbitrum;
  if (consensusStateId !== l1ConsensusStateId && isRollupClient) return consensusStateId;
  const id = known.get(evmChainId(stateMachine))?.id;
  return id === undefined ? undefined : toConsensusStateId(id);
}

/** An update that the hub would refuse, or a state that it could not read. */
export class RollupUpdateError<Code extends string = string> extends ClientError<Code> {
  override readonly name = "RollupUpdateError";
}

function fromL1Proof<T>(code: string, read: () => T): T {
  return mapError(EvmProofError, read, (cause) => new RollupUpdateError(code, { cause }));
}

/**
 * Returns the proven storage root of a contract of the L1. @throws {RollupUpdateError} with `code` when the proof is
 * inconclusive.
 */
export function requireStorageRoot(
  code: string,
  { nodes, stateRoot, contract }: {
    readonly nodes: ProofNodes;
    readonly stateRoot: Hash256;
    readonly contract: Address;
  },
): Hash256 {
  return fromL1Proof(code, () => provenStorageRoot(nodes, stateRoot, contract));
}

/** A slot of a contract, with nodes that prove it. */
interface ProvenSlot {
  readonly nodes: ProofNodes;
  readonly root: Hash256;
  readonly slot: Hash256;
}

/**
 * Returns the proven word of a slot; `undefined` when it is empty. @param name of the word in codes. @throws
 * {RollupUpdateError} `<name>_proof` when the proof is inconclusive
 */
export function findWord(name: string, { nodes, root, slot }: ProvenSlot): Hash256 | undefined {
  return fromL1Proof(`${name}_proof`, () => provenWord(nodes, root, slot));
}

/** Like {@link findWord} for a slot that must not be empty. @throws {RollupUpdateError} also `<name>_missing` */
export function requireWord(name: string, proven: ProvenSlot): Hash256 {
  const found = findWord(name, proven);
  if (found === undefined) throw new RollupUpdateError(`${name}_missing`);
  return found;
}

/** Relation that does not hold. */
export type RollupDataErrorCode =
  /** A log has the topic of the event but does not match its ABI. */
  | "malformed_event"
  /** The block is not the one that the claim is about. */
  | "wrong_block"
  /** The claim does not follow from the rollup's own block. */
  | "false_claim";

/** Contradictory data: a false claim, or a faulty or dishonest node. */
export class RollupDataError extends ClientError<RollupDataErrorCode> {
  override readonly name = "RollupDataError";
}

/** Layout of an event whose indexed arguments are all single words. */
interface EventLayout<P extends readonly AbiParameter[]> {
  readonly topic0: Hex;
  /** All arguments in order, the indexed ones first. */
  readonly parameters: P;
  readonly indexedCount: number;
}

/**
 * Decodes the arguments of a log; undefined for another contract or event. @param contract lower case. @throws
 * {RollupDataError} `malformed_event`
 */
export function readEvent<const P extends readonly AbiParameter[]>(
  log: RawLog,
  contract: Hex,
  layout: EventLayout<P>,
): DecodeAbiParametersReturnType<P> | undefined {
  const [topic0, ...indexed] = log.topics;
  if (log.address.toLowerCase() !== contract || topic0?.toLowerCase() !== layout.topic0) return undefined;
  const matchesLayout = indexed.length === layout.indexedCount &&
    indexed.every((topic) => topic.length === 66);
  const values = matchesLayout
    ? decodeAbiStrict(layout.parameters, concatHex([...indexed, log.data]))
    : undefined;
  if (values === undefined) throw new RollupDataError("malformed_event");
  return values;
}

/** Decodes ABI parameters; `undefined` unless they are canonical, without trailing bytes or dirty padding. */
export function decodeAbiStrict<const P extends readonly AbiParameter[]>(
  parameters: P,
  encoded: Hex,
): DecodeAbiParametersReturnType<P> | undefined {
  try {
    const values = decodeAbiParameters(parameters, encoded);
    const again = encodeAbiParameters<readonly AbiParameter[]>(parameters, [...values]);
    return again === encoded.toLowerCase() ? values : undefined;
  } catch {
    return undefined; // the library's errors have no code
  }
}
