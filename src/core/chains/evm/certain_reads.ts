/**
 * Reads that may settle a message: a lagging node must not make a receipt or a request look absent. They are made at
 * one block by number, which a lagging node rejects, and at two endpoints if there are two.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import { hostReads } from "../../evm/host_reads.ts";
import type { Message } from "../../ismp/message.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { type Certain, type CertainReads, type ReadSince, UNSURE } from "../reads.ts";
import type { EvmContext } from "./evm_context.ts";
import { blockAt, contractReadAt } from "./queries.ts";
import { callOne, RpcBatch } from "./rpc_batch.ts";
import { addReceipts } from "./receipts.ts";

/** Number of endpoints that must agree, if there are as many. */
const WITNESSES = 2;
/** Timeout of a confirming endpoint; a slower one is ignored. */
const WITNESS_TIMEOUT_MS = 10_000;

/** Adds reads at a block to a batch; the result is available after it was sent. */
type AddReads<T> = (batch: RpcBatch, block: bigint) => () => readonly T[];

/** Reads that two endpoints confirm. */
export class EvmCertainReads implements CertainReads {
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** Relayers of messages, as {@link readCertain} reads. */
  async fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    if (messages.length === 0) return [];
    const add: AddReads<Uint8Array | undefined> = (batch, block) =>
      addReceipts(this.#context, batch, messages, block);
    return await readCertain(this.#context.at.endpoints, { add, count: messages.length, since }, signal);
  }

  /** Fees of requests, as {@link readCertain} reads. */
  async fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    if (commitments.length === 0) return [];
    const { host, endpoints } = this.#context.at;
    const add: AddReads<bigint | undefined> = (batch, block) => {
      const slots = commitments.map((commitment) =>
        batch.add(contractReadAt(block, host, hostReads.requestCommitments, commitment))
      );
      return () => slots.map((slot) => slot()?.fee);
    };
    return await readCertain(endpoints, { add, count: commitments.length, since }, signal);
  }
}

/**
 * Reads at the first endpoints that are far enough, at a block that all of them have; a value is certain if they
 * agree.
 */
async function readCertain<T>(
  endpoints: RpcEndpointSet,
  { add, count, since }: { readonly add: AddReads<T>; readonly count: number; readonly since: ReadSince },
  signal: AbortSignal,
): Promise<readonly Certain<T>[]> {
  const witnesses = await findWitnesses(endpoints, since, signal);
  const block = witnesses.reduce<bigint | undefined>(
    (lowest, { head }) => lowest === undefined || head < lowest ? head : lowest,
    undefined,
  );
  const answers: (readonly T[])[] = [];
  for (const { endpoint } of witnesses) {
    if (block === undefined) break;
    const batch = new RpcBatch(endpoint);
    const values = add(batch, block);
    if (await isAnswered(batch.send({ signal, timeoutMs: WITNESS_TIMEOUT_MS }))) answers.push(values());
  }
  const [first, ...others] = answers;
  if (first === undefined) return Array.from({ length: count }, () => UNSURE);
  return first.map((value, index): Certain<T> =>
    others.every((other) => isSame(value, other[index])) ? { kind: "certain", value } : UNSURE
  );
}

/** Endpoint that is far enough, with the number of its newest block. */
interface Witness {
  readonly endpoint: RpcEndpointSet;
  readonly head: bigint;
}

async function findWitnesses(
  endpoints: RpcEndpointSet,
  { height = 0n, timeSec = 0n }: ReadSince,
  signal: AbortSignal,
): Promise<readonly Witness[]> {
  const found: Witness[] = [];
  for (const endpoint of endpoints.each()) {
    if (found.length === WITNESSES) break;
    let head: Awaited<ReturnType<typeof askHead>>;
    try {
      head = await askHead(endpoint, signal);
    } catch (fault) {
      if (fault instanceof RpcFault) continue; // another endpoint may answer
      throw fault;
    }
    if (head !== undefined && head.number >= height && head.timestamp >= timeSec) {
      found.push({ endpoint, head: head.number });
    }
  }
  return found;
}

function askHead(
  endpoint: RpcEndpointSet,
  signal: AbortSignal,
): Promise<{ readonly number: bigint; readonly timestamp: bigint } | undefined> {
  return callOne(endpoint, blockAt("latest"), { signal, timeoutMs: WITNESS_TIMEOUT_MS });
}

/** False when the endpoint did not answer: it is ignored. */
async function isAnswered(asking: Promise<void>): Promise<boolean> {
  try {
    await asking;
    return true;
  } catch (fault) {
    if (fault instanceof RpcFault) return false;
    throw fault;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (!(one instanceof Uint8Array) || !(other instanceof Uint8Array)) return one === other;
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
