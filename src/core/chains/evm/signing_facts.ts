/**
 * What has to be known right before a delivery is signed: receipts, the host's view of the hub and its handler, the
 * mempool, nonce, price and balance. Read in one request.
 */
import { BeefyError } from "../../beefy/commitment.ts";
import { readProofSubject } from "../../beefy/naive_proof.ts";
import { type Hash256, keccak256, toHash256 } from "../../encoding/bytes.ts";
import { decodeBeefyClientState } from "../../evm/beefy_client_state.ts";
import { type HostParams, hostReads } from "../../evm/host_reads.ts";
import type { Message } from "../../ismp/message.ts";
import { toParaId } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { Delivery } from "../submission.ts";
import type { EvmContext } from "./evm_context.ts";
import { addCallCosts, type Costs } from "./fees.ts";
import { addNonces, type SeenNonces } from "./nonces.ts";
import { accountBalance, type BlockTag, callResult, contractReadAt, type SimulatedCall } from "./queries.ts";
import { relayerQuery } from "./reads.ts";
import { faultToRefusal } from "./refusals.ts";
import { callAll, RpcBatch } from "./rpc_batch.ts";

/** A delivery as a call of the host's handler; its gas limit is that of the transaction. */
export interface DeliveryCall {
  readonly delivery: Delivery;
  readonly messages: readonly Message[];
  readonly call: SimulatedCall & { readonly gas: bigint };
}

/** What was read about one delivery, at one endpoint. */
export interface ReadFacts extends SeenNonces {
  /** Per message the relayer that delivered it already. */
  readonly receipts: readonly (Uint8Array | undefined)[];
  readonly knownFrom: KnownFrom;
  /** True when a competitor's delivery of one of the messages seems to be in the mempool. */
  readonly isContested: boolean;
  readonly params: HostParams;
  readonly costs: Costs;
  readonly balanceWei: bigint;
}

/** Reads everything about a delivery. One request, and what the comparison of prices needs. */
export async function readSigningFacts(
  context: EvmContext,
  { delivery, messages, call }: DeliveryCall,
  signal: AbortSignal,
): Promise<ReadFacts> {
  const { endpoints, host, sender: from } = context.at;
  const batch = new RpcBatch(endpoints);
  const costs = addCallCosts(context, batch, call);
  const balance = batch.add(accountBalance(from));
  const receipts = messages.map((message) => batch.add(relayerQuery(host, message, "latest")));
  const known = addKnownProofs(context, batch, delivery);
  const isContested = addMempoolCheck(context, batch, { delivery, call: { ...call, from } });
  const params = batch.add(context.hostParams.query);
  const nonces = addNonces(from, batch);
  await batch.send({ signal });
  return {
    receipts: receipts.map((receipt) => receipt()),
    knownFrom: known(),
    isContested: isContested(),
    params: params(),
    nonces: nonces(),
    host: batch.host,
    costs: await context.prices.bound(costs(), batch.host, signal),
    balanceWei: balance(),
  };
}

/** Source of the host's knowledge; `undefined`: the proofs are new. */
type KnownFrom = "blocks" | "mempool" | undefined;

/** Consensus state that a delivery would add. */
interface News {
  /** Relay chain block of each proof. */
  readonly blockNumbers: readonly bigint[];
  /** Hub height that its messages need. */
  readonly hubHeight: { readonly paraId: number; readonly height: bigint } | undefined;
  /** Hash of the first proof. */
  readonly key: Hash256;
}

/**
 * Adds the check whether the host already has the state that a delivery's proofs would add. Source:
 * docs/protocol/messaging.md section 7.2.3; polytope-labs/hyperbridge: evm/src/consensus/{EcdsaBeefy,SP1Beefy}.sol.
 * Nothing is added for deliveries without consensus proofs. The result is available after the
 * batch was sent. A node that does not expose its mempool answers as for the newest block, or with an error.
 */
function addKnownProofs(context: EvmContext, batch: RpcBatch, delivery: Delivery): () => KnownFrom {
  const news = newsOf(delivery);
  if (news === undefined) return () => undefined;
  const inBlocks = addKnowledge(context, batch, news, "latest");
  const inMempool = context.isUnsupported("mempool")
    ? undefined
    : addKnowledge(context, batch, news, "pending");
  return () => {
    if (inBlocks() === true) return "blocks";
    if (inMempool?.() !== true) return undefined;
    // A transaction that is never mined is not waited for indefinitely.
    return context.isWorthWaiting(news.key) ? "mempool" : undefined;
  };
}

/** Proofs that cannot be read (a client of another kind) are left to the simulation. */
function newsOf({ steps }: Delivery): News | undefined {
  const proofs = steps.flatMap((step) => step.kind === "consensus" ? [step.proof] : []);
  const [first] = proofs;
  if (first === undefined) return undefined;
  try {
    const blockNumbers = proofs.map((proof) => readProofSubject(proof).blockNumber);
    const [at] = steps.flatMap((step) => step.kind === "messages" ? [step.proof.height] : []);
    const hubHeight = at && { paraId: toParaId(at.id.stateMachine), height: at.height };
    return { blockNumbers, hubHeight, key: toHash256(keccak256(first)) };
  } catch (error) {
    if (error instanceof BeefyError) return undefined;
    throw error;
  }
}

/**
 * Adds the check of one block; after the batch was sent: true when the host has part of the new state; `undefined`:
 * the node does not report it.
 */
function addKnowledge(
  context: EvmContext,
  batch: RpcBatch,
  { blockNumbers, hubHeight }: News,
  tag: Extract<BlockTag, string>,
): () => boolean | undefined {
  const { host } = context.at;
  const client = batch.addOptional(contractReadAt(tag, host, hostReads.consensusState));
  const height = hubHeight && batch.addOptional(
    contractReadAt(tag, host, hostReads.latestStateMachineHeight, hubHeight.paraId),
  );
  return () => {
    const [bytes, stored] = [client(), height?.()];
    if (bytes instanceof RpcFault || stored instanceof RpcFault) return undefined;
    const state = decodeBeefyClientState(bytes);
    const isStale = state !== undefined && blockNumbers.some((block) => block <= state.latestHeight);
    return isStale || (hubHeight !== undefined && stored !== undefined && stored >= hubHeight.height);
  };
}

/**
 * Adds a check of the mempool to a batch: whether `call` would still succeed on top of it. The result, available
 * after the batch was sent, is true when a message is already delivered there. A node that does not expose its
 * mempool answers as for the newest block, or with an error: then it is not checked again for a while.
 */
function addMempoolCheck(
  context: EvmContext,
  batch: RpcBatch,
  work: { readonly delivery: Delivery; readonly call: SimulatedCall },
): () => boolean {
  if (context.isUnsupported("mempool")) return () => false;
  const onTop = batch.addOptional(callResult(work.call, "pending"));
  return () => {
    const result = onTop();
    if (!(result instanceof RpcFault)) return false;
    context.noteUnsupported("mempool", result);
    // Any other refusal is left to the next simulation, which finds the cause.
    return faultToRefusal(result, work.delivery.steps.length)?.code === "duplicate";
  };
}

/**
 * Indexes of the messages that are delivered in the mempool and worth waiting for. One request. Empty if there are
 * none: the competitor's transaction is mined or dropped by now, or has been pending for too long.
 */
export async function findContested(
  context: EvmContext,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  const { endpoints, host } = context.at;
  const queries = messages.map((message) => relayerQuery(host, message, "pending"));
  const found = await callAll(endpoints, queries, { signal });
  return messages.flatMap(({ commitment }, index) =>
    found[index] !== undefined && context.isWorthWaiting(commitment) ? [index] : []
  );
}
