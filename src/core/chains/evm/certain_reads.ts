/**
 * Reads that may settle a message: a lagging node must not make a receipt or a request look absent. They are made at
 * one block by number, which a lagging node rejects, and at two endpoints if there are two.
 */
import { equalBytes, type Hash256 } from "../../encoding/bytes.ts";
import { hostReads } from "../../evm/host_reads.ts";
import type { Message } from "../../ismp/message.ts";
import { keepFault, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { type Certain, type CertainReads, type ReadSince, UNSURE } from "../reads.ts";
import { EvmPart } from "./evm_context.ts";
import { lowest } from "./gas.ts";
import { contractReadAt, newestBlock, type Query } from "./queries.ts";
import { relayerQuery } from "./reads.ts";
import { askWitnesses, callOne, RpcBatch, WITNESS_TIMEOUT_MS } from "./rpc_batch.ts";

/**
 * Times that one endpoint is asked for a value. Behind one URL there may be several nodes, and a proxy that takes
 * batches apart: then one node names the block and another, which is behind, refuses it.
 */
const MAX_ATTEMPTS = 4;

/** Queries at a block, one per value. */
type QueriesAt<T> = (block: bigint) => readonly Query<T>[];

/** Time by which the clock of a node's newest block may differ from ours and count as right, seconds. */
const FRESH_SEC = 600n;

/** Reads to confirm. */
export interface CertainRead<T> {
  readonly queriesAt: QueriesAt<T>;
  readonly since: ReadSince & {
    /** Our own clock, Unix seconds; absent: no node is contradicted by it. */
    readonly nowSec?: bigint;
  };
  /** Value of a call that reverts; absent: a revert is no answer. */
  readonly reverted?: { readonly value: T };
}

/** Reads that two endpoints confirm. */
export class EvmCertainReads extends EvmPart implements CertainReads {
  /** Relayers of messages, as {@link readCertain} reads. */
  async fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    if (messages.length === 0) return [];
    const { host, endpoints, clock } = this.context.at;
    const queriesAt: QueriesAt<Uint8Array | undefined> = (block) =>
      messages.map((message) => relayerQuery(host, message, block));
    const nowSec = BigInt(Math.floor(clock.now() / 1_000));
    const read = { queriesAt, since: { ...since, nowSec } };
    return await readCertain(endpoints, read, signal);
  }

  /** Fees of requests, as {@link readCertain} reads. */
  async fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    if (commitments.length === 0) return [];
    const { host, endpoints } = this.context.at;
    const queriesAt: QueriesAt<bigint | undefined> = (block) =>
      commitments.map((commitment) => {
        const { call, read } = contractReadAt(block, host, hostReads.requestCommitments, commitment);
        return { call, read: (result) => read(result)?.fee };
      });
    return await readCertain(endpoints, { queriesAt, since }, signal);
  }
}

/**
 * Reads at the first endpoints that are far enough, at a block that all of them have; a value is certain if all that
 * tell it agree.
 */
export async function readCertain<T>(
  endpoints: RpcEndpointSet,
  read: CertainRead<T>,
  signal: AbortSignal,
): Promise<readonly Certain<T>[]> {
  const witnesses = await findWitnesses(endpoints, read.since, signal);
  const [first, ...others] = witnesses.map(({ head }) => head);
  const told: ReadonlyMap<number, T>[] = [];
  for (const { endpoint, head } of witnesses) {
    const block = lowest(first ?? head, ...others);
    told.push(await askAll(endpoint, { ...read, block }, signal));
  }
  return read.queriesAt(0n).map((_, index): Certain<T> => {
    const [one, ...more] = told.filter((values) => values.has(index));
    if (one === undefined) return UNSURE;
    const value = one.get(index) as T;
    return more.every((other) => isSame(value, other.get(index))) ? { kind: "certain", value } : UNSURE;
  });
}

/** Asks an endpoint, again for what it refuses, and returns the values by index of their query. */
async function askAll<T>(
  endpoint: RpcEndpointSet,
  { queriesAt, block, reverted }: CertainRead<T> & { readonly block: bigint },
  signal: AbortSignal,
): Promise<ReadonlyMap<number, T>> {
  const queries = queriesAt(block);
  const values = new Map<number, T>();
  for (let attempt = 0; attempt < MAX_ATTEMPTS && values.size < queries.length; attempt++) {
    const batch = new RpcBatch(endpoint);
    const slots = queries.flatMap((query, index) =>
      values.has(index) ? [] : [{ index, answer: batch.addOptional(query) }]
    );
    const fault = await batch.send({ signal, timeoutMs: WITNESS_TIMEOUT_MS }).catch(keepFault);
    if (fault !== undefined) break;
    for (const { index, answer } of slots) {
      const value = answer();
      if (!(value instanceof RpcFault)) values.set(index, value);
      else if (reverted !== undefined && value.code === "reverted") values.set(index, reverted.value);
    }
  }
  return values;
}

/**
 * Endpoints that are far enough, with the number of the newest block of each; none when another one, whose clock agrees
 * with ours, has not reached the time yet, or our own is far from it.
 */
async function findWitnesses(
  endpoints: RpcEndpointSet,
  { height = 0n, timeSec = 0n, nowSec = 0n }: CertainRead<unknown>["since"],
  signal: AbortSignal,
): Promise<readonly { readonly endpoint: RpcEndpointSet; readonly head: bigint }[]> {
  let isTooEarly = nowSec > 0n && timeSec > nowSec + FRESH_SEC;
  const found = await askWitnesses(endpoints.each(), async (endpoint) => {
    const head = await callOne(endpoint, newestBlock, { signal, timeoutMs: WITNESS_TIMEOUT_MS });
    isTooEarly ||= nowSec > 0n && head.timestamp < timeSec && head.timestamp + FRESH_SEC >= nowSec;
    const isThere = head.number >= height && head.timestamp >= timeSec;
    return isThere ? { endpoint, head: head.number } : undefined;
  });
  return isTooEarly ? [] : found;
}

function isSame(one: unknown, other: unknown): boolean {
  return one instanceof Uint8Array && other instanceof Uint8Array ? equalBytes(one, other) : one === other;
}
