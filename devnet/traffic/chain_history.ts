/**
 * What happened to messages on the chains of a devnet, read from the chains themselves: events of the EVM hosts, of
 * the hub and of the Substrate chains. Start reading at {@link readHistory}.
 */
import { type Hash256, type Hex, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { decodeHostLog } from "../../src/core/evm/host_events.ts";
import type { PostRequest } from "../../src/core/ismp/message.ts";
import { commitmentOfGet, commitmentOfPost, commitmentOfResponse } from "../../src/core/ismp/message.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { parseEvents } from "../hub/rpc/ismp_json.ts";
import type { StateMachine } from "../../src/core/ismp/state_machine.ts";
import { PING_ABI } from "../evm/abi.ts";
import type { IsmpHost } from "../evm/deploy.ts";
import type { Devnet } from "../devnet.ts";

/** A request that a chain sent, or a request or response that the hub sent or routed on. */
export interface SentEvent {
  readonly commitment: Hash256;
  /** Where it goes in the end; an answer goes to who asked. */
  readonly dest: StateMachine;
  readonly height: bigint;
  /** The request itself, where the hub or a Substrate chain sent a post. */
  readonly post?: PostRequest;
}

/** A request that a chain accepted or answered, or whose response it accepted. */
export interface HandledEvent {
  /** Of the request, for responses too. */
  readonly commitment: Hash256;
  /** Who delivered it, lower-case hex. */
  readonly relayer: Hex;
  readonly transaction: Hash256;
  readonly height: bigint;
}

/** A call of the ping application's callback that succeeded. */
export interface PongEvent {
  readonly source: string;
  readonly nonce: bigint;
  readonly body: Hex;
}

/** One chain's part. */
export interface ChainHistory {
  readonly chain: StateMachine;
  /** Newest block of the reading. */
  readonly head: bigint;
  readonly final: bigint;
  readonly sent: readonly SentEvent[];
  readonly handled: readonly HandledEvent[];
  /** Empty for the hub. */
  readonly pongs: readonly PongEvent[];
}

/** All chains and the hub (last), from their first block to their newest. */
export async function readHistory(devnet: Devnet): Promise<readonly ChainHistory[]> {
  return await Promise.all([
    ...devnet.chains.map(({ stateMachine, host }) => readEvmHistory(stateMachine, host)),
    ...devnet.substrateChains.map(({ stateMachine, node }) => readHubHistory(stateMachine, node.httpUrl)),
    readHubHistory(devnet.hub.identity.stateMachine, devnet.hub.httpUrl),
  ]);
}

/** The history of an EVM chain. */
export async function readEvmHistory(chain: StateMachine, host: IsmpHost): Promise<ChainHistory> {
  const [head, { number: final }] = await Promise.all([
    host.reader.getBlockNumber(),
    host.reader.getBlock({ blockTag: "finalized" }),
  ]);
  const range = { fromBlock: 0n, toBlock: head };
  const [logs, pongs] = await Promise.all([
    host.reader.getLogs({ address: host.addresses.host, ...range }),
    host.reader.getContractEvents({
      address: host.addresses.ping,
      abi: PING_ABI,
      eventName: "Pong",
      ...range,
    }),
  ]);
  const sent: SentEvent[] = [];
  const handled: HandledEvent[] = [];
  const address = toAddress(host.addresses.host);
  for (const log of logs) {
    const decoded = decodeHostLog(log, address);
    if (decoded.kind !== "event") continue;
    const { event } = decoded;
    const height = log.blockNumber;
    if (event.kind === "message") {
      const { commitment, request } = event.message;
      sent.push({ commitment, dest: request.dest, height });
    } else if (event.kind === "handled") {
      const { commitment } = event;
      handled.push({
        commitment,
        relayer: toHex(event.relayer),
        transaction: toHash256(log.transactionHash),
        height,
      });
    }
  }
  return {
    chain,
    head,
    final,
    sent,
    handled,
    pongs: pongs.flatMap(({ args: { source, nonce, body } }) =>
      source === undefined || nonce === undefined || body === undefined ? [] : [{ source, nonce, body }]
    ),
  };
}

/** The history of the hub or of a Substrate chain, over its RPC. */
export async function readHubHistory(hub: StateMachine, httpUrl: string): Promise<ChainHistory> {
  const [head, final] = await Promise.all([
    headerNumber(httpUrl, []),
    resultHttp(httpUrl, "chain_getFinalizedHead").then((hash) => headerNumber(httpUrl, [hash])),
  ]);
  const events = parseEvents(
    await resultHttp(httpUrl, "ismp_queryEventsWithMetadata", [1, Number(head)]),
  );
  const sent: SentEvent[] = [];
  const handled: HandledEvent[] = [];
  for (const { meta, decoded } of events) {
    if (decoded.kind !== "event") throw decoded.error;
    const { event } = decoded;
    const height = meta.blockNumber;
    if (event.tag === "PostRequest") {
      const post = event.value;
      sent.push({ commitment: commitmentOfPost(post), dest: post.dest, height, post });
    } else if (event.tag === "GetRequest") {
      sent.push({ commitment: commitmentOfGet(event.value), dest: event.value.dest, height });
    } else if (event.tag === "GetResponse") {
      sent.push({ commitment: commitmentOfResponse(event.value), dest: event.value.get.source, height });
    } else if (event.tag === "PostRequestHandled" || event.tag === "GetRequestHandled") {
      const { commitment, relayer } = event.value;
      handled.push({ commitment, relayer: toHex(relayer), transaction: meta.transactionHash, height });
    }
  }
  const ascending = (a: { height: bigint }, b: { height: bigint }): number => Number(a.height - b.height);
  return {
    chain: hub,
    head,
    final,
    sent: sent.sort(ascending),
    handled: handled.sort(ascending),
    pongs: [],
  };
}

async function headerNumber(httpUrl: string, params: readonly unknown[]): Promise<bigint> {
  return BigInt(Object(await resultHttp(httpUrl, "chain_getHeader", params)).number);
}
