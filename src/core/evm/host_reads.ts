/**
 * `eth_call` of the host's getters: calldata and readers of the answers. Zero words become `undefined`. Source:
 * polytope-labs/hyperbridge: evm/src/core/EvmHost.sol.
 */
import { decodeFunctionResult, encodeFunctionData, getAbiItem, toFunctionSelector } from "viem";
import { fromHex, type Hash256, type Hex, toHash256 } from "../encoding/bytes.ts";
import { nameVariant, type UnknownVariant } from "../encoding/scale.ts";
import { type StateCommitment, type StateMachine, stateMachineFromBytes } from "../ismp/state_machine.ts";
import { type Address, presentAddress, toAddress } from "./address.ts";
import { erc20Abi, evmHostAbi } from "./host_abi.ts";

/** Answer that does not decode as the getter's result (for example `0x` from an address without code). */
export class HostReadError extends Error {
  override readonly name = "HostReadError";
  readonly code = "malformed_result";
  constructor(readonly getter: string, options?: ErrorOptions) {
    super(`Read ${getter}: malformed result`, options);
  }
}

/** Getter: calldata of a call and the reader of its answer. */
export interface HostRead<Args extends readonly unknown[], Value> {
  /** Calldata. */
  encode(...args: Args): Hex;
  /** @throws {HostReadError} */
  decode(result: Hex): Value;
}

/** Parameters of a host as in the contract. */
export interface HostParams {
  readonly feeToken: Address;
  readonly admin: Address;
  readonly handler: Address;
  readonly hostManager: Address;
  /** Router for prices; undefined when there is none. */
  readonly uniswapV2: Address | undefined;
  readonly unStakingPeriodSec: bigint;
  readonly challengePeriodSec: bigint;
  readonly consensusClient: Address;
  /** Para ids the host accepts state of. */
  readonly stateMachines: readonly bigint[];
  readonly hyperbridge: StateMachine;
}

/** Messages that a frozen host refuses. */
export type FrozenStatus = "none" | "incoming" | "outgoing" | "all";

/** Fee and payer of a dispatched request, in units of the fee token. */
export interface FeeMetadata {
  readonly fee: bigint;
  readonly sender: Address;
}

const abi = evmHostAbi;

function read<Args extends readonly unknown[], Value>(
  getter: string,
  encode: (...args: Args) => Hex,
  decode: (data: Hex) => Value,
): HostRead<Args, Value> {
  return {
    encode,
    decode(result: Hex): Value {
      try {
        return decode(result);
      } catch (cause) {
        throw new HostReadError(getter, { cause });
      }
    },
  };
}

/** Calldata that is always the same: viem hashes the signature of a function each time it is asked. */
function fixed(encode: () => Hex): () => Hex {
  let data: Hex | undefined;
  return () => data ??= encode();
}

/**
 * Calldata of a getter by commitment: the selector and the word itself, as the ABI encodes a `bytes32`. They are read for
 * every message, and viem hashes the signature each time.
 */
function byCommitment(
  name: "requestReceipts" | "responseReceipts" | "requestCommitments",
): (commitment: Hash256) => Hex {
  const selector = fixed(() => toFunctionSelector(getAbiItem({ abi, name })));
  return (commitment) => `${selector()}${commitment.slice(2)}`;
}

/** A word that holds an address; viem hashes each for its checksum. What comes after the word is ignored, as there. */
const addressWord = /^0x0{24}([0-9a-f]{40})/i;

/** Reads the answer of a getter that returns an address. @throws {RangeError} for anything else. */
function decodeAddress(data: Hex): Address | undefined {
  const digits = addressWord.exec(data)?.[1];
  if (digits === undefined) throw new RangeError("Expected a word with an address");
  return presentAddress(digits);
}

/** Calldata of the para id that was asked for last: a relayer asks for that of its hub. */
function lastOf(encode: (paraId: number) => Hex): (paraId: number) => Hex {
  let last: { readonly paraId: number; readonly data: Hex } | undefined;
  return (paraId) => {
    if (last?.paraId !== paraId) last = { paraId, data: encode(paraId) };
    return last.data;
  };
}

/** A word with a number of 63 bits. What comes after the word is ignored, as by viem. */
const counterWord = /^0x0{48}([0-7][0-9a-f]{15})/i;

/** Decodes a height, time, period or nonce. @throws {RangeError} beyond 63 bits, which is what the programs store */
function decodeCounter(data: Hex): bigint {
  const digits = counterWord.exec(data)?.[1];
  if (digits === undefined) throw new RangeError("Expected a word with a number of 63 bits");
  return BigInt(`0x${digits}`);
}

function readUint(
  functionName:
    | "challengePeriod"
    | "unStakingPeriod"
    | "timestamp"
    | "consensusUpdateTime"
    | "currentEpoch"
    | "nonce",
): HostRead<[], bigint> {
  return read(functionName, fixed(() => encodeFunctionData({ abi, functionName })), decodeCounter);
}

function readName(functionName: "host" | "hyperbridge"): HostRead<[], StateMachine> {
  return read(
    functionName,
    fixed(() => encodeFunctionData({ abi, functionName })),
    (data) => stateMachineFromBytes(fromHex(decodeFunctionResult({ abi, functionName, data }))),
  );
}

function heightArgs(paraId: number, height: bigint): [{ stateMachineId: bigint; height: bigint }] {
  return [{ stateMachineId: BigInt(paraId), height }];
}

function decodeHostParams(data: Hex): HostParams {
  const params = decodeFunctionResult({ abi, functionName: "hostParams", data });
  return toHostParams(params);
}

/** Contract form of {@link HostParams}, as viem decodes it. */
export interface RawHostParams {
  readonly feeToken: Hex;
  readonly admin: Hex;
  readonly handler: Hex;
  readonly hostManager: Hex;
  readonly uniswapV2: Hex;
  readonly unStakingPeriod: bigint;
  readonly challengePeriod: bigint;
  readonly consensusClient: Hex;
  readonly stateMachines: readonly bigint[];
  readonly hyperbridge: Hex;
}

/** Typed form of the contract's struct. @throws {IdentifierError} when `hyperbridge` names no state machine. */
export function toHostParams(raw: RawHostParams): HostParams {
  return {
    feeToken: toAddress(raw.feeToken),
    admin: toAddress(raw.admin),
    handler: toAddress(raw.handler),
    hostManager: toAddress(raw.hostManager),
    uniswapV2: presentAddress(raw.uniswapV2),
    unStakingPeriodSec: raw.unStakingPeriod,
    challengePeriodSec: raw.challengePeriod,
    consensusClient: toAddress(raw.consensusClient),
    stateMachines: raw.stateMachines,
    hyperbridge: stateMachineFromBytes(fromHex(raw.hyperbridge)),
  };
}

function decodeStateCommitment(data: Hex): StateCommitment | undefined {
  const raw = decodeFunctionResult({ abi, functionName: "stateMachineCommitment", data });
  return toStateCommitment(raw);
}

const zeroWord = toHash256(new Uint8Array(32));

/** Typed form of the contract's struct; undefined when it is not set (all words zero). */
export function toStateCommitment(
  raw: { readonly timestamp: bigint; readonly overlayRoot: Hex; readonly stateRoot: Hex },
): StateCommitment | undefined {
  const overlayRoot = toHash256(raw.overlayRoot);
  const stateRoot = toHash256(raw.stateRoot);
  if (raw.timestamp === 0n && overlayRoot === zeroWord && stateRoot === zeroWord) return undefined;
  return {
    timestampSec: raw.timestamp,
    overlayRoot: overlayRoot === zeroWord ? undefined : overlayRoot,
    stateRoot,
  };
}

const frozenStatuses: readonly FrozenStatus[] = ["none", "incoming", "outgoing", "all"];

function decodeFrozen(data: Hex): FrozenStatus | UnknownVariant {
  return nameVariant(frozenStatuses, decodeFunctionResult({ abi, functionName: "frozen", data }));
}

function decodeResponseReceipt(
  data: Hex,
): { readonly responseCommitment: Hash256; readonly relayer: Address } | undefined {
  const receipt = decodeFunctionResult({ abi, functionName: "responseReceipts", data });
  const relayer = presentAddress(receipt.relayer);
  if (relayer === undefined) return undefined;
  return { responseCommitment: toHash256(receipt.responseCommitment), relayer };
}

function decodeFeeMetadata(data: Hex): FeeMetadata | undefined {
  const metadata = decodeFunctionResult({ abi, functionName: "requestCommitments", data });
  const sender = presentAddress(metadata.sender);
  return sender === undefined ? undefined : { fee: metadata.fee, sender };
}

/** The host's getters that relayers use, by name. Para ids are the bare numbers of the hub. */
export const hostReads = {
  hostParams: read(
    "hostParams",
    fixed(() => encodeFunctionData({ abi, functionName: "hostParams" })),
    decodeHostParams,
  ),
  /** 0: the host accepts no state of this para id; 1: none yet. */
  latestStateMachineHeight: read(
    "latestStateMachineHeight",
    lastOf((paraId) =>
      encodeFunctionData({ abi, functionName: "latestStateMachineHeight", args: [BigInt(paraId)] })
    ),
    decodeCounter,
  ),
  stateMachineCommitment: read(
    "stateMachineCommitment",
    (paraId: number, height: bigint) =>
      encodeFunctionData({ abi, functionName: "stateMachineCommitment", args: heightArgs(paraId, height) }),
    decodeStateCommitment,
  ),
  /** Unix seconds; 0 when the height is unknown. */
  stateMachineCommitmentUpdateTime: read(
    "stateMachineCommitmentUpdateTime",
    (paraId: number, height: bigint) =>
      encodeFunctionData({
        abi,
        functionName: "stateMachineCommitmentUpdateTime",
        args: heightArgs(paraId, height),
      }),
    decodeCounter,
  ),
  /** Seconds. */
  challengePeriod: readUint("challengePeriod"),
  /** Seconds. */
  unStakingPeriod: readUint("unStakingPeriod"),
  /** Unix seconds of the block. */
  timestamp: readUint("timestamp"),
  /** ABI of the BEEFY client's state. */
  consensusState: read(
    "consensusState",
    () => encodeFunctionData({ abi, functionName: "consensusState" }),
    (data) => fromHex(decodeFunctionResult({ abi, functionName: "consensusState", data })),
  ),
  /** Unix seconds. */
  consensusUpdateTime: readUint("consensusUpdateTime"),
  /** Relayer that delivered the post request; undefined when it is not delivered. */
  requestReceipts: read(
    "requestReceipts",
    byCommitment("requestReceipts"),
    decodeAddress,
  ),
  /** By the commitment of the get request. */
  responseReceipts: read(
    "responseReceipts",
    byCommitment("responseReceipts"),
    decodeResponseReceipt,
  ),
  /** Undefined when the host never dispatched it. */
  requestCommitments: read(
    "requestCommitments",
    byCommitment("requestCommitments"),
    decodeFeeMetadata,
  ),
  currentEpoch: readUint("currentEpoch"),
  relayerOf: read(
    "relayerOf",
    (setId: bigint) => encodeFunctionData({ abi, functionName: "relayerOf", args: [setId] }),
    decodeAddress,
  ),
  frozen: read("frozen", fixed(() => encodeFunctionData({ abi, functionName: "frozen" })), decodeFrozen),
  /** Fisherman that vetoed the height. */
  vetoes: read(
    "vetoes",
    (paraId: number, height: bigint) =>
      encodeFunctionData({ abi, functionName: "vetoes", args: [BigInt(paraId), height] }),
    decodeAddress,
  ),
  host: readName("host"),
  hyperbridge: readName("hyperbridge"),
  /** Nonce of the next dispatch. */
  nonce: readUint("nonce"),
} as const;

/** `decimals()` of a fee token. */
export const feeTokenDecimals: HostRead<[], number> = read(
  "decimals",
  () => encodeFunctionData({ abi: erc20Abi, functionName: "decimals" }),
  (data) => decodeFunctionResult({ abi: erc20Abi, functionName: "decimals", data }),
);
