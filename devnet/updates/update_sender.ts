/** Submits updates of a light client to a simulated Substrate chain, with the consensus relayer's own adapter. */
import type { UpdateOutcome } from "../../src/core/chains/consensus_target.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import type { ConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import { connectConsensus, type ConsensusConnection } from "../hub/consensus_work.ts";
import type { Hub } from "../hub/hub.ts";
import { Patience, pause, WaitFault } from "../waiting.ts";

/** A chain with pallet-ismp that follows another one. */
export interface Receiver {
  readonly node: Hub;
  readonly hashing: HashAlgorithm;
  /** True: a block is made for each update. False: it waits for the next one, as on a live chain. */
  readonly makesBlocks: boolean;
}

const POLL_EVERY_MS = 20;

const never = new AbortController().signal;

/** The adapter, connected to a receiver. */
export function connectReceiver({ node, hashing }: Receiver): ConsensusConnection {
  const { stateMachine, consensusStateId } = node.identity;
  return connectConsensus(node, { id: { stateMachine, consensusStateId }, hashing });
}

/**
 * Submits proofs of one client and waits until they are in a block.
 * @param atOnce a block is made for them, whatever the receiver does otherwise.
 * @throws {Error} when they are not taken.
 */
export async function sendUpdate(
  { node, makesBlocks }: Receiver,
  { hub }: Pick<ConsensusConnection, "hub">,
  { client, proofs, atOnce }: {
    readonly client: ConsensusStateId;
    readonly proofs: readonly Uint8Array[];
    readonly atOnce: boolean;
  },
): Promise<void> {
  const where = node.identity.stateMachine;
  const submission = await hub.updates.prepareUpdates({ id: client, proofs }, never);
  const { kind } = await hub.sender.broadcast(submission, never);
  if (kind !== "sent") {
    throw new Error(`The pool of ${where} said ${kind}: ${node.rejections.at(-1)?.detail ?? "no reason"}`);
  }
  const patience = new Patience();
  if (atOnce || makesBlocks) node.produceBlock();
  for (let seen = node.best.number;; seen = node.best.number) {
    const outcome: UpdateOutcome = await hub.outcomes.fetchOutcome(submission, never);
    if (outcome.kind === "included") {
      if (outcome.succeeded) return;
      throw new Error(`${where} did not take an update of ${client}`);
    }
    while (node.best.number === seen) {
      if (patience.isOver) throw new WaitFault(`${where} made a block for an update of ${client}`, patience);
      await pause(POLL_EVERY_MS);
    }
  }
}
