/**
 * Whether the host has by now what the consensus proofs of a delivery would bring: then they would be paid for and change
 * nothing. Own and foreign transactions in the node's mempool count as mined, for a while.
 * Source: docs/protocol/messaging.md section 7.2.3; polytope-labs/hyperbridge:
 * evm/src/consensus/{EcdsaBeefy,SP1Beefy}.sol.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import { toHash256 } from "../../encoding/bytes.ts";
import { BeefyError } from "../../beefy/beefy_error.ts";
import { readProofSubject } from "../../beefy/naive_proof.ts";
import { decodeBeefyClientState } from "../../evm/beefy_client_state.ts";
import { hostReads } from "../../evm/host_reads.ts";
import { keccak256 } from "../../encoding/hash.ts";
import { paraIdOf } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { Delivery } from "../port.ts";
import type { EvmContext } from "./evm_context.ts";
import { type BlockTag, contractReadAt } from "./queries.ts";
import type { RpcBatch } from "./rpc_batch.ts";

/** Where the host's knowledge comes from; `undefined`: the proofs are news. */
export type KnownFrom = "blocks" | "mempool" | undefined;

/** What a delivery would bring. */
interface News {
  /** Relay chain block of each proof. */
  readonly blockNumbers: readonly bigint[];
  /** Height of the hub that its messages need. */
  readonly hubHeight: { readonly paraId: number; readonly height: bigint } | undefined;
  /** Names the first proof. */
  readonly key: Hash256;
}

/**
 * Adds what it takes to know that to a question; nothing for deliveries without consensus proofs. The result is there
 * after the question was asked. A node that does not show its mempool answers as for the newest block, or with an error.
 */
export function addKnownProofs(context: EvmContext, question: RpcBatch, delivery: Delivery): () => KnownFrom {
  const news = newsOf(delivery);
  if (news === undefined) return () => undefined;
  const inBlocks = addKnowledge(context, question, news, "latest");
  const inMempool = context.isUnsupported("pool")
    ? undefined
    : addKnowledge(context, question, news, "pending");
  return () => {
    if (inBlocks() === true) return "blocks";
    if (inMempool?.() !== true) return undefined;
    // A transaction that nobody mines is not waited for without end.
    return context.mempoolSightings.isWorthWaiting(news.key) ? "mempool" : undefined;
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
    const hubHeight = at && { paraId: paraIdOf(at.id.stateMachine), height: at.height };
    return { blockNumbers, hubHeight, key: toHash256(keccak256(first)) };
  } catch (error) {
    if (error instanceof BeefyError) return undefined;
    throw error;
  }
}

/** After the question was asked: true when the host knows a part of the news; `undefined`: the node does not tell. */
function addKnowledge(
  context: EvmContext,
  question: RpcBatch,
  { blockNumbers, hubHeight }: News,
  tag: Extract<BlockTag, string>,
): () => boolean | undefined {
  const { host } = context.at;
  const client = question.addOptional(contractReadAt(tag, host, hostReads.consensusState));
  const height = hubHeight && question.addOptional(
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
