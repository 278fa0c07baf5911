/**
 * Decodes logs of an EVM host to typed events. Dispatch events carry no commitment: the request is rebuilt and
 * hashed. Source: polytope-labs/hyperbridge: evm/src/core/EvmHost.sol (dispatch, events).
 */
import { decodeEventLog, type DecodeEventLogReturnType } from "viem";
import { fromHex, type Hash256, type Hex, toHash256 } from "../encoding/bytes.ts";
import { getMessage, type Message, postMessage } from "../ismp/message.ts";
import { parseStateMachine, type StateCommitment, type StateMachine } from "../ismp/state_machine.ts";
import { type Address, toAddress } from "./address.ts";
import { evmHostAbi, type HostEventName, hostEventTopics } from "./host_abi.ts";
import { type HostParams, toHostParams, toStateCommitment } from "./host_reads.ts";

/** Fields of a log that decoding needs; logs of `eth_getLogs` and of receipts have them. */
export interface RawLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

/** A request was dispatched; `fee` is the one at dispatch, in units of the source's fee token. */
export type RequestDispatch =
  | {
    readonly tag: "PostRequestEvent";
    readonly value: { readonly message: Extract<Message, { kind: "post" }>; readonly fee: bigint };
  }
  | {
    readonly tag: "GetRequestEvent";
    readonly value: { readonly message: Extract<Message, { kind: "get" }>; readonly fee: bigint };
  };

/** An event of a host, tagged by its name in the contract. */
export type HostEvent =
  | RequestDispatch
  | {
    /** For gets the commitment is that of the request. */
    readonly tag: "PostRequestHandled" | "GetRequestHandled";
    readonly value: { readonly commitment: Hash256; readonly relayer: Address };
  }
  | {
    readonly tag: "PostRequestTimeoutHandled" | "GetRequestTimeoutHandled";
    readonly value: { readonly commitment: Hash256; readonly dest: StateMachine };
  }
  | {
    readonly tag: "StateMachineUpdated";
    readonly value: { readonly stateMachine: StateMachine; readonly height: bigint };
  }
  | {
    readonly tag: "StateCommitmentVetoed";
    readonly value: {
      readonly stateMachine: StateMachine;
      readonly height: bigint;
      readonly stateCommitment: StateCommitment | undefined;
      readonly fisherman: Address;
    };
  }
  | {
    readonly tag: "NewEpoch";
    readonly value: { readonly authoritySetId: bigint; readonly relayer: Address };
  }
  | {
    readonly tag: "RequestFunded";
    readonly value: { readonly commitment: Hash256; readonly newFee: bigint };
  }
  | { readonly tag: "HostFrozen"; readonly value: { readonly status: number } }
  | {
    readonly tag: "HostWithdrawal";
    readonly value: { readonly amount: bigint; readonly beneficiary: Address; readonly token: Address };
  }
  | {
    readonly tag: "HostParamsUpdated";
    readonly value: { readonly oldParams: HostParams; readonly newParams: HostParams };
  };

/** A log of the host whose content does not fit its event. */
class HostEventError extends Error {
  override readonly name = "HostEventError";
  readonly code = "undecodable_event";
  constructor(
    readonly event: HostEventName,
    /** Field that does not fit, or `data` when the ABI itself does not. */
    readonly field: string,
    options?: ErrorOptions,
  ) {
    super(`Event ${event}: undecodable at ${field}`, options);
  }
}

/** Result of decoding a log. */
export type HostLog =
  | { readonly kind: "event"; readonly event: HostEvent }
  /** Emitted by another contract: never an event of the host, whatever its topics. */
  | { readonly kind: "foreign" }
  /** Emitted by the host, but not an event known to this program. */
  | { readonly kind: "unknown" }
  | { readonly kind: "undecodable"; readonly error: HostEventError };

const eventByTopic = new Map(evmHostAbi.flatMap((item) => {
  return item.type === "event" ? [[hostEventTopics[item.name], item.name] as const] : [];
}));

/** Decodes one log; never throws whatever the log contains. */
export function decodeHostLog(log: RawLog, host: Address): HostLog {
  if (log.address.toLowerCase() !== host) return { kind: "foreign" };
  const [topic0, ...indexed] = log.topics;
  if (topic0 === undefined) return { kind: "unknown" };
  const name = eventByTopic.get(toLowerHex(topic0));
  if (name === undefined) return { kind: "unknown" };
  try {
    return { kind: "event", event: decodeKnown(name, [hostEventTopics[name], ...indexed], log.data) };
  } catch (cause) {
    const error = cause instanceof HostEventError ? cause : new HostEventError(name, "data", { cause });
    return { kind: "undecodable", error };
  }
}

function toLowerHex(text: Hex): Hex {
  return `0x${text.slice(2).toLowerCase()}`;
}

/** Decodes logs one by one, in their order; a bad one does not affect the others. */
export function decodeHostLogs<L extends RawLog>(
  logs: readonly L[],
  host: Address,
): readonly { readonly log: L; readonly decoded: HostLog }[] {
  return logs.map((log) => ({ log, decoded: decodeHostLog(log, host) }));
}

type Decoded = DecodeEventLogReturnType<typeof evmHostAbi>;

/** Each event alone: in the whole list viem would hash every signature again to find it, for every log. */
const abiByName = new Map(evmHostAbi.flatMap((item) => item.type === "event" ? [[item.name, [item]]] : []));

function decodeAbi(name: HostEventName, topics: [Hex, ...Hex[]], data: Hex): Decoded {
  return decodeEventLog({ abi: abiByName.get(name) ?? evmHostAbi, topics, data, strict: true });
}

/** Data of a delivery's event: an address in a word. */
const addressWord = /^0x0{24}[0-9a-f]{40}$/i;

/**
 * A delivery's event, of which the receipt of a batch has hundreds; `undefined` for others and for those that are not
 * as the contract writes them, which the ABI decoder judges.
 */
function decodeHandled(name: HostEventName, topics: readonly Hex[], data: Hex): HostEvent | undefined {
  if (name !== "PostRequestHandled" && name !== "GetRequestHandled") return undefined;
  const [, commitment] = topics;
  if (topics.length !== 2 || commitment?.length !== 66 || !addressWord.test(data)) return undefined;
  return { tag: name, value: handledOf({ commitment, relayer: `0x${data.slice(-40)}` }) };
}

function decodeKnown(name: HostEventName, topics: [Hex, ...Hex[]], data: Hex): HostEvent {
  const handled = decodeHandled(name, topics, data);
  if (handled !== undefined) return handled;
  const log: Decoded = decodeAbi(name, topics, data);
  switch (log.eventName) {
    case "PostRequestEvent":
      return { tag: log.eventName, value: { message: postOf(log.args), fee: log.args.fee } };
    case "GetRequestEvent":
      return { tag: log.eventName, value: { message: getOf(log.args), fee: log.args.fee } };
    case "PostRequestHandled":
    case "GetRequestHandled":
      return { tag: log.eventName, value: handledOf(log.args) };
    case "PostRequestTimeoutHandled":
    case "GetRequestTimeoutHandled": {
      const dest = machine(name, "dest", log.args.dest);
      return { tag: log.eventName, value: { commitment: toHash256(log.args.commitment), dest } };
    }
    case "StateMachineUpdated": {
      const stateMachine = machine(name, "stateMachineId", log.args.stateMachineId);
      return { tag: log.eventName, value: { stateMachine, height: log.args.height } };
    }
    case "StateCommitmentVetoed":
      return {
        tag: log.eventName,
        value: {
          stateMachine: machine(name, "stateMachineId", log.args.stateMachineId),
          height: log.args.height,
          stateCommitment: toStateCommitment(log.args.stateCommitment),
          fisherman: toAddress(log.args.fisherman),
        },
      };
    default:
      return decodeAdministrative(log);
  }
}

function decodeAdministrative(log: Decoded): HostEvent {
  switch (log.eventName) {
    case "NewEpoch":
      return {
        tag: log.eventName,
        value: { authoritySetId: log.args.authoritySetId, relayer: toAddress(log.args.relayer) },
      };
    case "RequestFunded":
      return {
        tag: log.eventName,
        value: { commitment: toHash256(log.args.commitment), newFee: log.args.newFee },
      };
    case "HostFrozen":
      return { tag: log.eventName, value: { status: log.args.status } };
    case "HostWithdrawal": {
      const { amount, beneficiary, token } = log.args;
      return {
        tag: log.eventName,
        value: { amount, beneficiary: toAddress(beneficiary), token: toAddress(token) },
      };
    }
    case "HostParamsUpdated":
      return {
        tag: log.eventName,
        value: {
          oldParams: toHostParams(log.args.oldParams),
          newParams: toHostParams(log.args.newParams),
        },
      };
    default:
      throw new Error(`Event ${log.eventName} is decoded elsewhere`);
  }
}

function handledOf(
  args: { readonly commitment: Hex; readonly relayer: Hex },
): { readonly commitment: Hash256; readonly relayer: Address } {
  return { commitment: toHash256(args.commitment), relayer: toAddress(args.relayer) };
}

function postOf(args: {
  readonly source: string;
  readonly dest: string;
  readonly from: Hex;
  readonly to: Hex;
  readonly nonce: bigint;
  readonly timeoutTimestamp: bigint;
  readonly body: Hex;
}): Extract<Message, { kind: "post" }> {
  const event = "PostRequestEvent";
  return postMessage({
    source: machine(event, "source", args.source),
    dest: machine(event, "dest", args.dest),
    nonce: u64(event, "nonce", args.nonce),
    from: fromHex(args.from),
    to: fromHex(args.to),
    timeoutTimestampSec: u64(event, "timeoutTimestamp", args.timeoutTimestamp),
    body: fromHex(args.body),
  });
}

function getOf(args: {
  readonly source: string;
  readonly dest: string;
  readonly from: Hex;
  readonly keys: readonly Hex[];
  readonly height: bigint;
  readonly nonce: bigint;
  readonly timeoutTimestamp: bigint;
  readonly context: Hex;
}): Extract<Message, { kind: "get" }> {
  const event = "GetRequestEvent";
  return getMessage({
    source: machine(event, "source", args.source),
    dest: machine(event, "dest", args.dest),
    nonce: u64(event, "nonce", args.nonce),
    from: fromHex(args.from),
    keys: args.keys.map(fromHex),
    height: u64(event, "height", args.height),
    context: fromHex(args.context),
    timeoutTimestampSec: u64(event, "timeoutTimestamp", args.timeoutTimestamp),
  });
}

/**
 * Parses a state machine. The ABI decoder replaces bytes that are not UTF-8 with U+FFFD; such a name would hash to
 * another request.
 */
function machine(event: HostEventName, field: string, text: string): StateMachine {
  if (text.includes("\ufffd")) throw new HostEventError(event, field);
  try {
    const parsed = parseStateMachine(text);
    // Only the canonical text gives the commitment that the host stored.
    if (parsed === text) return parsed;
  } catch (cause) {
    throw new HostEventError(event, field, { cause });
  }
  throw new HostEventError(event, field);
}

function u64(event: HostEventName, field: string, value: bigint): bigint {
  if (value >> 64n !== 0n) throw new HostEventError(event, field);
  return value;
}
