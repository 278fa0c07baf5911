/**
 * Checks whether the host already has the state that a delivery's consensus proofs would add: then their gas would be
 * wasted. Our own and foreign transactions in the node's mempool count as mined, for a while. Source:
 * docs/protocol/messaging.md section 7.2.3; polytope-labs/hyperbridge: evm/src/consensus/{EcdsaBeefy,SP1Beefy}.sol.
 */
import { type Hash256, toHash256 } from "../../encoding/bytes.ts";
import { BeefyError } from "../../beefy/beefy_error.ts";
import { readProofSubject } from "../../beefy/naive_proof.ts";
import { decodeBeefyClientState } from "../../evm/beefy_client_state.ts";
import { hostReads } from "../../evm/host_reads.ts";
import { keccak256 } from "../../encoding/hash.ts";
import { toParaId } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { Delivery } from "../submission.ts";
import type { EvmContext } from "./evm_context.ts";
import { type BlockTag, contractReadAt } from "./queries.ts";
import type { RpcBatch } from "./rpc_batch.ts";

/** Source of the host's knowledge; `undefined`: the proofs are new. */
export type KnownFrom = "blocks" | "mempool" | undefined;

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
 * Adds this check to a batch; nothing for deliveries without consensus proofs. The result is available after the
 * batch was sent. A node that does not expose its mempool answers as for the newest block, or with an error.
 */
export function addKnownProofs(context: EvmContext, batch: RpcBatch, delivery: Delivery): () => KnownFrom {
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
