/**
 * Decodes logs of an EVM host to the events that relayers use. Dispatch events carry no commitment: the request is rebuilt and
 * hashed. Source: polytope-labs/hyperbridge: evm/src/core/EvmHost.sol (dispatch, events).
 */
import { decodeEventLog, type DecodeEventLogReturnType } from "viem";
import { fromHex, type Hex, toHash256, toLowerHex } from "../encoding/bytes.ts";
import type { HostEvent } from "../ismp/event.ts";
import { getMessage, type Message, postMessage } from "../ismp/message.ts";
import { parseStateMachine, type StateMachine } from "../ismp/state_machine.ts";
import type { Address } from "./address.ts";
import { evmHostAbi, type HostEventName, hostEventTopics } from "./host_abi.ts";

/** Fields of a log that decoding needs; logs of `eth_getLogs` and of receipts have them. */
export interface RawLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

/** What EVM hosts dispatch: requests. */
type RequestEvent = HostEvent<Extract<Message, { kind: "post" | "get" }>>;

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
  | { readonly kind: "event"; readonly event: RequestEvent }
  /** Emitted by another contract, whatever its topics, or no event that relayers use. */
  | { readonly kind: "other" }
  | { readonly kind: "undecodable"; readonly error: HostEventError };

/** Each event alone: in the whole list viem would hash every signature again to find it, for every log. */
const eventByTopic = new Map(evmHostAbi.flatMap((item) => {
  return item.type === "event" ? [[hostEventTopics[item.name], item] as const] : [];
}));

/** Decodes one log; never throws whatever the log contains. */
export function decodeHostLog(log: RawLog, host: Address): HostLog {
  const [topic = "0x", ...indexed] = log.topics;
  const item = eventByTopic.get(toLowerHex(topic));
  if (item === undefined || log.address.toLowerCase() !== host) return { kind: "other" };
  try {
    const topics = [hostEventTopics[item.name], ...indexed] as const;
    const event = toEvent(decodeEventLog({ abi: [item], topics: [...topics], data: log.data }));
    return event === undefined ? { kind: "other" } : { kind: "event", event };
  } catch (cause) {
    const error = cause instanceof HostEventError ? cause : new HostEventError(item.name, "data", { cause });
    return { kind: "undecodable", error };
  }
}

/** The event; `undefined`: an administrative one. @throws {HostEventError} */
function toEvent(
  { eventName: tag, args }: DecodeEventLogReturnType<typeof evmHostAbi>,
): RequestEvent | undefined {
  switch (tag) {
    case "PostRequestEvent": {
      const message = postMessage({
        source: machine(tag, "source", args.source),
        dest: machine(tag, "dest", args.dest),
        nonce: u64(tag, "nonce", args.nonce),
        from: fromHex(args.from),
        to: fromHex(args.to),
        timeoutTimestampSec: u64(tag, "timeoutTimestamp", args.timeoutTimestamp),
        body: fromHex(args.body),
      });
      return { kind: "message", message };
    }
    case "GetRequestEvent": {
      const message = getMessage({
        source: machine(tag, "source", args.source),
        dest: machine(tag, "dest", args.dest),
        nonce: u64(tag, "nonce", args.nonce),
        from: fromHex(args.from),
        keys: args.keys.map(fromHex),
        height: u64(tag, "height", args.height),
        context: fromHex(args.context),
        timeoutTimestampSec: u64(tag, "timeoutTimestamp", args.timeoutTimestamp),
      });
      return { kind: "message", message };
    }
    case "PostRequestHandled":
    case "GetRequestHandled": {
      const of = tag === "PostRequestHandled" ? "post" : "get";
      return { kind: "handled", of, commitment: toHash256(args.commitment), relayer: fromHex(args.relayer) };
    }
    case "PostRequestTimeoutHandled":
    case "GetRequestTimeoutHandled": {
      const of = tag === "PostRequestTimeoutHandled" ? "post" : "get";
      return { kind: "timeoutHandled", of, commitment: toHash256(args.commitment) };
    }
    case "StateMachineUpdated": {
      const stateMachine = machine(tag, "stateMachineId", args.stateMachineId);
      return { kind: "updated", stateMachine, id: undefined, height: args.height };
    }
    case "StateCommitmentVetoed": {
      const stateMachine = machine(tag, "stateMachineId", args.stateMachineId);
      return { kind: "vetoed", stateMachine, height: args.height };
    }
    case "NewEpoch":
      return { kind: "newEpoch", setId: args.authoritySetId, relayer: fromHex(args.relayer) };
    case "RequestFunded":
      return { kind: "funded", commitment: toHash256(args.commitment), fee: args.newFee };
    default:
      return undefined;
  }
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
