/** Events of a chain in memory as the logs of an EVM host. */
import { encodeAbiParameters, pad, parseAbiParameters } from "viem";
import type { ChainEvent } from "../../src/core/chains/reads.ts";
import { type Hex, keccak256, toHex } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import { hostEventTopics } from "../../src/core/evm/host_abi.ts";
import { postToAbi, responseToAbi } from "../../src/core/ismp/message.ts";
import type { MemoryBlock } from "./memory_block.ts";

/** A log as nodes tell it. */
export interface NodeLog {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: Hex;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: Hex;
}

const postFields = parseAbiParameters("string, string, bytes, uint256, uint256, bytes, uint256");
const getFields = parseAbiParameters(
  "string, string, bytes, bytes[], uint256, uint256, uint256, bytes, uint256",
);
const heightFields = parseAbiParameters("string, uint256");
const amountField = parseAbiParameters("uint256");

/** Quantity in hex. */
export function quantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}

/** A word with a number. */
export function wordOf(value: bigint | number): Hex {
  return `0x${value.toString(16).padStart(64, "0")}`;
}

const known = new WeakMap<MemoryBlock, readonly NodeLog[]>();

/** The logs of a block, in order. */
export function logsOf(block: MemoryBlock, host: Address): readonly NodeLog[] {
  const found = known.get(block);
  if (found !== undefined) return found;
  const logs = block.events.flatMap((event, index): NodeLog[] => {
    const content = contentOf(event);
    if (content === undefined) return [];
    return [{
      address: host,
      ...content,
      blockNumber: quantity(block.height),
      blockHash: block.hash,
      transactionHash: event.at.transaction ??
        toHex(keccak256(new TextEncoder().encode(`${block.hash} ${index}`))),
      logIndex: quantity(index),
    }];
  });
  known.set(block, logs);
  return logs;
}

/** Log of a delivered message. */
export function handledLog(
  { of, commitment, relayer }: {
    readonly of: "post" | "get";
    readonly commitment: Hex;
    readonly relayer: Uint8Array;
  },
): Pick<NodeLog, "topics" | "data"> {
  const topic = of === "post" ? hostEventTopics.PostRequestHandled : hostEventTopics.GetRequestHandled;
  return { topics: [topic, commitment], data: pad(toHex(relayer), { size: 32 }) };
}

function contentOf(event: ChainEvent): Pick<NodeLog, "topics" | "data"> | undefined {
  switch (event.kind) {
    case "message":
      return requestLog(event.message);
    case "handled":
      return handledLog(event);
    case "funded":
      return {
        topics: [hostEventTopics.RequestFunded, event.commitment],
        data: encodeAbiParameters(amountField, [event.fee]),
      };
    case "updated":
      return {
        topics: [hostEventTopics.StateMachineUpdated],
        data: encodeAbiParameters(heightFields, [event.stateMachine, event.height]),
      };
    case "newEpoch":
      return {
        topics: [hostEventTopics.NewEpoch, wordOf(event.setId), pad(toHex(event.relayer), { size: 32 })],
        data: "0x",
      };
    default:
      return undefined;
  }
}

function requestLog(
  message: Extract<ChainEvent, { kind: "message" }>["message"],
): Pick<NodeLog, "topics" | "data"> | undefined {
  if (message.kind === "getResponse") return undefined;
  const { source, dest, nonce, timeoutTimestampSec } = message.request;
  if (message.kind === "post") {
    const { from, to, body } = postToAbi(message.request);
    return {
      topics: [hostEventTopics.PostRequestEvent, pad(from, { size: 32 })],
      data: encodeAbiParameters(postFields, [source, dest, to, nonce, timeoutTimestampSec, body, 0n]),
    };
  }
  const { from, keys, height, context } = responseToAbi({ get: message.request, values: [] }).request;
  return {
    topics: [hostEventTopics.GetRequestEvent],
    data: encodeAbiParameters(getFields, [
      source,
      dest,
      from,
      keys,
      height,
      nonce,
      timeoutTimestampSec,
      context,
      0n,
    ]),
  };
}
