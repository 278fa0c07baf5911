/**
 * `eth_call` of the host's getters: calldata and readers of the answers. Zero words become `undefined`. Source:
 * polytope-labs/hyperbridge: evm/src/core/EvmHost.sol.
 */
import { decodeFunctionResult, toFunctionSelector } from "viem";
import { fromHex, type Hash256, type Hex, toHash256 } from "../encoding/bytes.ts";
import { mapError } from "../encoding/coded_error.ts";
import { nameVariant, type UnknownVariant } from "../encoding/scale.ts";
import { type StateCommitment, type StateMachine, stateMachineFromBytes } from "../ismp/state_machine.ts";
import { type Address, presentAddress, toAddress } from "./address.ts";
import { erc20Abi, evmHostAbi } from "./host_abi.ts";
import { SchemaError } from "./schema.ts";

/** Answer that does not decode as the getter's result (for example `0x` from an address without code). */
export class HostReadError extends SchemaError {
  override readonly name = "HostReadError";
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

const abi = [...evmHostAbi, ...erc20Abi] as const;

/** An argument: one word. */
type Word = Hash256 | number | bigint;

type Getter = Extract<typeof abi[number], { type: "function" }>["name"];

function selectorOf(name: Getter): Hex {
  const [item] = abi.flatMap((each) => each.type === "function" && each.name === name ? [each] : []);
  return toFunctionSelector(item ?? name);
}

/** Getter of that name, whose arguments are words. viem hashes the signature of a function each time it is asked. */
function read<Args extends readonly Word[], Value>(
  name: Getter,
  decode: (data: Hex) => Value,
): HostRead<Args, Value> {
  let selector: Hex | undefined;
  return {
    encode(...args: Args): Hex {
      selector ??= selectorOf(name);
      return `${selector}${args.map((arg) => BigInt(arg).toString(16).padStart(64, "0")).join("")}`;
    },
    decode(result: Hex): Value {
      return mapError(Error, () => decode(result), (cause) => new HostReadError(name, { cause }));
    },
  };
}

/** A word that holds an address; viem hashes each for its checksum. What comes after the word is ignored, as there. */
const addressWord = /^0x0{24}([0-9a-f]{40})/i;

/** Reads the answer of a getter that returns an address. @throws {RangeError} for anything else. */
function decodeAddress(data: Hex): Address | undefined {
  const digits = addressWord.exec(data)?.[1];
  if (digits === undefined) throw new RangeError("Expected a word with an address");
  return presentAddress(digits);
}

/** A word with a number of 63 bits. What comes after the word is ignored, as by viem. */
const counterWord = /^0x0{48}([0-7][0-9a-f]{15})/i;

/** Decodes a height, time, period or nonce. @throws {RangeError} beyond 63 bits, which is what the programs store */
function decodeCounter(data: Hex): bigint {
  const digits = counterWord.exec(data)?.[1];
  if (digits === undefined) throw new RangeError("Expected a word with a number of 63 bits");
  return BigInt(`0x${digits}`);
}

/** Decodes the parameters. @throws {IdentifierError} when `hyperbridge` names no state machine. */
function decodeHostParams(data: Hex): HostParams {
  const raw = decodeFunctionResult({ abi, functionName: "hostParams", data });
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

const zeroWord = toHash256(new Uint8Array(32));

/** Decodes a commitment; `undefined`: it is not set (all words zero). */
function decodeStateCommitment(data: Hex): StateCommitment | undefined {
  const raw = decodeFunctionResult({ abi, functionName: "stateMachineCommitment", data });
  const [overlayRoot, stateRoot] = [toHash256(raw.overlayRoot), toHash256(raw.stateRoot)];
  if (raw.timestamp === 0n && overlayRoot === zeroWord && stateRoot === zeroWord) return undefined;
  return {
    timestampSec: raw.timestamp,
    overlayRoot: overlayRoot === zeroWord ? undefined : overlayRoot,
    stateRoot,
  };
}

const frozenStatuses: readonly FrozenStatus[] = ["none", "incoming", "outgoing", "all"];

function decodeResponseReceipt(
  data: Hex,
): { readonly responseCommitment: Hash256; readonly relayer: Address } | undefined {
  const receipt = decodeFunctionResult({ abi, functionName: "responseReceipts", data });
  const relayer = presentAddress(receipt.relayer);
  return relayer && { responseCommitment: toHash256(receipt.responseCommitment), relayer };
}

function decodeFeeMetadata(data: Hex): FeeMetadata | undefined {
  const { fee, sender: payer } = decodeFunctionResult({ abi, functionName: "requestCommitments", data });
  const sender = presentAddress(payer);
  return sender && { fee, sender };
}

/** The host's getters that relayers use, by name. Para ids are the bare numbers of the hub. */
export const hostReads = {
  hostParams: read<[], HostParams>("hostParams", decodeHostParams),
  /** 0: the host accepts no state of this para id; 1: none yet. */
  latestStateMachineHeight: read<[paraId: number], bigint>("latestStateMachineHeight", decodeCounter),
  stateMachineCommitment: read<[paraId: number, height: bigint], StateCommitment | undefined>(
    "stateMachineCommitment",
    decodeStateCommitment,
  ),
  /** Unix seconds; 0 when the height is unknown. */
  stateMachineCommitmentUpdateTime: read<[paraId: number, height: bigint], bigint>(
    "stateMachineCommitmentUpdateTime",
    decodeCounter,
  ),
  /** Seconds. */
  challengePeriod: read<[], bigint>("challengePeriod", decodeCounter),
  /** Unix seconds of the block. */
  timestamp: read<[], bigint>("timestamp", decodeCounter),
  /** ABI of the BEEFY client's state. */
  consensusState: read<[], Uint8Array>(
    "consensusState",
    (data) => fromHex(decodeFunctionResult({ abi, functionName: "consensusState", data })),
  ),
  /** Unix seconds. */
  consensusUpdateTime: read<[], bigint>("consensusUpdateTime", decodeCounter),
  /** Relayer that delivered the post request; undefined when it is not delivered. */
  requestReceipts: read<[commitment: Hash256], Address | undefined>("requestReceipts", decodeAddress),
  /** By the commitment of the get request. */
  responseReceipts: read<[commitment: Hash256], ReturnType<typeof decodeResponseReceipt>>(
    "responseReceipts",
    decodeResponseReceipt,
  ),
  /** Undefined when the host never dispatched it. */
  requestCommitments: read<[commitment: Hash256], FeeMetadata | undefined>(
    "requestCommitments",
    decodeFeeMetadata,
  ),
  frozen: read<[], FrozenStatus | UnknownVariant>(
    "frozen",
    (data) => nameVariant(frozenStatuses, decodeFunctionResult({ abi, functionName: "frozen", data })),
  ),
  /** Nonce of the next dispatch. */
  nonce: read<[], bigint>("nonce", decodeCounter),
} as const;

/** `decimals()` of a fee token. */
export const feeTokenDecimals: HostRead<[], number> = read<[], number>(
  "decimals",
  (data) => decodeFunctionResult({ abi, functionName: "decimals", data }),
);
