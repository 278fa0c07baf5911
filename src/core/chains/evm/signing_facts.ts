/**
 * What has to be known right before a delivery is signed: receipts, the host's view of the hub and its handler, the
 * mempool, nonce, price and balance. Read in one request, by itself or together with the simulation before it.
 */
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import type { HostParams } from "../../evm/host_reads.ts";
import type { Message } from "../../ismp/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type AcceptedSimulation, type Delivery, isFresh, type SigningFacts } from "../submission.ts";
import type { Costs } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { addKnownProofs, type KnownFrom } from "./known_proofs.ts";
import { addMempoolCheck } from "./mempool_competitors.ts";
import { accountNonce } from "./queries.ts";
import { addReceipts } from "./receipts.ts";
import type { RpcBatch } from "./rpc_batch.ts";
import type { Block } from "./rpc_schemas.ts";

/** A delivery as a call of the host's handler. */
export interface DeliveryCall {
  readonly delivery: Delivery;
  readonly messages: readonly Message[];
  readonly handler: Address;
  readonly data: Hex;
  readonly gasLimit: bigint;
}

/** Money of a transaction: what it costs, the newest block, and what our account has. */
export interface Market {
  readonly costs: () => Costs;
  readonly head: () => Block | undefined;
  readonly balance: () => bigint;
}

/** What was read about one delivery, at one endpoint. */
export interface ReadFacts {
  /** Time before the request, ms since 1970. */
  readonly atMs: number;
  /** The call that it was read for; its gas limit is that of the transaction. */
  readonly call: DeliveryCall;
  /** Per message the relayer that delivered it already. */
  readonly receipts: readonly (Uint8Array | undefined)[];
  readonly knownFrom: KnownFrom;
  /** True when a competitor's delivery of one of the messages seems to be in the mempool. */
  readonly isContested: boolean;
  readonly params: HostParams;
  readonly nonce: bigint;
  readonly costs: Costs;
  readonly block: Block;
  readonly balanceWei: bigint;
}

/** Facts that a simulation hands to the signature. */
export class EvmSigningFacts implements SigningFacts {
  readonly read: ReadFacts;

  constructor(read: ReadFacts) {
    this.read = read;
  }

  get atMs(): number {
    return this.read.atMs;
  }

  get delivery(): Delivery {
    return this.read.call.delivery;
  }
}

/**
 * Adds the queries to a batch that also has those of `market`; the result is available after the batch was sent and
 * its newest block checked.
 */
export function addSigningFacts(
  context: EvmContext,
  batch: RpcBatch,
  work: { readonly call: DeliveryCall; readonly market: Market },
): () => ReadFacts {
  const atMs = context.at.clock.now();
  const { call, market } = work;
  const { delivery, messages, handler: to, data, gasLimit: gas } = call;
  const { sender: from } = context.at;
  const receipts = addReceipts(context, batch, messages);
  const known = addKnownProofs(context, batch, delivery);
  const isContested = addMempoolCheck(context, batch, { delivery, call: { from, to, data, gas } });
  const params = batch.add(context.hostParams.query);
  const nonce = batch.add(accountNonce(from));
  return () => {
    const block = market.head();
    if (block === undefined) throw new Error("The block was checked");
    return {
      atMs,
      call,
      receipts: receipts(),
      knownFrom: known(),
      isContested: isContested(),
      params: params(),
      nonce: nonce(),
      costs: market.costs(),
      block,
      balanceWei: market.balance(),
    };
  };
}

/** Facts that were read together with a simulation of a delivery; `undefined`: none, or too old to sign with. */
export function findFreshFacts(
  clock: Clock,
  delivery: Delivery,
  { facts, gasLimit }: Pick<AcceptedSimulation, "facts" | "gasLimit">,
): ReadFacts | undefined {
  if (!(facts instanceof EvmSigningFacts) || facts.read.call.gasLimit !== gasLimit) return undefined;
  return isFresh(facts, { delivery, nowMs: clock.now() }) ? facts.read : undefined;
}
