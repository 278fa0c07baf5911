/**
 * Storage of pallet Relayer, and the proofs that all of its calls read.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{lib,accumulate}.rs.
 */
import { _void as unit } from "scale-ts";
import { RLP } from "@ethereumjs/rlp";
import { type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { type Signature, signatureCodec } from "../../../src/core/ismp/fees.ts";
import type { Proof } from "../../../src/core/ismp/proof.ts";
import { toSignerBytes } from "../../../src/core/ismp/signed_messages.ts";
import { isEvm, type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import {
  bytes,
  type Codec,
  decodeStrict,
  hash256,
  ScaleError,
  u128,
  u256,
  u64,
} from "../../../src/core/encoding/scale.ts";
import { DispatchError, type Execution } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";
import type { BalancesPallet } from "./balances.ts";
import type { HostExecutivePallet } from "./host_executive.ts";
import type { IsmpPallet } from "./ismp.ts";
import { converted } from "../verifiers/refusals.ts";
import { IsmpError } from "./ismp_error.ts";
import { requireCommitment, validateStateMachine } from "./ismp_storage.ts";
import { isSubstrate, type ProvenValues, readState, type StateMachineClient } from "./state_machines.ts";

/** Paid out at the least unless governance set another amount: 10 tokens of 18 decimals. */
export const defaultMinimumWithdrawal = 10n ** 19n;

/** Storage items. Amounts are units of the fee token of the chain where the fee was paid. */
export class RelayerStorage extends PalletStorage {
  readonly fees = this.item("Fees", [stateMachineCodec, bytes], u256);
  readonly nonce = this.item("Nonce", [bytes, stateMachineCodec], u64);
  readonly minimumWithdrawal = this.item("MinimumWithdrawalAmount", [stateMachineCodec], u256);
  /** In the native token, as the other reward. */
  readonly consensusReward = this.item("OutboundConsensusDeliveryReward", [stateMachineCodec], u128);
  readonly rotationsClaimed = this.item("OutboundConsensusRotationsClaimed", [stateMachineCodec, u64], unit);
  readonly requestReward = this.item("OutboundRequestDeliveryReward", [bytes], u128);
  readonly requestsClaimed = this.item("OutboundRequestsClaimed", [hash256], unit);

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "Relayer");
  }
}

/** What the calls of the pallet work with. */
export interface RelayerParts {
  readonly storage: RelayerStorage;
  readonly ismp: IsmpPallet;
  readonly hostExecutive: HostExecutivePallet;
  readonly balances: BalancesPallet;
  /**
   * EVM chains whose slots are read as words of 32 bytes. At HEAD those of Pharos only, so claims with Polkadot Hub, whose
   * proofs show words as well, are refused: a later runtime has to add it.
   */
  readonly wordChains: Set<StateMachine>;
}

/** Fails a call with an error of the pallet. */
export function refuse(code: string, cause?: unknown): never {
  throw new DispatchError("Relayer", code, { cause });
}

/** Runs a part of a call; what the message handlers find wrong there becomes an error of the pallet. */
export function orRefuse<T>(code: string, run: () => T): T {
  return converted(IsmpError, (cause) => refuse(code, cause), run);
}

/** The verifier of a proof, once its height may be used. @throws {IsmpError} */
export function verifierOf(parts: RelayerParts, execution: Execution, proof: Proof): StateMachineClient {
  return validateStateMachine(parts.ismp.host(execution), execution, proof.height);
}

/**
 * Values of a chain's ISMP host: under the state root of EVM chains, under the child trie root of others.
 * @throws {IsmpError}
 */
export function readHostState(
  parts: RelayerParts,
  execution: Execution,
  { client, proof, keys }: {
    readonly client: StateMachineClient;
    readonly proof: Proof;
    readonly keys: readonly Uint8Array[];
  },
): ProvenValues {
  const host = parts.ismp.host(execution);
  const state = requireCommitment(host, execution, proof.height);
  const root = isEvm(proof.height.id.stateMachine) ? state.stateRoot : state.overlayRoot;
  if (root === undefined) {
    throw new IsmpError("state_proof_verification_failed", "the commitment has no overlay root");
  }
  return readState(client, host, { keys, root, proof });
}

/** The relayer in a proven receipt. @throws {DispatchError} */
export function receiptRelayer(parts: RelayerParts, chain: StateMachine, receipt: Uint8Array): Uint8Array {
  if (isEvm(chain)) return slotAddress(parts, chain, receipt) ?? refuse("ProofValidationError");
  if (!isSubstrate(chain)) refuse("MismatchedStateMachine");
  const signer = decodeOr("ProofValidationError", bytes, receipt);
  if (signer.length <= 32) return signer;
  return toSignerBytes(decodeOr<Signature>("SignatureDecodingError", signatureCodec, signer));
}

/** The address in a slot; `undefined` when it holds none that the hub can read. */
export function slotAddress(
  { wordChains }: RelayerParts,
  chain: StateMachine,
  value: Uint8Array,
): Uint8Array | undefined {
  if (!wordChains.has(chain)) return rlpAddress(value);
  return value.length === 32 ? value.slice(12) : undefined;
}

/** The number in a slot; `undefined` when it holds none that the hub can read. */
export function slotNumber(
  { wordChains }: RelayerParts,
  chain: StateMachine,
  value: Uint8Array,
): bigint | undefined {
  if (!wordChains.has(chain)) return rlpUint(value);
  return value.length === 32 ? BigInt(toHex(value)) : undefined;
}

/**
 * A 20-byte address in RLP. Solidity's storage drops leading zero bytes, which the hub's decoder does not forgive:
 * such an address counts as none.
 */
function rlpAddress(value: Uint8Array): Uint8Array | undefined {
  const found = rlpString(value);
  return found?.length === 20 ? found : undefined;
}

/** An unsigned integer in RLP. @returns undefined for anything else. */
function rlpUint(value: Uint8Array): bigint | undefined {
  const found = rlpString(value);
  if (found === undefined || found.length > 32 || found[0] === 0) return undefined;
  return found.length === 0 ? 0n : BigInt(toHex(found));
}

function rlpString(value: Uint8Array): Uint8Array | undefined {
  try {
    const item = RLP.decode(value);
    return item instanceof Uint8Array ? item : undefined;
  } catch {
    // The library's errors have no class of their own: whatever it does not read is no string.
    return undefined;
  }
}

/** Decodes a stored value. @throws {DispatchError} `code` when it is none of the type. */
export function decodeOr<T>(code: string, codec: Codec<T>, value: Uint8Array): T {
  return converted(ScaleError, (cause) => refuse(code, cause), () => decodeStrict(codec, value, "value"));
}

/** `BoundedVec<u8, 32>` of an address, cut as the pallet's events cut it. */
export function eventAddress(address: Uint8Array): Uint8Array {
  return bytes.enc(address.slice(0, 32));
}

/** 32 bytes of an account, undefined for other lengths. */
export function accountOf(address: Uint8Array): Hash256 | undefined {
  return address.length === 32 ? toHex(address) : undefined;
}
